"""Our commands are recognised in every form that we write, and no other command is taken for ours."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.onboard.program import VERBS, Program, call_in, renewed

folders = st.text(st.characters(exclude_characters='\0/"\\', exclude_categories=["C", "Z"]) | st.just(" "), max_size=20)
options = st.lists(st.sampled_from(["--host=gemini", "--no-sync", "--source=precompact", "--budget=4000"]), max_size=3)


@given(folder=folders, verb=st.sampled_from(VERBS), extra=options)
def test_a_shell_command_is_recognised_wherever_the_program_is(folder: str, verb: str, extra: list[str]) -> None:
    program = Program((f"/opt/{folder}/anamnesis",))
    call = call_in({"command": program.line(verb, *extra)})
    assert call
    assert (call.verb, list(call.options)) == (verb, extra)


@given(folder=folders, verb=st.sampled_from(VERBS), extra=options)
def test_commands_for_the_shells_of_windows_are_recognised(folder: str, verb: str, extra: list[str]) -> None:
    program = Program((f"C:\\Users\\{folder}\\Scripts\\anamnesis.exe",), windows=True)
    for line in (program.line(verb, *extra), program.powershell(verb, *extra)):
        call = call_in({"command": line})
        assert call
        assert (call.verb, list(call.options)) == (verb, extra)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "anamnesis", "args": ["serve"]},
        {"command": ["/opt/anamnesis", "serve"]},
        {"command": "anamnesis serve"},
        {"cmd": "/opt/anamnesis", "args": ["serve"]},
        {"bash": "/opt/anamnesis serve"},
        {"powershell": "& 'C:\\Program Files\\anamnesis.exe' 'serve'"},
        {"command": "/usr/bin/python3.12", "args": ["-m", "anamnesis", "serve"]},
        {"command": "C:\\Python\\python.exe -m anamnesis serve"},
    ],
)
def test_every_form_of_a_call_is_recognised(entry: dict[str, Any]) -> None:
    call = call_in(entry)
    assert call
    assert call.verb == "serve"


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"command": 5},
        {"command": "anamnesis"},
        {"command": "anamnesis status"},
        {"command": "cd ~/src/anamnesis && make serve"},
        {"command": "echo anamnesis inject"},
        {"command": "nice anamnesis inject"},
        {"command": "engram", "args": ["serve"]},
        {"command": "my-anamnesis inject"},
        {"command": "/opt/anamnesis/run.sh inject"},
        {"command": "python -m anamnesis.server"},
        {"command": "sh -c 'unclosed"},
        {"args": ["anamnesis", "serve"]},
    ],
)
def test_commands_of_others_are_not_taken_for_ours(entry: dict[str, Any]) -> None:
    assert call_in(entry) is None


def test_a_shell_command_is_quoted_correctly(tmp_path: Any) -> None:
    script = tmp_path / "it's a $HOME; folder" / "anamnesis"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    script.chmod(0o755)
    line = Program((str(script),), store="/a b").line("inject", "--host=gemini")
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout == "inject|--host=gemini|--home=/a b|"


def test_an_outdated_call_is_updated_and_keeps_the_users_options() -> None:
    new = {"command": "/new/anamnesis capture --source precompact --host=codex"}
    old = {"command": "/old/anamnesis capture --budget 4000 --source precompact --project 'my app'"}
    assert renewed(old, new) == {"command": f'{new["command"]} --budget 4000 --project "my app"'}
    assert renewed(renewed(old, new), new) == {}


def test_the_option_home_is_always_ours() -> None:
    old = {"command": "/opt/anamnesis", "args": ["inject", "--home=/old store", "--budget", "500"]}
    new = {"command": "/opt/anamnesis", "args": ["inject"]}
    assert renewed(old, new)["args"] == ["inject", "--budget", "500"]


def test_the_same_call_in_another_form_is_not_changed() -> None:
    assert renewed({"command": "/opt/anamnesis inject"}, {"command": "/opt/anamnesis", "args": ["inject"]}) == {}
