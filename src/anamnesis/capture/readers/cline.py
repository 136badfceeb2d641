"""Cline: one JSON document with the messages of a session, and one beside it that describes the session."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import edited
from anamnesis.capture.entries import (
    Entry,
    decode_line,
    dict_of,
    dicts_of,
    moment,
    read_object,
    text_of,
    texts_of,
)

_EDITORS = ("editor", "apply_patch")
_INPUT = "<user_input"


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    document = decode_line(b"".join(lines)) or {}
    session = text_of(document, "sessionId")
    about = read_object(path.with_name(f"{path.parent.name}.json"))
    if document.get("agent") != "lead":
        return
    for message in dicts_of(document.get("messages")):
        _record(message, draft)
    git = dict_of(dict_of(about, "metadata"), "git")
    draft.place(session_id=session, cwd=text_of(about, "cwd"), branch=text_of(git, "branch"))


def _record(message: Entry, draft: Draft) -> None:
    content, time = message.get("content"), moment(message.get("ts"))
    if message.get("role") == "user":
        if dict_of(message, "metadata").get("displayRole") != "system":
            draft.ask([_typed(text) for text in texts_of(content)], time)
        for block in dicts_of(content):
            if (call := text_of(block, "tool_use_id")) in draft.edits.waiting:
                draft.edits.result(call, made=not block.get("is_error"))
    elif message.get("role") == "assistant":
        draft.model = text_of(dict_of(message, "modelInfo"), "id") or draft.model
        draft.answer(texts_of(content), time, text_of(message, "id"))
        for block in dicts_of(content):
            if block.get("type") == "tool_use":
                _record_call(block, draft)


def _record_call(block: Entry, draft: Draft) -> None:
    given = dict_of(block, "input")
    paths = edited(block.get("name"), given, _EDITORS)
    if block.get("name") == "editor" and given.get("old_text") is None and given.get("insert_line") is None:
        paths = dict.fromkeys(paths, True)
    draft.edits.call(block.get("id"), paths)


def _typed(text: str) -> str:
    """The content of Cline's wrapper tag, which has attributes; the whole text without one."""
    if not text.startswith(_INPUT):
        return text
    return text.partition(">")[2].rpartition("</user_input>")[0]
