"""Qwen Code records notifications, timers and goals as user messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.capture.agents import SESSION, Line, write

from anamnesis.capture import parse_transcript

TIME = "2026-08-01T10:00:00.000Z"


def record(type: str, **fields: Any) -> Line:
    place = {"uuid": "u", "parentUuid": None, "sessionId": SESSION, "timestamp": TIME, "cwd": "/w/app"}
    return {**place, "type": type, "version": "0.21", **fields}


def user(words: str, **fields: Any) -> Line:
    return record("user", message={"role": "user", "parts": [{"text": words}]}, **fields)


@pytest.mark.parametrize("subtype", ["notification", "cron", "goal_runtime", "agent_launch_prompt"])
def test_only_typed_messages_are_asks(tmp_path: Path, subtype: str) -> None:
    path = write(tmp_path / "s.jsonl", user("tick", subtype=subtype), user("mine"))
    assert parse_transcript(path).prompts == ["mine"]


def test_reminders_are_removed_from_an_ask(tmp_path: Path) -> None:
    parts = [{"text": "<system-reminder>\nx\n</system-reminder>"}, {"text": "mine"}]
    path = write(tmp_path / "s.jsonl", record("user", message={"role": "user", "parts": parts}))
    assert parse_transcript(path).prompts == ["mine"]


def test_a_branch_of_a_session_has_its_own_id(tmp_path: Path) -> None:
    forked = user("mine", forkedFrom={"sessionId": "parent", "messageUuid": "u"})
    assert parse_transcript(write(tmp_path / "s.jsonl", forked)).session_id == SESSION


def test_the_outcome_is_the_agents_not_a_subagents(tmp_path: Path) -> None:
    said = [{"role": "model", "parts": [{"text": text}]} for text in ("Done.", "Found it.")]
    lines = [user("mine"), record("assistant", message=said[0]), record("assistant", message=said[1], agentId="x-1")]
    session = parse_transcript(write(tmp_path / "s.jsonl", *lines))
    assert (session.last_outcome, session.turns) == ("Done.", 1)
