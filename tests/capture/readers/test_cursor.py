"""Cursor wraps typed text in a tag, and stores some conversations elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.capture.agents import SESSION, Line, write

from anamnesis.capture import ParsedSession, parse_transcript


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def lay(folder: Path, *lines: Line) -> Path:
    return write(folder / "projects" / "w-app" / "agent-transcripts" / SESSION / f"{SESSION}.jsonl", *lines)


def said(role: str, *blocks: Line) -> Line:
    return {"role": role, "message": {"content": list(blocks)}}


def test_older_versions_do_not_wrap_asks(tmp_path: Path) -> None:
    lines = [said("user", text("fix it")), {"role": "user", "message": {"content": "and that"}}]
    assert parse_transcript(lay(tmp_path, *lines)).prompts == ["fix it", "and that"]


def test_an_ask_may_mention_the_tag_around_it(tmp_path: Path) -> None:
    ask = text("<user_query>\nwhat does </user_query> mean?\n</user_query>")
    assert parse_transcript(lay(tmp_path, said("user", ask))).prompts == ["what does </user_query> mean?"]


def test_a_transcript_without_messages_is_an_empty_session_without_a_problem(tmp_path: Path) -> None:
    session = parse_transcript(lay(tmp_path, {"type": "turn_ended", "status": "success"}))
    assert session == ParsedSession()


def test_a_subagents_file_is_not_a_session_but_its_edits_count_in_its_parent(tmp_path: Path) -> None:
    wrote = {"type": "tool_use", "name": "Write", "input": {"path": "/w/app/a.py", "contents": "x"}}
    main = lay(tmp_path, said("user", text("go")), said("assistant", text("Done.")))
    side = write(main.parent / "subagents" / "x.jsonl", said("user", text("do")), said("assistant", wrote))
    assert parse_transcript(side) == ParsedSession()
    session = parse_transcript(main)
    assert (session.prompts, session.last_outcome) == (["go"], "Done.")
    assert session.files_touched == ["/w/app/a.py"]


@pytest.mark.parametrize(
    ("zone", "time"),
    [
        ("UTC", "2026-08-01T17:10:00+00:00"),
        ("UTC+5:30", "2026-08-01T17:10:00+05:30"),
        ("UTC-3:30", "2026-08-01T17:10:00-03:30"),
        ("UTC+99", ""),
    ],
)
def test_the_time_of_an_ask_is_in_its_zone(tmp_path: Path, zone: str, time: str) -> None:
    ask = f"<timestamp>Saturday, Aug 1, 2026, 5:10 PM ({zone})</timestamp>\n<user_query>go</user_query>"
    assert parse_transcript(lay(tmp_path, said("user", text(ask)))).started_at == time


def test_redacted_thoughts_are_not_an_answer(tmp_path: Path) -> None:
    lines = [
        said("user", text("go")),
        said("assistant", text("Done.\n\n[REDACTED]")),
        said("assistant", text("[REDACTED]")),
    ]
    assert parse_transcript(lay(tmp_path, *lines)).last_outcome == "Done."
