"""GitHub Copilot records each call twice: as a request and as an execution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.capture.agents import SESSION, Line, write

from anamnesis.capture import parse_transcript

TIME = "2026-08-01T10:00:00.000Z"


def event(type: str, **data: Any) -> Line:
    return {"type": type, "data": data, "id": "e", "timestamp": TIME, "parentId": None}


def test_viewing_a_file_with_the_editor_is_not_an_edit(tmp_path: Path) -> None:
    lines = [
        event("tool.execution_start", toolCallId=call, toolName="str_replace_editor", arguments=given)
        for call, given in (
            ("c1", {"command": "view", "path": "a.py"}),
            ("c2", {"command": "str_replace", "path": "b.py"}),
            ("c3", {"command": "create", "path": "c.py"}),
        )
    ]
    session = parse_transcript(write(tmp_path / SESSION / "events.jsonl", *lines))
    assert (session.files_touched, session.files_created) == (["b.py", "c.py"], ["c.py"])
    assert session.session_id == SESSION


def test_the_arguments_of_a_patch_are_plain_text(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"
    request = {"toolCallId": "c1", "name": "apply_patch", "arguments": patch, "type": "custom"}
    line = event("assistant.message", messageId="a", content="", toolRequests=[request])
    assert parse_transcript(write(tmp_path / "events.jsonl", line)).files_touched == ["a.py"]


def test_edits_of_subagents_count(tmp_path: Path) -> None:
    started = event("tool.execution_start", toolCallId="c", toolName="edit", arguments={"path": "a.py"})
    assert parse_transcript(write(tmp_path / "events.jsonl", {**started, "agentId": "x"})).files_touched == ["a.py"]


@pytest.mark.parametrize(
    ("data", "outer"),
    [
        ({"isAutopilotContinuation": True}, {}),
        ({"source": "skill-pdf"}, {}),
        ({"parentToolCallId": "c1"}, {}),
        ({}, {"agentId": "x"}),
    ],
)
def test_only_typed_messages_are_asks(tmp_path: Path, data: Line, outer: Line) -> None:
    lines = [event("user.message", content="go on", **data) | outer, event("user.message", content="mine")]
    assert parse_transcript(write(tmp_path / "events.jsonl", *lines)).prompts == ["mine"]


@pytest.mark.parametrize(("data", "outer"), [({"parentToolCallId": "c1"}, {}), ({}, {"agentId": "x"})])
def test_the_outcome_is_the_agents_not_a_subagents(tmp_path: Path, data: Line, outer: Line) -> None:
    said = [
        event("assistant.message", messageId="a", content="Done."),
        event("assistant.message", content="Hm.", **data),
    ]
    session = parse_transcript(write(tmp_path / "events.jsonl", said[0], said[1] | outer))
    assert (session.last_outcome, session.turns) == ("Done.", 1)
