"""`python -m bench.recall FILE`: how much of the evidence searches and prompts find in LoCoMo's conversations."""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anamnesis.inject import select_recall
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore

_EVERYDAY = (
    *("continue", "yes", "thanks, that works", "fix the failing test", "run the tests again", "commit this"),
    *("what does this function do?", "refactor this file", "add a test for it", "why does it fail?", "looks good"),
    *("can you explain that?", "make it faster", "write the docs", "update the readme", "undo the last change"),
    *("please push it", "there is an error in the log", "rename the variable", "start over"),
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as notes, by turns or by sessions, and its questions with the notes that hold the evidence."""

    name: str
    notes: dict[str, str]
    questions: list[tuple[str, set[str]]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument("data", type=Path, help="locomo.json, or a part of it")
    conversations = json.loads(parser.parse_args().data.read_text("utf-8"))
    print("| notes | R@5 | R@10 | MRR | told of its own | of these with evidence | of others | everyday |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for unit in ("session", "turn"):
        read = [_conversation(each, unit) for each in conversations]
        figures = [*_searched(read), *_prompted(read)]
        print(f"| {unit} | {' | '.join(f'{100 * each:.1f}' for each in figures)} |", flush=True)
    return 0


def _conversation(data: dict[str, Any], unit: str) -> Conversation:
    turns: dict[str, str] = {}
    for name, said in data["conversation"].items():
        if re.fullmatch(r"session_\d+", name):
            turns |= {turn["dia_id"]: f"{turn['speaker']}: {turn['text']}" for turn in said}
    notes: dict[str, str] = {}
    for turn, text in turns.items():
        place = turn.partition(":")[0] if unit == "session" else turn
        notes[place] = f"{notes[place]}\n{text}" if place in notes else text
    questions = []
    for asked in data["qa"]:
        evidence = {turn if unit == "turn" else turn.partition(":")[0] for turn in asked["evidence"] if turn in turns}
        if evidence:
            questions.append((asked["question"], evidence))
    return Conversation(data["sample_id"], notes, questions)


def _searched(conversations: list[Conversation]) -> Iterator[float]:
    """R@5, R@10 and MRR, each conversation in a memory of its own."""
    recalls: dict[int, list[float]] = {5: [], 10: []}
    ranks = []
    for conversation in conversations:
        with tempfile.TemporaryDirectory() as folder, MemoryStore(folder) as store:
            store.put_all(_notes(conversation))
            for question, evidence in conversation.questions:
                found = [note.title for note in store.search(question, k=50)]
                for k, recall in recalls.items():
                    recall.append(len(evidence & set(found[:k])) / len(evidence))
                ranks.append(next((1 / rank for rank, title in enumerate(found, 1) if title in evidence), 0.0))
    return (sum(figures) / len(figures) for figures in (*recalls.values(), ranks))


def _prompted(conversations: list[Conversation]) -> Iterator[float]:
    """How often prompts are answered, all conversations in one memory, each a project."""
    own, right, other, everyday = [], [], [], []
    with tempfile.TemporaryDirectory() as folder, MemoryStore(folder) as store:
        store.put_all(note for each in conversations for note in _notes(each))
        for here, there in zip(conversations, [*conversations[1:], conversations[0]], strict=True):
            for question, evidence in here.questions:
                told = select_recall(store, question, project=here.name, known=set())
                own.append(bool(told))
                if told:
                    right.append(bool(evidence & {note.title for note in told}))
                other.append(bool(select_recall(store, question, project=there.name, known=set())))
            everyday += [bool(select_recall(store, ask, project=here.name, known=set())) for ask in _EVERYDAY]
    return (sum(answers) / len(answers) for answers in (own, right, other, everyday))


def _notes(conversation: Conversation) -> Iterator[Memory]:
    for title, text in conversation.notes.items():
        name = f"{conversation.name}-{title}".replace(":", "-")
        yield Memory(name, "semantic", title, text, conversation.name)


if __name__ == "__main__":
    raise SystemExit(main())
