"""Kiro's command line: prompts, messages and results of `{version, kind, data}`; only prompts have times."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import edited
from anamnesis.capture.entries import Entry, answers, decode_line, dict_of, dicts_of, moment, read_object, text_of

_EDITORS = ("write", "fs_write", "Write", "Edit")
_RESULTS = b'"ToolResults"'
_RESULT_OF = b'"toolUseId":"'
_KIND_WITHIN = 100


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    for line in lines:
        result = line.find(_RESULTS, 0, _KIND_WITHIN) >= 0
        if (not result or answers(line, _RESULT_OF, draft.edits.waiting)) and (entry := decode_line(line)):
            _record(text_of(entry, "kind"), dict_of(entry, "data"), draft)
    about = read_object(path.with_suffix(".json"))
    draft.place(session_id=text_of(about, "session_id") or path.stem, cwd=text_of(about, "cwd"))


def _record(kind: str, data: Entry, draft: Draft) -> None:
    blocks = dicts_of(data.get("content"))
    texts = [text_of(block, "data").strip() for block in blocks if block.get("kind") == "text"]
    texts = [text for text in texts if text]
    if kind == "Prompt":
        draft.ask(texts, moment(dict_of(data, "meta").get("timestamp")))
    elif kind == "AssistantMessage":
        draft.answer(texts, message=text_of(data, "message_id"))
        for block in blocks:
            if block.get("kind") == "toolUse":
                _record_call(dict_of(block, "data"), draft)
    elif kind == "ToolResults":
        for result in (dict_of(block, "data") for block in blocks):
            draft.edits.result(text_of(result, "toolUseId"), made=result.get("status") != "error")


def _record_call(call: Entry, draft: Draft) -> None:
    paths = edited(call.get("name"), call.get("input"), _EDITORS)
    new = dict_of(call, "input").get("command") == "create"
    draft.edits.call(call.get("toolUseId"), dict.fromkeys(paths, True) if new else paths)
