"""The repository's files for hosts, run as a host runs them, and the names that scripts import."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.capture.transcripts import TODAY, write
from tests.waiting import wait_until

from anamnesis.config import read_config
from anamnesis.errors import InvalidArgument
from anamnesis.onboard import write_store_config
from anamnesis.onboard.agents.claude import hooks
from anamnesis.onboard.program import Program
from anamnesis.store import MemoryStore
from mcp import Client, StdioServerParameters

ROOT = Path(__file__).parent.parent.parent
BIN = Path(sys.executable).parent
# Runs a command of the project as `uv run --project FOLDER` does, in the environment of these tests: the real one
# would install the project from the network.
UV = f"""#!/bin/sh
[ "$1 $2" = "run --project" ] && [ -f "$3/pyproject.toml" ] || exit 2
shift 3
command=$1
shift
exec "{BIN}/$command" "$@"
"""


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "uv").write_text(UV)
    (folder / "uv").chmod(0o755)
    return {"HOME": str(tmp_path), "PATH": f"{folder}:{BIN}:{os.environ['PATH']}"}


def test_the_server_of_the_repository_lists_its_tools(variables: dict[str, str]) -> None:
    """A host starts it in the folder of the repository, with its own environment."""
    (server,) = json.loads((ROOT / ".mcp.json").read_text("utf-8"))["mcpServers"].values()

    async def main() -> list[str]:
        started = StdioServerParameters(**server, env=variables, cwd=str(ROOT))
        async with Client(started) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    names = asyncio.run(asyncio.wait_for(main(), 60))
    assert {"memory_search", "memory_list", "memory_status", "memory_write", "memory_sync"} <= set(names)


def settings() -> dict[str, list[Any]]:
    events: dict[str, list[Any]] = json.loads((ROOT / "examples/hooks.settings.json").read_text("utf-8"))["hooks"]
    return events


def test_the_example_hooks_are_those_of_init() -> None:
    events: dict[str, list[Any]] = {}
    for item in hooks(Program(("anamnesis",))):
        events.setdefault(str(item.path[-1]), []).append(item.value)
    assert settings() == events


def test_every_example_hook_works_at_a_recorded_event(tmp_path: Path, variables: dict[str, str]) -> None:
    work = tmp_path / "work"
    work.mkdir()
    home = tmp_path / ".anamnesis"
    with MemoryStore(home) as store:
        store.write(type="semantic", title="Zebra crossing", body="Zebras cross at the lights.", project="work")
        for number in range(60):
            store.write(type="semantic", title=f"Filler {number}", body=f"Filler {number}.", project="x")
    said = {
        (event, handler["command"]): run(handler, recorded(event, group.get("matcher", ""), work), variables)
        for event, groups in settings().items()
        for group in groups
        for handler in group["hooks"]
    }
    assert len(said) == 5
    assert "Zebra crossing" in said["SessionStart", "anamnesis inject"]
    assert said["UserPromptSubmit", "anamnesis recall"] == "", "injected at the start already"
    assert said["PreCompact", "anamnesis capture --source precompact --no-sync"] == ""
    assert said["SessionEnd", "anamnesis capture"] == ""
    with MemoryStore(home) as store:
        (session,) = store.list(type="episodic")
    assert {"session", "session-end"} <= set(session.tags)
    wait_until(lambda: git(home, "log", "--format=%s", "-1", "--", f"episodic/{session.id}.md").startswith("anamnesis"))


def run(handler: dict[str, Any], event: dict[str, Any], variables: dict[str, str]) -> str:
    assert handler["type"] == "command"
    done = subprocess.run(
        handler["command"],
        shell=True,
        input=json.dumps(event),
        capture_output=True,
        text=True,
        cwd=event["cwd"],
        env=variables,
        timeout=handler["timeout"],
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def git(home: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", home / "memory", *arguments], capture_output=True, text=True, check=True).stdout


def recorded(name: str, matcher: str, cwd: Path) -> dict[str, Any]:
    """An event of Claude Code, with the fields that it sends."""
    more = {
        "SessionStart": {"source": matcher.partition("|")[0], "model": "claude-x"},
        "UserPromptSubmit": {"prompt": "where do zebras cross the road?", "permission_mode": "default"},
        "PreCompact": {"trigger": "auto", "custom_instructions": ""},
        "SessionEnd": {"reason": "prompt_input_exit"},
    }[name]
    return {
        "session_id": "s1",
        "transcript_path": str(transcript(cwd)),
        "cwd": str(cwd),
        "hook_event_name": name,
        **more,
    }


def transcript(cwd: Path) -> Path:
    return write(
        cwd.parent / "session.jsonl",
        TODAY.ask("Why does the login fail after the deploy?", cwd=str(cwd)),
        TODAY.call("Edit", file_path=str(cwd / "a.py"), old_string="1", new_string="2"),
        TODAY.result(),
        TODAY.answer("The token had expired; it is renewed at every start now."),
    )


def test_the_extras_of_the_specification_can_be_asked_for() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {"mcp", "vectors", "dev"} <= extras.keys()


def test_a_script_can_write_the_config_of_a_store(tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = write_store_config(home, "thinkpad", "git@example.com:you/notes.git")
    assert json.loads(path.read_text()) == {"machine_id": "thinkpad", "remote": "git@example.com:you/notes.git"}
    path.write_text(json.dumps({**read_config(home), "inject_budget": "5000"}))
    write_store_config(home, "thinkpad")
    assert read_config(home) == {"machine_id": "thinkpad", "inject_budget": "5000"}


@pytest.mark.parametrize(("machine_id", "remote"), [("a b", "/notes.git"), ("thinkpad", "--upload-pack=x")])
def test_a_config_with_a_bad_value_is_not_written_in_part(tmp_path: Path, machine_id: str, remote: str) -> None:
    with pytest.raises(InvalidArgument):
        write_store_config(tmp_path, machine_id, remote)
    assert read_config(tmp_path) == {}
