"""The search by words and meaning together: exact, over all notes that a filter selects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anamnesis.meaning.fusion import fused, words_weight
from anamnesis.meaning.matrix import Close, Numbers
from anamnesis.meaning.model import Vectors
from anamnesis.store.projects import by_any_name
from anamnesis.store.queries import Filter
from anamnesis.store.question import Question, Ranked
from anamnesis.store.search import ranked
from anamnesis.store.word_scores import Compared, telling, word_scores

if TYPE_CHECKING:
    from anamnesis.store.index import Connection
    from anamnesis.store.meaning import Meaning

# Of notes that score alike, this many are compared by their age.
_TIED = 24


def fused_search(db: Connection, asked: Question, meaning: Meaning) -> list[Ranked]:
    """The k best notes, the newest first on a tie. A note that is not embedded yet is as close as the average."""
    query, k = asked.query, asked.k
    notes = _selected(db, by_any_name(db, asked.wanted))
    if not len(notes) or not k:
        return []
    places = np.full(int(notes[-1]) + 1, -1)
    places[notes] = np.arange(len(notes))
    close = _within(meaning.compare(db, meaning.query(query)), places)
    closeness = np.full(len(notes), close.closeness.mean() if len(close.notes) else 0, np.float32)
    closeness[places[close.notes]] = close.closeness
    texts = np.full(len(notes), -1)
    long = close.counts > 1
    texts[places[close.notes[long]]] = close.texts[long]
    of_note = of_passage = np.zeros(len(notes), np.float32)
    weight = 0.0
    if asked.mode == "fused" and (words := telling(db, query)).holders:
        weight = words_weight(closeness, words.holders, words.total)
        compared = Compared(notes, places, closeness, texts)
        of_note, of_passage = word_scores(db, meaning.file, words, compared, weight, k + _TIED)
    score = fused(closeness, of_note, of_passage, weight)
    best = np.argsort(-score, kind="stable")[: k + _TIED]
    return ranked(db, _newest_first(db, notes[best], score[best])[:k])


def _selected(db: Connection, wanted: Filter) -> Numbers:
    """The numbers of the notes that a filter selects and no other note supersedes, in order."""
    selected: dict[Filter, Numbers] = db.learned().selected
    if wanted not in selected:
        rows = db.execute(
            f"SELECT m.number FROM memories AS m WHERE {wanted.sql}"
            " AND NOT EXISTS (SELECT 1 FROM supersessions WHERE superseded_id = m.id) ORDER BY m.number",
            wanted.values,
        )
        selected[wanted] = np.fromiter((number for (number,) in rows), np.int64)
    return selected[wanted]


def _within(close: Close, places: Numbers) -> Close:
    """Of the compared notes, those that are selected."""
    known = close.notes < len(places)
    known[known] = places[close.notes[known]] >= 0
    return close.where(known)


def _newest_first(db: Connection, notes: Numbers, scores: Vectors) -> list[tuple[float, str, str, int]]:
    """The notes as `ranked` takes them: with their scores, lower is better, their times and their ids."""
    query = "SELECT updated_at, id FROM memories WHERE number = :number"
    found = []
    for number, score in zip(notes.tolist(), scores.tolist(), strict=True):
        updated_at, id = db.execute(query, {"number": number}).fetchone()
        found.append((-score, updated_at, id, number))
    newest = sorted(found, key=lambda row: row[1:3], reverse=True)
    return sorted(newest, key=lambda row: round(row[0], 6))
