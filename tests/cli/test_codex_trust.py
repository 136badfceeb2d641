"""Codex's trust in our hooks: given with consent, as by its own `/hooks`, and revoked by `uninstall`."""

from __future__ import annotations

import json
import sys
import tomllib
from typing import Any

import pytest
from tests.cli.command import Command
from tests.cli.test_init import User

# Answers `codex app-server` as 0.166.0 does, as far as it is asked: one hash a handler, trusted if config.toml has it.
_CODEX = """#!{python}
import hashlib, json, os, sys, tomllib
folder = os.path.expanduser("~/.codex")
assert sys.argv[1] == "app-server"
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        print(json.dumps({{"id": message["id"], "result": {{"codexHome": folder}}}}), flush=True)
        print(json.dumps({{"method": "configWarning", "params": {{"summary": "no bubblewrap"}}}}), flush=True)
    if message["method"] != "hooks/list":
        continue
    with open(f"{{folder}}/config.toml", "rb") as file:
        state = tomllib.load(file).get("hooks", {{}}).get("state", {{}})
    hooks = []
    for event, groups in json.load(open(f"{{folder}}/hooks.json"))["hooks"].items():
        for group, each in enumerate(groups):
            for handler, hook in enumerate(each["hooks"]):
                key = f"{{folder}}/hooks.json:{{event}}:{{group}}:{{handler}}"
                found = "sha256:" + hashlib.sha256(json.dumps(hook).encode()).hexdigest()
                status = "trusted" if state.get(key, {{}}).get("trusted_hash") == found else "untrusted"
                source = {{"sourcePath": f"{{folder}}/hooks.json", "command": hook["command"], "eventName": event}}
                hooks.append({{"key": key, **source, "currentHash": found, "trustStatus": status}})
    data = [{{"cwd": message["params"]["cwds"][0], "hooks": hooks, "warnings": [], "errors": []}}]
    print(json.dumps({{"id": message["id"], "result": {{"data": data}}}}), flush=True)
"""
_CONFIG = b'model = "m"  # mine\n\n[hooks.state."/other/hooks.json:Stop:0:0"]\ntrusted_hash = "sha256:1"\n'


@pytest.fixture
def user(anamnesis: Command) -> User:
    made = User(anamnesis)
    (made.programs / "codex").write_text(_CODEX.format(python=sys.executable))
    (made.programs / "codex").chmod(0o755)
    (made.home / ".codex").mkdir(parents=True)
    (made.home / ".codex/config.toml").write_bytes(_CONFIG)
    return made


def state(user: User) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((user.home / ".codex/config.toml").read_text())["hooks"]["state"]
    return found


def faults(user: User) -> list[str]:
    return [fault["fault"] for fault in user.command("doctor", "--json").json["faults"]]


def test_yes_trusts_our_hooks_with_one_line_and_uninstall_restores_every_byte(user: User) -> None:
    theirs = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "echo hello"}]}]}}
    (user.home / ".codex/hooks.json").write_text(json.dumps(theirs, indent=2))
    before = user.files()
    done = user.command("init", "--yes", "--local-only")
    assert done.code == 0
    assert done.err == "anamnesis: Codex runs only trusted hooks: trusting those of anamnesis.\n"
    assert [line.split("\t")[0] for line in done.out.splitlines()].count("change") == 2  # each file once
    folder = user.home / ".codex/hooks.json"
    events = ("SessionStart:1:0", "UserPromptSubmit:0:0", "PreCompact:0:0", "SessionEnd:0:0")
    assert set(state(user)) == {"/other/hooks.json:Stop:0:0", *(f"{folder}:{event}" for event in events)}
    assert faults(user) == []
    again = user.command("init", "--yes", "--local-only", "--json")
    assert (again.json["changes"], again.json["agents"][0]["remark"], again.err) == ([], None, "")
    user.command("uninstall", "--yes")
    assert user.files() == before


def test_trust_is_taken_back_from_a_file_that_codex_has_written_since(user: User) -> None:
    user.command("init", "--yes", "--local-only")
    config = user.home / ".codex/config.toml"
    config.write_bytes(config.read_bytes() + b'\n[projects."/w"]\ntrust_level = "trusted"\n')
    user.command("uninstall", "--yes")
    assert config.read_bytes() == _CONFIG + b'\n[projects."/w"]\ntrust_level = "trusted"\n'


def test_a_hook_that_its_user_has_disabled_stays_disabled(user: User) -> None:
    user.command("init", "--yes", "--local-only")
    config = user.home / ".codex/config.toml"
    key = f"{user.home / '.codex/hooks.json'}:PreCompact:0:0"
    header = f'[hooks.state."{key}"]\n'
    config.write_text(config.read_text().replace(header, f"{header}enabled = false\n"))
    user.command("init", "--yes", "--local-only")
    assert state(user)[key]["enabled"] is False
    user.command("uninstall", "--yes")
    assert state(user)[key] == {"enabled": False}
    assert len(state(user)) == 2


def test_without_consent_nothing_is_trusted_and_doctor_says_what_to_do(user: User) -> None:
    done = user.command("init", "--all", "--local-only")
    assert done.err.startswith("anamnesis: Codex runs no hook before you trust it: start codex, type /hooks")
    assert set(state(user)) == {"/other/hooks.json:Stop:0:0"}
    assert faults(user) == ["Codex does not run its hooks, because they are not trusted."]
    user.command("init", "--agent", "codex", "--yes")
    assert faults(user) == []


@pytest.mark.parametrize(("answer", "trusted"), [("y", 5), ("n", 1)])
def test_a_person_is_asked(user: User, answer: str, trusted: int) -> None:
    shown = user.answers(
        "init", "--agent", "codex", "--local-only", typed="n\ny\n", then={"as /hooks in Codex": f"{answer}\n"}
    )
    assert "Trust those of anamnesis now" in shown
    assert len(state(user)) == trusted


def test_a_hook_that_changes_is_untrusted_again_until_init_is_run(user: User) -> None:
    user.command("init", "--yes", "--local-only")
    hooks = user.home / ".codex/hooks.json"
    hooks.write_text(hooks.read_text().replace('"timeout": 15', '"timeout": 30'))
    assert faults(user) == ["Codex does not run its hooks, because they are not trusted."]
    user.command("init", "--yes")
    assert faults(user) == []
    assert len(state(user)) == 5


@pytest.mark.parametrize("program", ["#!/bin/sh\n", '#!/bin/sh\necho \'{"id": 2, "result": {"data": [{}]}}\'\n'])
def test_a_codex_that_cannot_be_asked_stops_nothing(user: User, program: str) -> None:
    (user.programs / "codex").write_text(program)
    done = user.command("init", "--yes", "--local-only", "--json")
    assert (done.code, done.err) == (0, "")
    assert "type /hooks" in done.json["agents"][0]["remark"]
    assert faults(user) == []
