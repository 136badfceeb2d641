"""Settings from a shell: where each comes from, and a file that is never spoilt."""

from __future__ import annotations

import json
import stat

from tests.cli.command import Command


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(anamnesis: Command) -> None:
    assert anamnesis("config", "get", "machine_id").out == "thinkpad\n"
    assert anamnesis("config", "set", "machine_id", "desk", ANAMNESIS_MACHINE_ID="").out == (
        "machine_id is desk (from config.json).\n"
    )
    assert anamnesis("config", "get", "machine_id", ANAMNESIS_MACHINE_ID="").out == "desk\n"
    assert anamnesis("config", "get", "machine_id").out == "thinkpad\n"
    anamnesis("config", "unset", "machine_id")
    rows = anamnesis("config", "list", "--json", ANAMNESIS_MACHINE_ID="").json
    assert {row["source"] for row in rows} == {"default"}
    assert {"machine_id", "remote", "inject_budget"} <= {row["name"] for row in rows}


def test_the_file_keeps_foreign_keys_and_is_private(anamnesis: Command) -> None:
    anamnesis.home.mkdir()
    file = anamnesis.home / "config.json"
    file.write_text('{"theirs": {"a": 1}, "remote": "old"}')
    assert anamnesis("config", "set", "remote", "git@host:notes.git").code == 0
    assert json.loads(file.read_text()) == {"theirs": {"a": 1}, "remote": "git@host:notes.git"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_linked_file_stays_linked(anamnesis: Command) -> None:
    anamnesis.home.mkdir()
    real = anamnesis.folder / "dotfiles.json"
    real.write_text("{}")
    (anamnesis.home / "config.json").symlink_to(real)
    anamnesis("config", "set", "machine_id", "desk")
    assert (anamnesis.home / "config.json").is_symlink()
    assert json.loads(real.read_text()) == {"machine_id": "desk"}


def test_a_broken_file_stops_nothing_and_is_never_overwritten(anamnesis: Command) -> None:
    anamnesis.home.mkdir()
    file = anamnesis.home / "config.json"
    for broken in ("{", "[]", '"text"', "\x00"):
        file.write_text(broken)
        assert anamnesis("status").code == 0
        done = anamnesis("config", "set", "machine_id", "desk")
        assert done.code == 1
        assert str(file) in done.err
        assert done.err.count("\n") == 1
        assert file.read_text() == broken


def test_a_value_that_the_environment_hides_is_said_to_be(anamnesis: Command) -> None:
    done = anamnesis("config", "set", "machine_id", "desk")
    assert "ANAMNESIS_MACHINE_ID is set and wins" in done.err


def test_a_key_is_never_shown_whole(anamnesis: Command) -> None:
    secret = "verylongsecretkey1234"
    for arguments in (
        ("set", "reflection_api_key", secret),
        ("get", "reflection_api_key"),
        ("list",),
        ("list", "--json"),
    ):
        done = anamnesis("config", *arguments)
        assert secret not in done.out + done.err
        assert "...1234" in done.out


def test_a_home_that_cannot_be_found_is_one_sentence_and_stops_no_hook(anamnesis: Command) -> None:
    for command in ("list", "serve"):
        done = anamnesis(command, ANAMNESIS_HOME="~no-such-user/notes")
        assert (done.code, done.out) == (1, "")
        assert done.err == (
            "anamnesis: The home folder of a user is not known. Set HOME, and ANAMNESIS_HOME to an absolute path.\n"
        )
    hook = anamnesis("inject", stdin="{}", ANAMNESIS_HOME="~no-such-user/notes")
    assert (hook.code, hook.out) == (0, "")
    assert hook.err.startswith("anamnesis inject: The home folder of a user is not known.")
