"""LoCoMo's conversations as notes, by sessions or by turns, and its questions with the notes that hold the evidence.

The data may not be shipped (CC BY-NC 4.0), so the user provides the file. A session is a note with its date as title
and a line for each turn; or each turn is a note. The caption of a picture follows the turn's text in brackets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anamnesis.errors import InvalidArgument
from anamnesis.eval.cases import EvalCase, read_text
from anamnesis.notes import Memory

# Questions of category 5 are adversarial: no turn answers them, and published figures leave them out.
_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_SESSION = re.compile(r"session_\d+")
_TURN = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as the notes of a separate memory, and its questions."""

    name: str
    notes: list[Memory]
    cases: list[EvalCase]


def read_locomo(path: Path, *, turns: bool = False) -> list[Conversation]:
    """The conversations of a LoCoMo file; a note is a session, or a single turn."""
    text = read_text(path)
    try:
        found = [_conversation(each, turns) for each in json.loads(text)]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        message = f"{path} is not a file of LoCoMo's conversations."
        raise InvalidArgument(message, "Its own is called locomo10.json.") from error
    if not any(each.cases for each in found):
        raise InvalidArgument(f"{path} has no questions with evidence.")
    return found


def _conversation(data: dict[str, Any], turns: bool) -> Conversation:
    name = str(data["sample_id"])
    places: dict[str, str] = {}
    texts: dict[str, tuple[str, list[str]]] = {}
    for turn, date, text in _said(data["conversation"]):
        places[turn] = f"{name}-{turn if turns else turn.partition(':')[0]}".replace(":", "-")
        texts.setdefault(places[turn], (date, []))[1].append(text)
    notes = [Memory(id, "episodic", date, "\n".join(lines), name) for id, (date, lines) in texts.items()]
    return Conversation(name, notes, [*_cases(data["qa"], places)])


def _said(conversation: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The id, date and text of each turn."""
    for name, said in conversation.items():
        if _SESSION.fullmatch(name):
            for turn in said:
                seen = turn.get("blip_caption")
                text = f"{turn['speaker']}: {turn['text']}" + (f" [{seen}]" if seen else "")
                yield turn["dia_id"], str(conversation[f"{name}_date_time"]), text


def _cases(questions: list[dict[str, Any]], places: dict[str, str]) -> Iterator[EvalCase]:
    """The questions with known evidence: some name turns that do not exist, and some name none."""
    for each in questions:
        named = [turn for text in each.get("evidence", ()) for turn in _TURN.findall(text)]
        ids = list(dict.fromkeys(places[turn] for turn in named if turn in places))
        if ids and each["category"] in _KINDS:
            yield EvalCase(str(each["question"]), ids, _KINDS[each["category"]])
