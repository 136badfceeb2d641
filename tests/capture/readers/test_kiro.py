"""Kiro stores a session's folder in a file beside the transcript."""

from __future__ import annotations

import json
from pathlib import Path

from tests.capture.agents import SESSION, write

from anamnesis.capture import parse_transcript

TIME = "2026-08-01T10:00:00.000Z"


def test_id_and_folder_come_from_the_file_beside_the_transcript(tmp_path: Path) -> None:
    content = [{"kind": "text", "data": "go"}]
    path = write(tmp_path / "x.jsonl", {"version": "v1", "kind": "Prompt", "data": {"content": content}})
    assert (parse_transcript(path).session_id, parse_transcript(path).cwd) == ("x", "")
    about = {"session_id": SESSION, "cwd": "/w/app", "created_at": TIME}
    path.with_suffix(".json").write_text(json.dumps(about, indent=2))
    assert (parse_transcript(path).session_id, parse_transcript(path).cwd) == (SESSION, "/w/app")
