"""`anamnesis config`: the sources of settings, and a config.json that is never damaged."""

from __future__ import annotations

import json
import stat

import pytest
from tests.cli.command import Command
from tests.cli.test_terminal import plain


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


def test_set_reports_that_the_environment_overrides_a_value(anamnesis: Command) -> None:
    done = anamnesis("config", "set", "machine_id", "desk")
    assert "the variable ANAMNESIS_MACHINE_ID overrides it" in done.err


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
            "anamnesis: The home folder of the user is not known. Set HOME, and ANAMNESIS_HOME to an absolute path.\n"
        )
    hook = anamnesis("inject", stdin="{}", ANAMNESIS_HOME="~no-such-user/notes")
    assert (hook.code, hook.out) == (0, "")
    assert hook.err.startswith("anamnesis inject: The home folder of the user is not known.")


def test_the_list_shows_the_value_in_force_and_where_it_comes_from(anamnesis: Command) -> None:
    anamnesis("config", "set", "sync_timeout", "30")
    rows = [line.split("\t") for line in anamnesis("config", "list", ANAMNESIS_INJECT_BUDGET="4000").out.splitlines()]
    found = {name: (value, source) for name, value, source in rows}
    assert found["sync_timeout"] == ("30", "config.json")
    assert found["inject_budget"] == ("4000", "ANAMNESIS_INJECT_BUDGET")
    assert found["reflection_provider"] == ("heuristic", "default")
    assert found["remote"] == ("", "default")
    assert anamnesis("config", "get", "reflection_model").out == "gpt-4o-mini\n"
    shown = plain(anamnesis.on_terminal("config", "list", COLUMNS="80"))
    assert max(map(len, shown.splitlines())) <= 80


def test_a_value_that_cannot_be_used_is_named_and_the_default_is_in_force(anamnesis: Command) -> None:
    done = anamnesis("config", "list", "--json", ANAMNESIS_REFLECTION_PROVIDER="opnai")
    (row,) = [row for row in done.json if row["name"] == "reflection_provider"]
    assert (row["value"], row["source"]) == ("heuristic", "default")
    assert row["fault"] == "reflection_provider 'opnai' is not one of heuristic, openai."
    assert done.err == (
        "anamnesis: reflection_provider 'opnai' is not one of heuristic, openai, so 'heuristic' is used."
        " Change ANAMNESIS_REFLECTION_PROVIDER.\n"
    )
    assert anamnesis("status", ANAMNESIS_REFLECTION_PROVIDER="opnai").err == done.err


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("remot", "x", "There is no setting 'remot'. Did you mean remote?"),
        ("sync-timeout", "5", "There is no setting 'sync-timeout'. Did you mean sync_timeout?"),
        ("sync_timeout", "soon", "sync_timeout 'soon' is not a whole number from 1 to 1000000."),
        ("inject_budget", "12", "inject_budget '12' is not a whole number from 500 to 100000."),
        ("bridge", "yes", "bridge 'yes' is not one of on, off."),
        ("reflection_provider", "gpt", "reflection_provider 'gpt' is not one of heuristic, openai."),
        ("reflection_model", " ", "reflection_model is empty, or not a line of text."),
        ("token", "short", "token cannot be used. It needs at least 16 letters, digits or signs, and no blanks."),
    ],
)
def test_a_value_is_checked_before_it_is_kept(anamnesis: Command, name: str, value: str, sentence: str) -> None:
    done = anamnesis("config", "set", name, value)
    assert (done.code, done.err) == (1, f"anamnesis: {sentence}\n")
    assert not (anamnesis.home / "config.json").exists()


def test_a_name_like_no_other_is_answered_with_all_names(anamnesis: Command) -> None:
    assert "There are: machine_id, remote, token, " in anamnesis("config", "get", "zzz").err
