"""An unreadable transcript gives no note, and the log gives the reason in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.capture.transcripts import TODAY, line

from anamnesis.capture import HeuristicSummarizer, ParsedSession, is_trivial_session, parse_transcript, write_episodic
from anamnesis.store import MemoryStore

UNKNOWN = [
    '{"type":"session","version":3,"id":"x","cwd":"/w"}\n{"type":"message","message":{"role":"user","content":"hi"}}\n',
    '{"role":"_system_prompt","content":"x"}\n{"role":"user","content":"fix it"}\n',
    '{"type":"user","content":[{"type":"text","text":"fix it"}]}\n',
    '{"session":{"id":"x"},"items":[{"type":"message","role":"user","content":"fix it"}]}\n',
    "fix it\nplease\n",
    "[]",
    "{\n",
    "\x00\x01\x02",
]


@pytest.mark.parametrize("content", UNKNOWN)
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.txt"])
def test_an_unknown_format_is_reported(tmp_path: Path, content: str, name: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    session = parse_transcript(path, "A last message that is long enough for a note of its own.")
    assert session == ParsedSession(problem=session.problem)
    assert session.problem == f"{path} is in a format that Anamnesis cannot read yet; no note was written."
    assert is_trivial_session(session)


@pytest.mark.parametrize("content", ["", "\n\n  \n"])
def test_an_empty_file_is_no_problem(tmp_path: Path, content: str) -> None:
    for name in ("a.jsonl", "a.json"):
        (tmp_path / name).write_text(content)
        assert parse_transcript(tmp_path / name) == ParsedSession()


def test_the_log_has_one_sentence_and_the_store_no_note(tmp_path: Path, store: MemoryStore) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(UNKNOWN[0])
    note = write_episodic(
        store,
        parse_transcript(path),
        summarizer=HeuristicSummarizer(),
        project="app",
        source="session-end",
        machine_id="thinkpad",
    )
    assert note is None
    assert store.count() == 0
    (logged,) = (json.loads(line) for line in (store.root / "anamnesis.log").read_text().splitlines())
    assert logged["event"] == "transcript not read"
    assert logged["reason"] == parse_transcript(path).problem


def test_lines_of_unknown_kinds_may_precede_the_first_known_one(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(b'{"type":"new","value":1}\n' * 40 + line(TODAY.ask("go")))
    assert parse_transcript(path).prompts == ["go"]


def test_an_overlong_document_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "session-1.json"
    with path.open("wb") as file:
        file.write(b'{"sessionId":"x","projectHash":"y","messages":[\n]')
        file.write(b" " * (33 * 1024 * 1024) + b"}")
    assert "cannot read yet" in parse_transcript(path).problem
