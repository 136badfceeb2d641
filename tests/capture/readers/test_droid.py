"""Factory Droid: a subagent's session names the session that started it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.capture.agents import SESSION, Line, write

from anamnesis.capture import is_trivial_session, parse_transcript

TIME = "2026-08-01T10:00:00.000Z"

START: Line = {"type": "session_start", "id": SESSION, "title": "x", "cwd": "/w/app", "version": 2}


def message(role: str, content: Any, **fields: Any) -> Line:
    return {
        "type": "message",
        "id": "m",
        "timestamp": TIME,
        "message": {"role": role, "content": content, **fields},
    }


def test_a_subagents_session_is_trivial(tmp_path: Path) -> None:
    start = {**START, "callingSessionId": "parent", "callingToolUseId": "t1"}
    used = {"type": "tool_use", "id": "c", "name": "Edit", "input": {"file_path": "/a"}}
    lines = [start, message("user", "search the code base"), message("assistant", [used])]
    assert is_trivial_session(parse_transcript(write(tmp_path / "s.jsonl", *lines)))


def test_a_patch_counts_as_its_files(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n*** Add File: c.py\n+1\n*** End Patch"
    used = {"type": "tool_use", "id": "c", "name": "ApplyPatch", "input": {"input": patch}}
    session = parse_transcript(write(tmp_path / "s.jsonl", START, message("assistant", [used])))
    assert (session.files_touched, session.files_created) == (["a.py", "b.py", "c.py"], ["c.py"])


def test_text_beside_a_tool_result_is_not_an_ask(tmp_path: Path) -> None:
    used = {"type": "tool_use", "id": "c", "name": "Edit", "input": {"file_path": "/a"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "42", "is_error": True}
    beside = message("user", [result, {"type": "text", "text": "go on"}])
    lines = [START, message("user", "count"), message("assistant", [used]), beside]
    session = parse_transcript(write(tmp_path / "s.jsonl", *lines))
    assert (session.prompts, session.files_touched) == (["count"], [])
