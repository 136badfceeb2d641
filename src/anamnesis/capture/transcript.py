"""Reads a Claude Code transcript of any version, as a stream. Never raises for what a file holds or lacks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from anamnesis.capture.asks import ask_in
from anamnesis.capture.edits import Edits
from anamnesis.capture.lines import LONGEST_TEXT, decode_line, may_matter, message_of, read_lines, texts_of
from anamnesis.capture.session import ParsedSession

_SUFFIX = ".jsonl"
# No answer has as many; it only keeps a damaged transcript from filling the memory.
_MOST_TEXTS = 100


def parse_transcript(path: str | Path, last_message: str = "") -> ParsedSession:
    """The session of a transcript; empty if there is none.

    At a hook, the transcript may still lack the last answer, which the agent hands over as `last_message`.
    """
    file = os.path.expanduser(path)
    reading = _Reading(Path(file).stem)
    for line in read_lines(file):
        reading.take(line)
    for subagent in _subagents(file):
        for line in read_lines(subagent):
            reading.take_edits(line)
    return reading.session(last_message.strip())


class _Reading:
    """What has been read of a transcript so far."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._named = False
        self._first = dict.fromkeys(("sessionId", "timestamp", "cwd", "gitBranch"), "")
        self._ended_at = ""
        self._prompts: list[str] = []
        self._edits = Edits()
        self._message: object = None
        self._model = ""
        self._turns = 0
        # The texts of the last message that has any, and its id.
        self._answer: list[str] = []
        self._answered: object = None
        self._empty = True

    def take(self, line: bytes) -> None:
        """Read a line of the main file. Until id and start are known, every line may tell them."""
        placed = self._first["sessionId"] and self._first["timestamp"]
        if placed and not may_matter(line, self._edits.waiting):
            return
        entry = decode_line(line)
        if entry is None:
            return
        self._place(entry)
        self._edits.take(entry)
        spoken = entry.get("type") == "assistant"
        if spoken and not entry.get("isSidechain"):
            self._take_answer(entry)
        elif ask := ask_in(entry):
            self._prompts.append(ask)
            spoken = True
        if spoken and isinstance(stamp := entry.get("timestamp"), str):
            self._ended_at = stamp

    def take_edits(self, line: bytes) -> None:
        """Read a line of a subagent's file: its edits count, its prompts are not the user's."""
        if may_matter(line, self._edits.waiting) and (entry := decode_line(line)):
            self._edits.take(entry)

    def session(self, last_message: str) -> ParsedSession:
        """The session as far as it was read."""
        outcome = "\n".join(self._answer)
        if last_message and last_message not in outcome:
            outcome = last_message
        touched, created = self._edits.touched(self._first["cwd"])
        return ParsedSession(
            first_prompt=self._prompts[0] if self._prompts else "",
            last_outcome=outcome[:LONGEST_TEXT],
            files_touched=touched,
            git_branch=self._first["gitBranch"],
            cwd=self._first["cwd"],
            session_id=self._session_id(),
            prompts=self._prompts,
            files_created=created,
            model=self._model,
            started_at=self._first["timestamp"],
            ended_at=self._ended_at,
            turns=self._turns,
        )

    def _place(self, entry: dict[str, Any]) -> None:
        """Note where and when a line was written."""
        self._empty = False
        for key, known in self._first.items():
            value = entry.get(key)
            # git's HEAD is what Claude Code writes where there is no branch
            if not known and isinstance(value, str) and value != "HEAD":
                self._first[key] = value
        self._named = self._named or entry.get("sessionId") == self._name

    def _session_id(self) -> str:
        """A fork starts with lines of the session it came from: the file's own name wins if a line has it."""
        if self._named:
            return self._name
        return self._first["sessionId"] or ("" if self._empty else self._name)

    def _take_answer(self, entry: dict[str, Any]) -> None:
        """Note what the model said; one message comes in several lines, also with other lines between."""
        message = message_of(entry)
        model = message.get("model")
        if model == "<synthetic>" or entry.get("isApiErrorMessage"):
            return
        self._model = model if isinstance(model, str) and model else self._model
        name = message.get("id") or object()
        self._turns += name != self._message
        self._message = name
        for text in texts_of(message.get("content")):
            if name != self._answered:
                self._answer, self._answered = [], name
            if (text := text[:LONGEST_TEXT]) not in self._answer and len(self._answer) < _MOST_TEXTS:
                self._answer.append(text)


def _subagents(file: str) -> list[str]:
    """The files of a session's subagents, which today's versions keep beside the main one."""
    folder = Path(file.removesuffix(_SUFFIX), "subagents")
    if not file.endswith(_SUFFIX) or not folder.is_dir():
        return []
    return sorted(str(path) for path in folder.rglob(f"agent-*{_SUFFIX}"))
