"""Cursor's agent: messages without tool results; only the asks have times."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path

from anamnesis.capture.asks import inside_tag
from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import edited
from anamnesis.capture.entries import blocks_of, decode_line, dict_of, read_lines, read_object, text_of, texts_of

_EDITORS = ("Write", "StrReplace", "Delete", "EditNotebook", "ApplyPatch", "edit_file", "search_replace")
_QUERY = "user_query"
_TIME = re.compile(r"<timestamp>\w+, (\w+ \d+, \d+, \d+:\d+ [AP]M) \(UTC([+-]\d+)?(?::(\d+))?\)</timestamp>")
# Replaces the model's thoughts.
_HIDDEN = "[REDACTED]"
_SUBAGENTS = "subagents"
_TRUSTED = ".workspace-trusted"


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    if path.parent.name == _SUBAGENTS:
        return
    for line in lines:
        entry = decode_line(line) or {}
        content = dict_of(entry, "message").get("content")
        if entry.get("role") == "user":
            for text in texts_of(content):
                # All text around the query is added by the program; older versions add none and have no tag.
                if f"<{_QUERY}>" in text or not text.startswith("<"):
                    draft.ask([inside_tag(text, _QUERY)], _time(text))
        elif entry.get("role") == "assistant":
            texts = (text.replace(_HIDDEN, "").strip() for text in texts_of(content))
            draft.answer(text for text in texts if text)
            _record_calls(content, draft)
    for file in sorted((path.parent / _SUBAGENTS).glob("*.jsonl")):
        for line in read_lines(str(file)):
            entry = decode_line(line) or {}
            _record_calls(dict_of(entry, "message").get("content"), draft)
    draft.place(session_id=path.stem if draft.turns or draft.asks else "", cwd=_workspace(path))


def _record_calls(content: object, draft: Draft) -> None:
    for block in blocks_of(content):
        if block.get("type") == "tool_use":
            draft.edits.call(block.get("id"), edited(block.get("name"), block.get("input"), _EDITORS))


def _time(text: str) -> str:
    found = _TIME.search(text)
    if found is None:
        return ""
    try:
        hours, minutes = int(found[2] or 0), int(found[3] or 0)
        zone = timezone(timedelta(hours=hours, minutes=-minutes if hours < 0 else minutes))
        return datetime.strptime(found[1], "%b %d, %Y, %I:%M %p").replace(tzinfo=zone).isoformat()
    except (ValueError, OverflowError):
        return ""


def _workspace(path: Path) -> str:
    """The session's folder. The project's folder name cannot be decoded, but a file in it contains the path."""
    for folder in path.parents:
        if folder.parent.name == "projects":
            return text_of(read_object(folder / _TRUSTED), "workspacePath")
    return ""
