"""Gemini CLI repeats a message whenever it changes, and can rewind messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.capture.agents import SESSION, Line, write

from anamnesis.capture import ParsedSession, is_trivial_session, parse_transcript

HEADER: Line = {"sessionId": SESSION, "projectHash": "f00d", "startTime": "2026-08-01T10:00:00Z", "kind": "main"}


def user(id: str, text: Any, **fields: Any) -> Line:
    content = [{"text": text}] if isinstance(text, str) else text
    return {"id": id, "timestamp": "2026-08-01T10:00:01Z", "type": "user", "content": content, **fields}


def model(id: str, text: str, *calls: Line) -> Line:
    line = {"id": id, "timestamp": "2026-08-01T10:00:02Z", "type": "gemini", "content": text, "model": "gemini-3-pro"}
    return line | ({"toolCalls": list(calls)} if calls else {})


def call(id: str, path: str, status: str = "success", name: str = "replace") -> Line:
    return {"id": id, "name": name, "args": {"file_path": path}, "status": status, "result": None}


def read(tmp_path: Path, *lines: Line) -> ParsedSession:
    return parse_transcript(write(tmp_path / "p" / "chats" / "session-1-7e0f5a1c.jsonl", HEADER, *lines))


def test_a_repeated_message_counts_once(tmp_path: Path) -> None:
    again = [model("m2", "Hm."), model("m2", "Hm."), model("m2", "Hm.", call("c1", "/a.py"))]
    session = read(tmp_path, user("m1", "go"), user("m1", "go"), *again)
    assert (session.prompts, session.turns, session.files_touched) == (["go"], 1, ["/a.py"])


def test_the_last_state_of_a_call_counts(tmp_path: Path) -> None:
    states = [model("m2", "", call("c1", "/a.py", status)) for status in ("executing", "error")]
    assert read(tmp_path, user("m1", "go"), *states).files_touched == []
    assert read(tmp_path, user("m1", "go"), *states[::-1]).files_touched == ["/a.py"]
    assert read(tmp_path, model("m2", "", call("c1", "/a.py", "cancelled"))).files_touched == []


@pytest.mark.parametrize(("undone", "asks"), [("m3", ["a"]), ("m2", ["a"]), ("m1", []), ("unknown", [])])
def test_a_rewound_message_is_not_an_ask(tmp_path: Path, undone: str, asks: list[str]) -> None:
    lines = [user("m1", "a"), model("m2", "A."), user("m3", "b"), {"$rewindTo": undone}, user("m4", "c")]
    assert read(tmp_path, *lines).prompts == [*asks, "c"]


@pytest.mark.parametrize(
    "text",
    [
        "<session_context>\nThis is the Gemini CLI.\n</session_context>",
        "<hook_context>remember</hook_context>",
        "Please continue.",
        "System: Potential loop detected. Details: x.",
        "I ran the following shell command:\n```sh\nls\n```",
        "<state_snapshot>\nwhat was before\n</state_snapshot>",
    ],
)
def test_a_message_that_the_program_sends_as_the_user_is_not_an_ask(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, user("m1", text), user("m2", "mine")).prompts == ["mine"]


def test_a_hooks_context_is_removed_from_an_ask(tmp_path: Path) -> None:
    text = "fix it\n\n<hook_context>You know that.</hook_context>"
    assert read(tmp_path, user("m1", text)).prompts == ["fix it"]


def test_the_displayed_text_is_preferred_to_the_sent_text(tmp_path: Path) -> None:
    sent = user("m1", "explain @a.py\n--- Content ---\nx = 1", displayContent=[{"text": "explain @a.py"}])
    assert read(tmp_path, sent).prompts == ["explain @a.py"]


def test_results_and_thoughts_are_neither_asks_nor_answers(tmp_path: Path) -> None:
    result = user("m2", [{"functionResponse": {"id": "c1", "response": {"output": "x"}}}])
    thought = model("m3", "") | {"content": [{"text": "hm", "thought": True}, {"text": "Done."}]}
    session = read(tmp_path, user("m1", "go"), result, thought)
    assert (session.prompts, session.last_outcome) == (["go"], "Done.")


def test_a_subagents_file_is_not_a_session_but_its_edits_count_in_its_parent(tmp_path: Path) -> None:
    chats = tmp_path / "p" / "chats"
    side = [{**HEADER, "sessionId": "sub", "kind": "subagent"}, user("s1", "search"), model("s2", "", call("s", "/b"))]
    path = write(chats / SESSION / "sub.jsonl", *side)
    assert is_trivial_session(parse_transcript(path))
    session = read(tmp_path, user("m1", "go"), model("m2", "Done.", call("c", "/a")))
    assert (session.prompts, session.files_touched, session.last_outcome) == (["go"], ["/a", "/b"], "Done.")


def test_an_old_document_on_one_line_is_read_too(tmp_path: Path) -> None:
    document = {**HEADER, "messages": [user("m1", "go"), model("m2", "Done.")]}
    session = parse_transcript(write(tmp_path / "session-1.json", document))
    assert (session.prompts, session.last_outcome) == (["go"], "Done.")
