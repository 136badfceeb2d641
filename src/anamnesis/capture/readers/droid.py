"""Factory Droid: the session's start, then messages made of Anthropic's content blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import edited
from anamnesis.capture.entries import Entry, answers, blocks_of, decode_line, dict_of, text_of, texts_of, type_of

_EDITORS = ("Create", "Edit", "MultiEdit", "Write", "ApplyPatch", "NotebookEdit")
# A message shown only to the model or only to the user is not an ask.
_SHOWN_TO = (None, "", "both")
_RESULT = b'"type":"tool_result"'
_RESULT_OF = b'"tool_use_id":"'


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    for line in lines:
        if not _may_matter(line, draft.edits.waiting) or not (entry := decode_line(line)):
            continue
        if entry.get("type") == "session_start":
            draft.place(session_id=text_of(entry, "id"), cwd=text_of(entry, "cwd"))
            if entry.get("callingSessionId"):
                return  # a subagent's
        elif entry.get("type") == "message":
            _record(entry, draft)
    draft.place(session_id=path.stem)


def _may_matter(line: bytes, waiting: Collection[str]) -> bool:
    if _RESULT in line and not answers(line, _RESULT_OF, waiting):
        return False
    return type_of(line) in (None, b"session_start", b"message")


def _record(entry: Entry, draft: Draft) -> None:
    message, time = dict_of(entry, "message"), text_of(entry, "timestamp")
    blocks = blocks_of(message.get("content"))
    if message.get("role") == "assistant":
        draft.model = text_of(message, "modelId") or draft.model
        draft.answer(texts_of(blocks), time, text_of(entry, "id"))
        for block in blocks:
            if block.get("type") == "tool_use":
                _record_call(block, draft)
    elif message.get("role") == "user":
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            draft.edits.result(text_of(block, "tool_use_id"), made=not block.get("is_error"))
        if not results and _is_typed({**entry, **message}):
            draft.ask(texts_of(blocks), time)


def _record_call(block: Entry, draft: Draft) -> None:
    tool = text_of(block, "name")
    paths = edited(tool, block.get("input"), _EDITORS)
    draft.edits.call(block.get("id"), dict.fromkeys(paths, True) if tool == "Create" else paths)


def _is_typed(message: Entry) -> bool:
    shown = message.get("visibility") in _SHOWN_TO and "hookEventName" not in message
    return shown and message.get("userMessageSource") != "automation"
