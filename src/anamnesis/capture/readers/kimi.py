"""Kimi: the messages between program and model, as Kimi Code and its predecessor Kimi CLI record them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import edited
from anamnesis.capture.entries import (
    Entry,
    answers,
    decode_line,
    dict_of,
    dicts_of,
    moment,
    read_object,
    text_of,
    texts_of,
)

_EDITORS = ("Write", "Edit", "MultiEdit", "WriteFile", "StrReplaceFile")
_ASKS = ("turn.prompt", "turn.steer")
_OLD_ASKS = ("TurnBegin", "SteerInput")
_RESULT = b'"type":"tool.result"'
_RESULT_OF = b'"toolCallId":"'
_OLD_RESULT = b'"ToolResult"'
_OLD_CHANGE = b'"diff"'


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    session, agent = _session(path)
    if agent != "main":
        return
    parser = _WireParser(draft)
    for line in lines:
        if _may_matter(line, draft.edits.waiting) and (entry := decode_line(line)):
            parser.read(entry)
    parser.finish()
    draft.place(session_id=session.name, cwd=_folder(session))


def _session(path: Path) -> tuple[Path, str]:
    """The folder of a session, and which agent's file this is."""
    if path.parent.parent.name == "agents":
        return path.parent.parent.parent, path.parent.name
    return path.parent, "subagent" if path.parent.parent.name == "subagents" else "main"


def _may_matter(line: bytes, waiting: Collection[str]) -> bool:
    """Whether a line may matter. Results are long: only one of a waiting call counts, in Kimi CLI one with a diff."""
    if _RESULT in line:
        return answers(line, _RESULT_OF, waiting)
    return _OLD_RESULT not in line or _OLD_CHANGE in line


class _WireParser:
    """Parses one wire file, entry by entry, into a draft."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._step = 0
        # The user's messages for the model, until a prompt record is read.
        self._sent: list[tuple[list[str], str]] | None = []

    def read(self, entry: Entry) -> None:
        old = dict_of(entry, "message")
        if "payload" in old:
            self._record_old(text_of(old, "type"), dict_of(old, "payload"), moment(entry.get("timestamp")))
            return
        kind, time, event = entry.get("type"), moment(entry.get("time")), dict_of(entry, "event")
        if kind in _ASKS:
            self._sent = None
            if _is_typed(entry):
                self._draft.ask(texts_of(entry.get("input")), time)
        elif kind == "context.append_message" and old.get("role") == "user" and _is_typed(old):
            if self._sent is not None:
                self._sent.append((texts_of(old.get("content")), time))
        elif kind == "context.append_loop_event":
            self._record_event(event, time)

    def finish(self) -> None:
        for texts, time in self._sent or ():
            self._draft.ask(texts, time)

    def _record_event(self, event: Entry, time: str) -> None:
        kind, call = event.get("type"), text_of(event, "toolCallId")
        if kind == "step.begin":
            self._step += 1
        elif kind == "content.part":
            self._draft.answer(texts_of([event.get("part")]), time, self._step)
        elif kind == "tool.call":
            self._draft.answer(time=time, message=self._step)
            self._draft.edits.call(call, edited(event.get("name"), event.get("args"), _EDITORS))
        elif kind == "tool.result":
            self._draft.edits.result(call, made=not dict_of(event, "result").get("isError"))

    def _record_old(self, kind: str, payload: Entry, time: str) -> None:
        """Read a record of Kimi CLI, whose tools show their changes in their results."""
        if kind == "SubagentEvent":
            inner = dict_of(payload, "event")
            if inner.get("type") == "ToolResult":
                self._record_result(dict_of(inner, "payload"))
        elif kind in _OLD_ASKS:
            self._draft.ask(texts_of(payload.get("user_input")), time)
        elif kind == "StepBegin":
            self._step += 1
        elif kind in ("ContentPart", "ToolCall"):
            self._draft.answer(texts_of([payload]), time, self._step)
        elif kind == "ToolResult":
            self._record_result(payload)

    def _record_result(self, payload: Entry) -> None:
        result = dict_of(payload, "return_value")
        if not result.get("is_error"):
            shown = [block for block in dicts_of(result.get("display")) if block.get("type") == "diff"]
            paths = {text_of(block, "path"): False for block in shown if text_of(block, "path")}
            self._draft.edits.call(payload.get("tool_call_id"), paths)


def _is_typed(entry: Entry) -> bool:
    return dict_of(entry, "origin").get("kind") in (None, "user")


def _folder(session: Path) -> str:
    """The session's folder: from its state file, or from the known folders by their hash."""
    state = read_object(session / "state.json")
    if folder := text_of(state, "cwd") or text_of(state, "workDir"):
        return folder
    known = read_object(session.parent.parent.parent / "kimi.json")
    for folder in (text_of(entry, "path") for entry in dicts_of(known.get("work_dirs"))):
        if hashlib.md5(folder.encode("utf-8", "replace"), usedforsecurity=False).hexdigest() == session.parent.name:
            return folder
    return ""
