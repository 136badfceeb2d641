"""Qwen Code: records like Claude Code's with contents like Gemini's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import edited
from anamnesis.capture.entries import Entry, answers, decode_line, dict_of, dicts_of, text_of, type_of
from anamnesis.capture.readers.gemini import EDITORS, says_created, spoken

# Other subtypes of user records are notifications, timers and goals.
_TYPED = (None, "mid_turn_user_message")
_RESULT_OF = b'"callId":"'


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    for line in lines:
        kind = type_of(line)
        if kind == b"system" or (kind == b"tool_result" and not answers(line, _RESULT_OF, draft.edits.waiting)):
            continue
        if entry := decode_line(line):
            _record(entry, draft)
    draft.place(session_id=path.stem if draft.turns or draft.asks else "")


def _record(entry: Entry, draft: Draft) -> None:
    kind, time, content = entry.get("type"), text_of(entry, "timestamp"), dict_of(entry, "message").get("parts")
    side = bool(entry.get("isSidechain") or entry.get("agentId"))
    draft.place(session_id=text_of(entry, "sessionId"), cwd=text_of(entry, "cwd"), branch=text_of(entry, "gitBranch"))
    if kind == "user" and not side and entry.get("subtype") in _TYPED:
        shown = text_of(dict_of(entry, "systemPayload"), "displayText").strip()
        draft.ask([shown] if shown else spoken(content), time)
    elif kind == "assistant":
        if not side:
            draft.model = text_of(entry, "model") or draft.model
            draft.answer(spoken(content), time, text_of(entry, "uuid"))
        for part in dicts_of(content):
            call = dict_of(part, "functionCall")
            draft.edits.call(call.get("id"), edited(call.get("name"), call.get("args"), EDITORS))
    elif kind == "tool_result":
        result = dict_of(entry, "toolCallResult")
        made = result.get("status") not in ("error", "cancelled")
        draft.edits.result(text_of(result, "callId"), made=made, new=says_created(content))
