"""Antigravity: the steps of a conversation, in `brain/<conversation>/.system_generated/logs`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from anamnesis.capture.asks import inside_tag, without_tag
from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import Paths, edited, local_path
from anamnesis.capture.entries import Entry, decode_line, dict_of, dicts_of, text_of, type_of

_RELEVANT_TYPES = (b"USER_INPUT", b"PLANNER_RESPONSE", b"CODE_ACTION")
_EDITORS = ("write_to_file", "replace_file_content", "multi_replace_file_content")
_PROGRAM_TAGS = ("ADDITIONAL_METADATA", "USER_SETTINGS_CHANGE")
_CREATED = re.compile(r"^Created file (file://\S.*?) with requested content", re.MULTILINE)


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    written: set[str] = set()
    for line in lines:
        kind = type_of(line)
        if (kind is None or kind in _RELEVANT_TYPES) and (entry := decode_line(line)):
            _record(entry, draft, written)
    is_in_logs = path.parent.name == "logs"
    draft.place(session_id=path.parent.parent.parent.name if is_in_logs else path.stem)


def _record(step: Entry, draft: Draft, written: set[str]) -> None:
    kind, time, content = step.get("type"), text_of(step, "created_at"), text_of(step, "content").strip()
    if kind == "USER_INPUT" and step.get("source") == "USER_EXPLICIT":
        draft.ask([_typed(content)], time)
    elif kind == "PLANNER_RESPONSE":
        draft.answer([content] if content else [], time)
        for call in dicts_of(step.get("tool_calls")):
            paths = _edited_by(call)
            draft.edits.call(None, paths)
            written.update(paths)
    elif kind == "CODE_ACTION":
        created = (local_path(uri) for uri in _CREATED.findall(content))
        draft.edits.call(None, {path: True for path in created if path in written})


def _typed(content: str) -> str:
    text = inside_tag(content, "USER_REQUEST")
    for tag in _PROGRAM_TAGS:
        text = without_tag(text, tag)
    return text.strip()


def _edited_by(call: Entry) -> Paths:
    """The files that a call edits. Its values are JSON texts. Artifacts are the agent's plans, not the user's files."""
    given = {key: value.strip('"') for key, value in dict_of(call, "args").items() if isinstance(value, str)}
    tool = text_of(call, "name").rpartition(":")[2]
    return {} if given.get("IsArtifact") == "true" else edited(tool, given, _EDITORS)
