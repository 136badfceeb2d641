"""Every host's events are parsed and answered in its own form, and no event is answered twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anamnesis.hooks.end import transcript_of
from anamnesis.hooks.hosts import normalise
from anamnesis.store import MemoryStore

NOTE = "Zebra crossing"
ASK = "where do zebras cross the road?"


class Host:
    """A host that runs hooks in a folder of its own, away from the project."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project, self.elsewhere = folder / "store", folder / "work", folder / "elsewhere"
        for each in (self.project, self.elsewhere):
            each.mkdir()
        self.variables = {"ANAMNESIS_HOME": str(self.home), "HOME": str(folder), "PATH": os.environ["PATH"]}

    def start(self, hook: str, event: object, *options: str, **variables: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "anamnesis", hook, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.variables, **variables},
            cwd=self.elsewhere,
        )
        assert process.stdin
        process.stdin.write(json.dumps(event).encode())
        process.stdin.flush()
        return process

    def run(self, hook: str, event: object, *options: str, **variables: str) -> str:
        process = self.start(hook, event, *options, **variables)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, err) == (0, b"")
        return out.decode()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path)
    with MemoryStore(made.home) as store:
        store.write(type="semantic", title=NOTE, body="Zebras cross at the lights.", project="work")
        for number in range(60):
            store.write(type="semantic", title=f"Filler {number}", body=f"Filler text number {number}.", project="x")
    yield made


def nested(out: str, name: str) -> str:
    told = json.loads(out)["hookSpecificOutput"]
    assert told["hookEventName"] == name
    return str(told["additionalContext"])


def test_claude_code_gets_plain_text(host: Host) -> None:
    event = {"session_id": "s", "cwd": str(host.project), "hook_event_name": "SessionStart", "source": "startup"}
    out = host.run("inject", event)
    assert NOTE in out
    assert not out.startswith("{")


@pytest.mark.parametrize("name", ["codex", "kimi", "kiro", "droid"])
def test_hosts_that_take_text_get_it_although_their_events_look_like_those_that_do_not(host: Host, name: str) -> None:
    event = {"session_id": "s", "cwd": str(host.project), "hook_event_name": "SessionStart", "timestamp": "2026"}
    out = host.run("inject", event, f"--host={name}")
    assert NOTE in out
    assert not out.startswith("{")


def test_qwen_code_gets_the_context_under_the_events_name(host: Host) -> None:
    event = {"session_id": "s", "cwd": str(host.project), "hook_event_name": "SessionStart", "source": "startup"}
    assert NOTE in nested(host.run("inject", event, "--host=qwen"), "SessionStart")
    asked = {**event, "session_id": "t", "hook_event_name": "UserPromptSubmit", "prompt": ASK}
    assert NOTE in nested(host.run("recall", asked, "--host=qwen"), "UserPromptSubmit")


def test_gemini_cli_gets_the_notes_of_the_start_with_the_first_prompt(host: Host) -> None:
    """It puts them before the prompt of a run without a terminal, and forgets such a prompt when it resumes."""
    event = {"session_id": "s", "cwd": str(host.project), "hook_event_name": "BeforeAgent", "prompt": "thanks"}
    assert NOTE in nested(host.run("recall", event, "--host=gemini"), "BeforeAgent")
    assert host.run("recall", {**event, "prompt": ASK}, "--host=gemini") == "", "they are told once"


def test_the_context_that_hooks_put_before_a_prompt_is_not_part_of_it() -> None:
    """Gemini CLI puts the answers of SessionStart before the first prompt of a run without a terminal."""
    event = {"session_id": "s", "prompt": f"<hook_context>&lt;b&gt; Bridges are painted.</hook_context>\n\n{ASK}"}
    assert normalise(event, "gemini", {})["prompt"] == ASK


def test_recall_without_notes_prints_nothing(host: Host) -> None:
    event = {"session_id": "s", "cwd": str(host.project), "hook_event_name": "UserPromptSubmit", "prompt": "thanks"}
    assert host.run("recall", event, "--host=qwen") == ""


def test_vs_code_is_recognised_although_it_runs_claude_codes_hooks(host: Host) -> None:
    event = {
        "timestamp": "2026-08-01T10:00:00Z",
        "session_id": "s",
        "cwd": str(host.project),
        "hook_event_name": "SessionStart",
        "source": "new",
    }
    assert NOTE in nested(host.run("inject", event), "SessionStart")


def test_cursor_is_recognised_by_its_version_and_its_folder_is_its_workspace(host: Host) -> None:
    event = {
        "conversation_id": "s",
        "generation_id": "g",
        "workspace_roots": [str(host.project)],
        "cursor_version": "3.12",
        "hook_event_name": "sessionStart",
    }
    assert NOTE in json.loads(host.run("inject", event))["additional_context"]
    assert host.run("capture", {**event, "hook_event_name": "sessionEnd"}, "--host=cursor") == "{}"


def test_copilot_gets_both_forms_of_the_context(host: Host) -> None:
    event = {"sessionId": "s", "timestamp": 1704614400000, "cwd": str(host.project), "source": "new"}
    out = host.run("inject", event, "--host=copilot")
    assert NOTE in nested(out, "SessionStart")
    assert NOTE in json.loads(out)["additionalContext"]
    asked = host.run("recall", {**event, "sessionId": "t", "prompt": ASK}, "--host=copilot")
    assert NOTE in nested(asked, "UserPromptSubmit")


def test_devins_folder_comes_from_a_variable(host: Host) -> None:
    event = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": ASK}
    out = host.run("recall", event, DEVIN_PROJECT_DIR=str(host.project))
    assert NOTE in nested(out, "UserPromptSubmit")


def test_goose_is_understood(host: Host) -> None:
    event = {"event": "UserPromptSubmit", "session_id": "s", "working_dir": str(host.project), "message": ASK}
    assert NOTE in host.run("recall", event, "--host=goose")


def test_kimi_sends_a_prompt_in_parts(host: Host) -> None:
    parts = [{"type": "image_url", "image_url": {"url": "file:///a.png"}}, {"type": "text", "text": ASK}]
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(host.project), "prompt": parts}
    assert NOTE in host.run("recall", event, "--host=kimi")


def test_a_host_that_ignores_the_start_gets_the_notes_at_the_first_prompt(host: Host) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(host.project), "prompt": "thanks"}
    assert NOTE in host.run("recall", event, "--host=kimi")
    assert host.run("recall", {**event, "prompt": f"{ASK} Again."}, "--host=kimi") == ""
    assert NOTE in host.run("recall", {**event, "session_id": "t", "prompt": ASK}, "--host=kimi")
    compaction = {**event, "hook_event_name": "PreCompact"}
    assert host.run("capture", compaction, "--host=kimi", "--source", "precompact", "--no-sync") == ""
    assert NOTE in host.run("recall", {**event, "prompt": "go on"}, "--host=kimi")


def test_grok_is_recognised_although_it_runs_claude_codes_hooks_and_its_subagents_are_ignored(host: Host) -> None:
    event = {"sessionId": "s", "cwd": str(host.project), "workspaceRoot": str(host.project), "timestamp": "2026"}
    assert NOTE in host.run("inject", event)
    assert not host.run("inject", {**event, "sessionId": "t", "subagentType": "explore"})


def test_antigravity_gets_the_notes_once_per_conversation_and_always_an_object(host: Host) -> None:
    event: dict[str, Any] = {"conversationId": "s", "workspacePaths": [str(host.project)], "invocationNum": 0}
    (step,) = json.loads(host.run("inject", event, "--host=antigravity"))["injectSteps"]
    assert NOTE in step["ephemeralMessage"]
    assert host.run("inject", {**event, "invocationNum": 3}, "--host=antigravity") == "{}"
    assert host.run("inject", {"conversationId": "s"}, "--host=antigravity") == "{}"
    broken = host.start("inject", event, "--host=antigravity", "--budget=lots")
    out, err = broken.communicate()
    assert (broken.returncode, out) == (0, b"{}")
    assert b"lots" in err


def test_two_hooks_for_one_event_are_answered_once_whichever_comes_first(host: Host) -> None:
    """As when a host runs its own hook and the one that was set up for Claude Code."""
    event = {"session_id": "s", "cwd": str(host.project), "hook_event_name": "SessionStart", "source": "startup"}
    processes = [host.start("inject", event) for _ in range(4)]
    outs = [process.communicate()[0] for process in processes]
    assert sum(NOTE.encode() in out for out in outs) == 1
    assert sum(out == b"" for out in outs) == 3
    assert NOTE in host.run("inject", {**event, "source": "compact"})
    assert NOTE in host.run("inject", {**event, "session_id": "t"})


def test_the_store_may_be_named_by_an_option(host: Host, tmp_path: Path) -> None:
    event = {"session_id": "s", "cwd": str(host.project), "hook_event_name": "SessionStart"}
    variables = {"ANAMNESIS_HOME": str(tmp_path / "other")}
    assert NOTE in host.run("inject", event, f"--home={host.home}", **variables)
    assert not (tmp_path / "other").exists()


TURN = [
    {
        "type": "user",
        "sessionId": "s-1",
        "timestamp": "2026-08-01T10:00:00Z",
        "message": {"content": "Why is it slow?"},
    },
    {
        "type": "assistant",
        "sessionId": "s-1",
        "timestamp": "2026-08-01T10:00:01Z",
        "message": {"id": "m", "content": [{"type": "text", "text": "The index was missing; I added one."}]},
    },
]


@pytest.mark.parametrize(
    ("name", "event", "place"),
    [
        ("windsurf", {"trajectory_id": "s-1", "tool_info": {"transcript_path": "{home}/t.jsonl"}}, "t.jsonl"),
        ("antigravity", {"conversationId": "s-1", "transcriptPath": "{home}/t.jsonl"}, "t.jsonl"),
        ("copilot", {"sessionId": "s-1", "reason": "complete"}, ".copilot/session-state/s-1/events.jsonl"),
        ("kiro", {"session_id": "s-1", "hook_event_name": "Stop"}, ".kiro/sessions/cli/s-1.jsonl"),
        ("kimi", {"session_id": "s-1"}, ".kimi-code/sessions/w/s-1/agents/main/wire.jsonl"),
    ],
)
def test_the_transcript_is_found_where_each_host_keeps_it(
    host: Host, tmp_path: Path, name: str, event: dict[str, Any], place: str
) -> None:
    transcript = tmp_path / place
    transcript.parent.mkdir(parents=True, exist_ok=True)
    transcript.write_text("".join(json.dumps(line) + "\n" for line in TURN))
    told = json.loads(json.dumps(event).replace("{home}", str(tmp_path)))
    assert transcript_of(normalise(told, name, {}), tmp_path, {}) == str(transcript)


@pytest.mark.parametrize("session", ["../../etc", "*", "a/b", "", "x" * 500])
def test_a_session_id_that_is_a_path_or_a_pattern_finds_no_transcript(tmp_path: Path, session: str) -> None:
    (tmp_path / "sessions/cli").mkdir(parents=True)
    (tmp_path / "sessions/cli/real.jsonl").write_text("{}")
    variables = {"KIRO_HOME": str(tmp_path)}
    assert transcript_of(normalise({"session_id": session}, "kiro", variables), tmp_path, variables) == ""
