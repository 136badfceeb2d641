"""Kimi records prompts, and separately the messages for the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.capture.agents import SESSION, Line, write

from anamnesis.capture import ParsedSession, parse_transcript


def text(words: str) -> Line:
    return {"type": "text", "text": words}


HEADER: Line = {"type": "metadata", "protocol_version": "1.5", "created_at": 1785578400000}


def lay(folder: Path, *lines: Line, agent: str = "main") -> Path:
    return write(folder / "sessions" / "wd" / SESSION / "agents" / agent / "wire.jsonl", HEADER, *lines)


def appended(words: str, kind: str = "user") -> Line:
    message = {"role": "user", "content": [text(words)], "origin": {"kind": kind}}
    return {"type": "context.append_message", "message": message, "time": 1785578401000}


def test_messages_for_the_model_are_asks_only_if_no_prompt_is_recorded(tmp_path: Path) -> None:
    lines = [appended("a"), appended("x", "injection"), appended("b")]
    assert parse_transcript(lay(tmp_path, *lines)).prompts == ["a", "b"]
    prompt = {"type": "turn.prompt", "input": [text("c")], "origin": {"kind": "user"}, "time": 1}
    assert parse_transcript(lay(tmp_path, *lines, prompt)).prompts == ["c"]


def test_a_subagents_wire_file_is_not_a_session(tmp_path: Path) -> None:
    path = lay(tmp_path, appended("search the code"), agent="agent-2")
    assert parse_transcript(path) == ParsedSession()


@pytest.mark.parametrize("time", [None, True, "", 1e300, -1e300, float("nan"), [1]])
def test_an_invalid_time_is_ignored(tmp_path: Path, time: object) -> None:
    session = parse_transcript(lay(tmp_path, {**appended("a"), "time": time}))
    assert (session.prompts, session.started_at) == (["a"], "")
