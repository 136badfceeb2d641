"""Codex: rollouts of `{timestamp, type, payload}`, in which messages and edits are recorded more than once.

Typed text is in events (`user_message`, since 0.147 `item_completed`) and also, mixed with injected context, in the
messages for the model. The messages count only if there are no events.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import Paths, patched
from anamnesis.capture.entries import (
    Entry,
    answers,
    decode_line,
    decode_text,
    dict_of,
    text_of,
    texts_of,
    type_of,
)

_PAYLOAD = re.compile(rb'"payload"\s*:\s*\{\s*"type"\s*:\s*"(\w+)"')
# The payload's type is within these bytes if it comes first.
_PAYLOAD_START = 500
_RESULTS = (b"function_call_output", b"custom_tool_call_output")
_RESULT_OF = b'"call_id":"'
_RELEVANT_TYPES = (
    *(b"message", b"function_call", b"custom_tool_call", b"local_shell_call"),
    *(b"user_message", b"patch_apply_end", b"thread_rolled_back"),
)
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
# Injected context: a message that is one tagged block, or the project's instructions.
_INJECTED = re.compile(r"<([\w-]+)[\s>].*</\1>|# AGENTS\.md instructions\b.*", re.DOTALL)
_IDE_ASK = "## My request for Codex:"
_BEGIN = "*** Begin Patch"
_DONE = "Success. Updated the following files:"


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    parser = _RolloutParser(draft)
    for line in lines:
        if _may_matter(line, draft.edits.waiting) and (entry := decode_line(line)) and not parser.read(entry):
            return
    parser.finish()
    draft.place(session_id=path.stem if draft.turns or draft.asks else "")


def _may_matter(line: bytes, waiting: Collection[str]) -> bool:
    kind = type_of(line)
    if kind not in (b"response_item", b"event_msg"):
        return kind in (None, b"session_meta", b"turn_context")
    found = _PAYLOAD.search(line, 0, _PAYLOAD_START)
    if found is None:
        return True
    if found[1] in _RESULTS:
        return answers(line, _RESULT_OF, waiting)
    if found[1] == b"item_completed":
        return b'"UserMessage"' in line or b'"FileChange"' in line
    return found[1] in _RELEVANT_TYPES


class _RolloutParser:
    """Parses one rollout, entry by entry, into a draft."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        # The user's messages for the model, until an event with typed text is read.
        self._sent: list[list[str]] | None = []
        # The last ask: the kind of its event, the turn and the texts.
        self._last_ask: tuple[str, int, list[str]] = ("", 0, [])

    def read(self, entry: Entry) -> bool:
        """Read an entry; False if the session is not a person's, so the rest can be skipped."""
        kind, payload, time = entry.get("type"), dict_of(entry, "payload"), text_of(entry, "timestamp")
        if kind == "session_meta":
            return self._start(payload)
        if kind == "turn_context":
            self._draft.place(cwd=text_of(payload, "cwd"))
            self._draft.model = text_of(payload, "model") or self._draft.model
        elif kind == "response_item":
            self._record_item(payload, time)
        elif kind == "event_msg":
            self._record_event(payload, time)
        return True

    def finish(self) -> None:
        for texts in self._sent or ():
            self._draft.ask(texts)

    def _start(self, meta: Entry) -> bool:
        """Read the start. A fork begins with its own start, then repeats its origin's lines, including that start."""
        if self._draft.session_id:
            return True
        self._draft.place(
            session_id=text_of(meta, "id"),
            cwd=text_of(meta, "cwd"),
            branch=text_of(dict_of(meta, "git"), "branch"),
            started_at=text_of(meta, "timestamp"),
        )
        source, thread = meta.get("source"), meta.get("thread_source")
        own = any(word in source for word in ("subagent", "internal")) if isinstance(source, str | dict) else False
        return not own and thread in (None, "", "user")

    def _record_item(self, item: Entry, time: str) -> None:
        kind, draft = item.get("type"), self._draft
        if kind == "message" and item.get("role") == "user":
            texts = texts_of(item.get("content"), ("input_text",))
            texts = [text for text in texts if not _INJECTED.fullmatch(text)]
            if texts and self._sent is not None:
                self._sent.append(texts)
                draft.mark_time(time)
        elif kind == "message" and item.get("role") == "assistant":
            draft.answer(texts_of(item.get("content"), ("output_text",)), time)
        elif kind in _CALLS:
            draft.answer(time=time)
            draft.edits.call(item.get("call_id"), _patched_by(item))
        else:
            draft.edits.result(text_of(item, "call_id"), made=_DONE in str(item.get("output")))

    def _record_event(self, event: Entry, time: str) -> None:
        kind, item = event.get("type"), dict_of(event, "item")
        if kind == "user_message":
            if event.get("kind") in (None, "plain"):
                text = text_of(event, "message")
                self._record_ask("message", [text.rpartition(_IDE_ASK)[2].strip()], time)
        elif item.get("type") == "UserMessage":
            texts = texts_of(item.get("content"))
            self._record_ask("item", [text.rpartition(_IDE_ASK)[2].strip() for text in texts], time)
        elif kind == "patch_apply_end":
            self._record_changes(text_of(event, "call_id"), event, made=event.get("success") is not False)
        elif item.get("type") == "FileChange":
            self._record_changes(text_of(item, "id"), item, made=True)
        elif kind == "thread_rolled_back" and isinstance(count := event.get("num_turns"), int) and count > 0:
            del self._draft.asks[-count:]

    def _record_ask(self, event: str, texts: list[str], time: str) -> None:
        """Record an ask once, although both kinds of events may contain it."""
        self._sent = None
        before, turn, same = self._last_ask
        self._last_ask = (event, self._draft.turns, texts)
        if event == before or turn != self._draft.turns or texts != same:
            self._draft.ask(texts, time)

    def _record_changes(self, call: str, event: Entry, *, made: bool) -> None:
        """Record the files that a patch changed: more complete than the tool's call, but unordered."""
        paths: Paths = {}
        for path, change in sorted(dict_of(event, "changes").items()):
            change = change if isinstance(change, dict) else {}
            paths[path] = change.get("type") == "add"
            paths |= {moved: False for moved in [text_of(change, "move_path")] if moved}
        self._draft.edits.call(call, paths)
        self._draft.edits.result(call, made=made and event.get("status") not in ("failed", "declined"))


def _patched_by(call: Entry) -> Paths:
    """The files of the patch in a call of the patch tool, or of a shell with a patch in its arguments."""
    given = text_of(call, "input")
    if call.get("type") == "custom_tool_call":
        return patched(given) if call.get("name") == "apply_patch" else {}
    arguments = text_of(call, "arguments")
    if _BEGIN not in arguments:
        return {}
    values = list(decode_text(arguments).values())
    texts = [text for value in values for text in (value if isinstance(value, list) else [value])]
    return {path: new for text in texts if isinstance(text, str) for path, new in patched(text).items()}
