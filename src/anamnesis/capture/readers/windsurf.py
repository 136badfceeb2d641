"""Windsurf's Cascade: steps without times, each with its data under the name of its type."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import edited
from anamnesis.capture.entries import Entry, decode_line, dict_of, text_of

_EDIT = "code_action"


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    for line in lines:
        if entry := decode_line(line):
            _record(entry, draft)
    draft.place(session_id=path.stem)


def _record(step: Entry, draft: Draft) -> None:
    kind = text_of(step, "type")
    data = dict_of(step, kind)
    if kind == "user_input":
        draft.ask([text_of(data, "user_response").strip()])
    elif kind == "planner_response":
        text = text_of(data, "response").strip()
        draft.answer([text] if text else [])
    elif data:
        draft.answer()
        if step.get("status") in (None, "done"):
            draft.edits.call(None, edited(kind, data, (_EDIT,)))
