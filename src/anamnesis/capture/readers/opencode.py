"""OpenCode and Kilo Code: messages made of parts, from the database or from `opencode export`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import edited
from anamnesis.capture.entries import Entry, decode_line, dict_of, dicts_of, moment, text_of, texts_of

_EDITORS = ("edit", "write", "multiedit", "apply_patch", "patch")


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    undone = ""
    for line in lines:
        entry = decode_line(line) or {}
        info = dict_of(entry, "info")
        if "directory" in info:
            if info.get("parentID"):
                return  # a subagent's
            undone = text_of(dict_of(info, "revert"), "messageID")
            start = moment(dict_of(info, "time").get("created"))
            draft.place(session_id=text_of(info, "id"), cwd=text_of(info, "directory"), started_at=start)
        for message in (entry, *dicts_of(entry.get("messages"))):
            _record(message, draft, undone)
    draft.place(session_id=path.stem if draft.turns or draft.asks else "")


def _record(message: Entry, draft: Draft, undone: str) -> None:
    """Read a message, unless the user has undone it. Ids sort by time."""
    info, parts = dict_of(message, "info"), dicts_of(message.get("parts"))
    name, time = text_of(info, "id"), moment(dict_of(info, "time").get("created"))
    if undone and name >= undone and not message.get("subagent"):
        return
    texts = texts_of([part for part in parts if not _is_added(part)])
    if message.get("subagent"):
        _record_calls(parts, draft)
    elif info.get("role") == "user":
        draft.ask([_unquoted(text) for text in texts], time)
    elif info.get("role") == "assistant" and not info.get("summary"):
        draft.place(cwd=text_of(dict_of(info, "path"), "cwd"))
        draft.model = text_of(info, "modelID") or draft.model
        draft.answer(texts, time, name)
        _record_calls(parts, draft)


def _is_added(part: Entry) -> bool:
    """Whether a program added the part: notes that we injected, the content of files, instructions."""
    return bool(part.get("synthetic") or part.get("ignored"))


def _unquoted(text: str) -> str:
    """A prompt without the quotation marks that `opencode run` puts around one of several words."""
    inner = text[1:-1].replace('\\"', "")
    quoted = len(text) > 1 and text[0] == text[-1] == '"' and '"' not in inner
    return text[1:-1].replace('\\"', '"') if quoted else text


def _record_calls(parts: list[Entry], draft: Draft) -> None:
    for part in parts:
        state = dict_of(part, "state")
        paths = edited(text_of(part, "tool"), dict_of(state, "input"), _EDITORS)
        if part.get("type") == "tool" and paths and (call := text_of(part, "callID")):
            draft.edits.call(call, paths)
            new = dict_of(state, "metadata").get("exists") is False
            draft.edits.result(call, made=state.get("status") != "error", new=new)
