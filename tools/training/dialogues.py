"""Pairs from conversations: facts with the turns that mention them, turns with their neighbours, questions. Pure."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Iterator
from typing import Any

from tools.training.pairs import Pair

_FUNCTION_WORDS = re.findall(
    r"\w+",
    "i a an the my me is am are was have has had to of in and for with on at it do like love that be not very who from"
    " as so but you your his her their by new",
)
_MOST_SUMMARY = 400


def persona_pairs(source: str, text: str, chance: random.Random) -> Iterator[Pair]:
    """Synthetic-Persona-Chat (CSV): facts about a person with the turns that mention them, and turns in context."""
    for row in csv.DictReader(io.StringIO(text)):
        turns = [line.strip() for line in _column(row, "onversation").split("\n") if len(line.split()) > 3]
        for speaker in "12":
            own = [number for number, turn in enumerate(turns) if turn.lower().startswith(f"user {speaker}")]
            for fact in _column(row, "ersona", speaker).split("\n"):
                at = _mention(fact, turns, own)
                if at is not None:
                    context = turns[at] if chance.random() < 0.5 else "\n".join(turns[max(0, at - 1) : at + 3])
                    yield Pair(source, fact, context)
        for _ in range(3):
            if len(turns) > 5:
                yield _turn_pair(f"{source} turns", turns, chance)


def task_pairs(source: str, text: str, chance: random.Random) -> Iterator[Pair]:
    """Taskmaster (JSON): turns with their neighbours."""
    for dialogue in json.loads(text):
        if not isinstance(dialogue, dict):
            continue
        said = [each for each in dialogue.get("utterances", []) if each.get("text")]
        turns = [f"{each['speaker'].title()}: {each['text']}" for each in said]
        for _ in range(2):
            if len(turns) >= 5 and len((pair := _turn_pair(source, turns, chance)).query.split()) >= 5:
                yield pair


def meeting_pairs(source: str, text: str, _chance: random.Random) -> Iterator[Pair]:
    """QMSum (JSON or JSON lines): questions and short summaries, with the relevant part of the transcript."""
    for meeting in _meetings(text):
        turns = [f"{each['speaker']}: {each['content']}" for each in meeting["meeting_transcripts"]]
        for asked in meeting.get("specific_query_list", []):
            for first, last in asked["relevant_text_span"][:1]:
                said = "\n".join(turns[int(first) : int(last) + 1])
                yield Pair(source, asked["query"], said)
                if len(asked["answer"]) <= _MOST_SUMMARY:
                    yield Pair(source, asked["answer"], said)


def _meetings(text: str) -> list[dict[str, Any]]:
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def _column(row: dict[str, str], *parts: str) -> str:
    """The value of the column whose name contains these parts; names differ between versions of the files."""
    return next((value or "" for name, value in row.items() if name and all(part in name for part in parts)), "")


def _mention(fact: str, turns: list[str], own: list[int]) -> int | None:
    """The speaker's turn with the most words of a fact, if it has at least half of them."""
    wanted = _words(fact).difference(_FUNCTION_WORDS)
    best = max(own, key=lambda number: len(wanted & _words(turns[number])), default=None)
    return best if best is not None and wanted and 2 * len(wanted & _words(turns[best])) >= len(wanted) else None


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def _turn_pair(source: str, turns: list[str], chance: random.Random) -> Pair:
    at = chance.randrange(1, len(turns) - 2)
    return Pair(source, turns[at], "\n".join(turns[max(0, at - 3) : at] + turns[at + 1 : at + 4]))
