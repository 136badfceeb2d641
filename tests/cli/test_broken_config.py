"""A config.json that cannot be used never opens the door: nothing that it forbids happens because it is broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.mcp.test_stdio import Server
from tests.web.daemon import Daemon, running

TOKEN = "a-token-of-this-machine"
CORRECT = "Correct or remove it."
WHOLE = f'{{\n  "token": "{TOKEN}",\n  "dream": "off"\n}}\n'


def comma(file: Path) -> str:
    file.write_text(WHOLE.replace('",', '"'))
    return f"{file}, line 3: Expecting ',' delimiter."


def type_of_the_token(file: Path) -> str:
    file.write_text(f'{{"token": ["{TOKEN}"]}}')
    return f"{file}: token is not text."


def a_switch(file: Path) -> str:
    file.write_text(f'{{"token": "{TOKEN}", "dream": false}}')
    return f"{file}: dream is not text."


def a_list(file: Path) -> str:
    file.write_text("[]")
    return f"{file} does not hold a JSON object."


def nul(file: Path) -> str:
    file.write_text("\0" * 40)
    return f"{file}, line 1: Expecting value."


def utf16(file: Path) -> str:
    file.write_text(WHOLE, encoding="utf-16")
    return f"{file} is not in UTF-8."


def deep(file: Path) -> str:
    file.write_text("[" * 100_000)
    return f"{file} is nested too deeply."


def folder(file: Path) -> str:
    file.mkdir()
    return f"{file} cannot be read: Is a directory."


def loop(file: Path) -> str:
    file.symlink_to(file)
    return f"{file} cannot be read: Too many levels of symbolic links."


def lost_link(file: Path) -> str:
    file.symlink_to(file.with_name("unmounted"))
    return f"{file} cannot be read: No such file or directory."


REMEDIES: dict[Callable[[Path], str], str] = {
    folder: "Something else is in its place: move that away.",
    loop: "It is a link that leads to itself: replace it.",
    lost_link: "Check the path, and whether its disk is mounted.",
}
BREAKS = (comma, type_of_the_token, a_switch, a_list, nul, utf16, deep, folder, loop, lost_link)


def config(anamnesis: Command) -> Path:
    anamnesis.home.mkdir(exist_ok=True)
    return anamnesis.home / "config.json"


@pytest.mark.parametrize("broken", BREAKS)
def test_the_daemon_does_not_start_and_a_sync_fails(anamnesis: Command, broken: Callable[[Path], str]) -> None:
    refusal = f"anamnesis: {broken(config(anamnesis))} {REMEDIES.get(broken, CORRECT)}\n"
    for words in (["daemon", "--port", "0"], ["sync"]):
        done = anamnesis(*words)
        assert (done.code, done.out, done.err) == (1, "", refusal)
    assert not (anamnesis.home / "memory" / ".git").exists()


def test_neither_does_engrams_server_nor_one_in_the_background(anamnesis: Command) -> None:
    refusal = f"{comma(config(anamnesis))} Correct or remove it.\n"
    done = anamnesis("engram", "serve", "0")
    assert (done.code, done.err) == (1, f"engram: {refusal}")
    done = anamnesis("daemon", "--background", "--port", "0", PYTHONWARNINGS="")
    assert (done.code, done.err) == (1, f"anamnesis: {refusal}")


@pytest.mark.parametrize("broken", [comma, type_of_the_token, folder])
def test_other_commands_work_and_warn_in_one_line(anamnesis: Command, broken: Callable[[Path], str]) -> None:
    fault = broken(config(anamnesis)).rstrip(".")
    warning = f"anamnesis: {fault}, so what it does not set has its default. {REMEDIES.get(broken, CORRECT)}\n"
    for words in (["write", "Tide", "It turns at six."], ["list", "--json"], ["search", "tide"], ["status", "--json"]):
        done = anamnesis(*words)
        assert (done.code, done.err) == (0, warning)
    assert anamnesis("list", "--json").json[0]["title"] == "Tide"
    assert anamnesis("engram", "stats").err == warning.replace("anamnesis:", "engram:")


def test_what_is_valid_beside_a_value_of_a_wrong_type_counts(anamnesis: Command) -> None:
    config(anamnesis).write_text('{"remote": "/srv/notes.git", "sync_timeout": 30, "gate": false, "theme": null}')
    found = {row["name"]: row for row in anamnesis("config", "list", "--json").json}
    assert (found["remote"]["value"], found["remote"]["source"]) == ("/srv/notes.git", "config.json")
    assert (found["sync_timeout"]["value"], found["gate"]["value"]) == ("30", "on")


def test_a_dream_of_the_daemon_does_not_fall_back_to_defaults(anamnesis: Command) -> None:
    refusal = f"anamnesis: {comma(config(anamnesis))} {CORRECT}\n"
    done = anamnesis("dream", "--trigger", "idle")
    assert (done.code, done.err) == (1, refusal)
    assert anamnesis("dream").code == 0


def test_a_hook_warns_and_does_not_fail_its_agent(anamnesis: Command) -> None:
    fault = comma(config(anamnesis)).rstrip(".")
    done = anamnesis("inject", stdin="{}")
    assert (done.code, done.err) == (
        0,
        f"anamnesis inject: {fault}, so what it does not set has its default. Correct or remove it.\n",
    )


def test_an_mcp_server_warns_on_stderr_and_refuses_only_to_sync(tmp_path: Path) -> None:
    fault = comma(tmp_path / "config.json")
    server = Server(tmp_path, "serve")
    answer = server.ask("tools/call", {"name": "memory_list", "arguments": {}})
    assert not answer["result"].get("isError")
    answer = server.ask("tools/call", {"name": "memory_sync", "arguments": {}})
    assert fault in json.dumps(answer["result"], ensure_ascii=False).replace('\\"', '"')
    code, errors = server.end()
    assert (code, errors.decode().count("\n")) == (0, 1)
    assert errors.decode().startswith(f"anamnesis: {fault.rstrip('.')}, so ")


def test_a_byte_order_mark_is_no_fault(anamnesis: Command) -> None:
    config(anamnesis).write_text('{"remote": "/srv/notes.git"}', encoding="utf-8-sig")
    done = anamnesis("config", "get", "remote")
    assert (done.out, done.err) == ("/srv/notes.git\n", "")


def test_a_running_daemon_keeps_its_settings(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(WHOLE)
    with running(tmp_path) as daemon:
        fault = comma(file)
        assert daemon.ask("GET", "/ui/notes").status == 401
        assert daemon.ask("GET", "/search?q=tide").status == 401
        mine = {"authorization": f"Bearer {TOKEN}"}
        assert daemon.ask("GET", "/ui/notes", **mine).status == 200
        page = daemon.ask("GET", "/ui/settings", accept="application/json", **mine)
        assert page.status == 200
        assert json.loads(page.body)["fault"] == fault


def test_a_value_of_a_wrong_type_is_corrected_by_the_command(anamnesis: Command) -> None:
    a_switch(config(anamnesis))
    done = anamnesis("config", "set", "dream", "off")
    assert (done.code, done.err, done.out) == (0, "", "dream is off (from config.json).\n")


def test_a_key_that_is_no_setting_is_told_in_one_line_and_kept(anamnesis: Command) -> None:
    """A newer release may have written it: all else works, a daemon too."""
    file = config(anamnesis)
    file.write_text('{"dreams": "off", "token": "%s"}' % TOKEN)  # noqa: UP031
    warning = (
        "anamnesis: config.json has 'dreams', which this release does not know and which has no effect."
        " Did you mean dream?\n"
    )
    for words in (["write", "Tide", "It turns at six."], ["list"], ["sync"]):
        done = anamnesis(*words)
        assert (done.code, done.err) == (0, warning), words
    assert anamnesis("config", "set", "gate", "off").code == 0
    assert anamnesis("inject", stdin="{}").code == 0
    assert "config.json has 'dreams'" in (anamnesis.home / "anamnesis.log").read_text("utf-8")
    assert json.loads(file.read_text()) == {"dreams": "off", "token": TOKEN, "gate": "off"}
    daemon = Daemon(anamnesis.home)
    assert daemon.ask("GET", "/search?q=tide").status == 401
    assert daemon.stop() == (0, warning)
    done = anamnesis("config", "unset", "dreams")
    assert (done.code, done.err, done.out) == (0, "", "dreams is removed from config.json.\n")
    assert json.loads(file.read_text()) == {"token": TOKEN, "gate": "off"}


def test_a_key_with_the_word_token_in_it_may_be_of_a_later_release(anamnesis: Command) -> None:
    config(anamnesis).write_text(json.dumps({"hub_token": TOKEN}))
    assert "config.json has 'hub_token'" in anamnesis("list").err
    assert anamnesis("sync").code == 0


@pytest.mark.parametrize("key", ["tokn", "Token", "tokne"])
def test_a_mistyped_token_starts_no_open_daemon(anamnesis: Command, key: str) -> None:
    file = config(anamnesis)
    file.write_text(json.dumps({key: TOKEN}))
    fault = f"{file}: there is no setting {key!r}"
    done = anamnesis("daemon", "--port", "0")
    assert (done.code, done.out) == (1, "")
    assert done.err == f"anamnesis: {fault}. Did you mean token? {CORRECT}\n"
    done = anamnesis("list")
    assert done.code == 0 and done.err.startswith(f"anamnesis: {fault}, so what it does not set has its default.")
    assert anamnesis("config", "unset", key).code == anamnesis("config", "set", "token", TOKEN).code == 0
    with running(anamnesis.home) as daemon:
        assert daemon.ask("GET", "/search?q=tide").status == 401


def test_doctor_names_the_fault(anamnesis: Command) -> None:
    fault = comma(config(anamnesis))
    assert fault in {each["fault"] for each in anamnesis("doctor", "--json").json["faults"]}
