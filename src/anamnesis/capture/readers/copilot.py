"""GitHub Copilot, in the terminal and in VS Code: events of `{type, data, id, timestamp}`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import edited
from anamnesis.capture.entries import Entry, answers, decode_line, dict_of, dicts_of, text_of, type_of

_RELEVANT_TYPES = (
    *(b"session.start", b"session.resume", b"session.model_change"),
    *(b"user.message", b"assistant.message", b"tool.execution_start"),
)
_EDITORS = (
    *("create", "edit", "str_replace_editor", "apply_patch"),
    *("create_file", "replace_string_in_file", "insert_edit_into_file", "edit_notebook_file"),
)
_CREATORS = ("create", "create_file")
_RESULT_OF = b'"toolCallId":"'


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    for line in lines:
        kind = type_of(line)
        done = kind == b"tool.execution_complete" and answers(line, _RESULT_OF, draft.edits.waiting)
        if (kind is None or kind in _RELEVANT_TYPES or done) and (entry := decode_line(line)):
            _record(entry, draft)
    draft.place(session_id=path.parent.name if path.name == "events.jsonl" else path.stem)


def _record(entry: Entry, draft: Draft) -> None:
    kind, data, time = entry.get("type"), dict_of(entry, "data"), text_of(entry, "timestamp")
    # Events of subagents have `agentId`; before 1.0, the id of the call that started the agent.
    side = bool(entry.get("agentId") or data.get("parentToolCallId"))
    if kind in ("session.start", "session.resume"):
        context = dict_of(data, "context")
        draft.place(session_id=text_of(data, "sessionId"), started_at=text_of(data, "startTime") or time)
        draft.place(cwd=text_of(context, "cwd"), branch=text_of(context, "branch"))
    elif kind == "session.model_change":
        draft.model = text_of(data, "newModel") or draft.model
    elif kind == "user.message":
        typed = data.get("source") in (None, "", "user") and not data.get("isAutopilotContinuation")
        if typed and not side:
            draft.ask([text_of(data, "content").strip()], time)
    elif kind == "assistant.message":
        if not side:
            text = text_of(data, "content").strip()
            draft.model = text_of(data, "model") or draft.model
            draft.answer([text] if text else [], time, text_of(data, "messageId"))
        for request in dicts_of(data.get("toolRequests")):
            _record_call(text_of(request, "name"), request, draft)
    elif kind == "tool.execution_start":
        _record_call(text_of(data, "toolName"), data, draft)
    elif kind == "tool.execution_complete":
        draft.edits.result(text_of(data, "toolCallId"), made=data.get("success") is not False)


def _record_call(tool: str, call: Entry, draft: Draft) -> None:
    given = call.get("arguments")
    command = given.get("command") if isinstance(given, dict) else None
    if tool == "str_replace_editor" and command == "view":
        return
    paths = edited(tool, given, _EDITORS)
    new = tool in _CREATORS or command == "create"
    draft.edits.call(call.get("toolCallId"), dict.fromkeys(paths, True) if new else paths)
