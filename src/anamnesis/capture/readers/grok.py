"""Grok: updates of the Agent Client Protocol, in `sessions/<folder>/<id>/updates.jsonl`. Texts arrive in chunks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.entries import Entry, decode_line, dict_of, dicts_of, moment, read_object, text_of, texts_of

_ASK, _ANSWER = "user_message_chunk", "agent_message_chunk"


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    summary = read_object(path.with_name("summary.json"))
    if summary.get("session_kind") == "subagent":
        return
    parser = _UpdateParser(draft)
    for line in lines:
        if entry := decode_line(line):
            parser.read(dict_of(dict_of(entry, "params"), "update"), moment(entry.get("timestamp")))
    parser.finish()
    draft.place(session_id=path.parent.name, cwd=text_of(dict_of(summary, "info"), "cwd"))
    draft.place(branch=text_of(summary, "head_branch"))
    draft.model = text_of(summary, "current_model_id")


class _UpdateParser:
    """Parses updates into a draft. Consecutive chunks of one kind form one text."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._kind = self._time = ""
        self._chunks: list[str] = []

    def read(self, update: Entry, time: str) -> None:
        kind = text_of(update, "sessionUpdate")
        if not kind:
            return
        if kind != self._kind:
            self.finish()
        self._kind, self._time = kind, time
        if kind in (_ASK, _ANSWER):
            self._chunks.append(text_of(dict_of(update, "content"), "text"))
        elif kind == "tool_call":
            self._draft.answer(time=time)
        elif kind == "tool_call_update" and update.get("status") == "completed":
            self._draft.edits.call(None, _changed(update))

    def finish(self) -> None:
        """Record the text of the chunks read so far."""
        texts = texts_of("".join(self._chunks))
        if self._kind == _ASK:
            self._draft.ask(texts, self._time)
        elif self._kind == _ANSWER:
            self._draft.answer(texts, self._time)
        self._chunks = []


def _changed(update: Entry) -> dict[str, bool]:
    """The files that a tool changed; a new one has no old text."""
    diffs = [block for block in dicts_of(update.get("content")) if block.get("type") == "diff"]
    return {text_of(block, "path"): not block.get("oldText") for block in diffs if text_of(block, "path")}
