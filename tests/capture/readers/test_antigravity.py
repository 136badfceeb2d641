"""Antigravity adds metadata to asks, and writes artifacts of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.capture.agents import Line, write

from anamnesis.capture import parse_transcript

TIME = "2026-08-01T10:00:00.000Z"


def step(type: str, source: str = "MODEL", **fields: Any) -> Line:
    return {"step_index": 1, "source": source, "type": type, "status": "DONE", "created_at": TIME, **fields}


@pytest.mark.parametrize("source", ["SYSTEM", "USER_IMPLICIT"])
def test_only_explicit_user_input_is_an_ask(tmp_path: Path, source: str) -> None:
    lines = [step("USER_INPUT", source, content="x"), step("USER_INPUT", "USER_EXPLICIT", content="mine")]
    assert parse_transcript(write(tmp_path / "transcript.jsonl", *lines)).prompts == ["mine"]


def test_metadata_in_a_request_is_removed(tmp_path: Path) -> None:
    content = "<USER_REQUEST>\nmine\n<ADDITIONAL_METADATA>{}</ADDITIONAL_METADATA>\n</USER_REQUEST>"
    line = step("USER_INPUT", "USER_EXPLICIT", content=content)
    assert parse_transcript(write(tmp_path / "transcript.jsonl", line)).prompts == ["mine"]


@pytest.mark.parametrize("path", ["/w/app/a.py", '"/w/app/a.py"'])
def test_values_of_calls_may_be_json_themselves(tmp_path: Path, path: str) -> None:
    calls = [{"name": "default_api:replace_file_content", "args": {"TargetFile": path}}]
    line = step("PLANNER_RESPONSE", tool_calls=calls)
    assert parse_transcript(write(tmp_path / "transcript.jsonl", line)).files_touched == ["/w/app/a.py"]
