"""The search by words and meaning together: exact, over all notes that a filter selects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anamnesis.meaning.fusion import fused

# isort: split
# After `anamnesis.meaning`, which imports numpy with one thread.
import numpy as np

from anamnesis.meaning.matrix import Close, Numbers
from anamnesis.meaning.model import Vectors
from anamnesis.recall.pruning import Word, any_of, rarest_first
from anamnesis.recall.query import asked
from anamnesis.store.queries import Filter
from anamnesis.store.search import MOST_ASKED, Ranked, counted, ranked

if TYPE_CHECKING:
    from anamnesis.store.index import Connection
    from anamnesis.store.meaning import Meaning

# Of notes that score alike, this many are compared by their age.
_TIED = 24


def fused_search(db: Connection, query: str, vector: Vectors, wanted: Filter, k: int, meaning: Meaning) -> list[Ranked]:
    """The k best notes, the newest first on a tie. A note that is not embedded yet is as close as the average."""
    notes = _selected(db, wanted)
    if not len(notes) or not k:
        return []
    places = np.full(int(notes[-1]) + 1, -1)
    places[notes] = np.arange(len(notes))
    close = _within(meaning.compare(db, vector), places)
    closeness = np.full(len(notes), close.closeness.mean() if len(close.notes) else 0, np.float32)
    closeness[places[close.notes]] = close.closeness
    words = _telling(db, query)
    of_note = np.zeros(len(notes), np.float32)
    of_passage = of_note
    if words:
        match = any_of(words)
        held, scores = _scored(db, match)
        is_within = (held < len(places)) & (places[np.minimum(held, len(places) - 1)] >= 0)
        of_note[places[held[is_within]]] = scores[is_within]
        of_passage = of_note.copy()
        long = close.counts > 1
        of_passage[places[close.notes[long]]] = _of_texts(close.texts[long], *meaning.file.passage_scores(match))
    score = fused(closeness, of_note, of_passage, [word.notes for word in words])
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


def _telling(db: Connection, query: str) -> list[Word]:
    """The words that a query asks for, without those that half of the notes hold, unless it has no other."""
    (total,) = db.execute("SELECT coalesce(max(number), 0) FROM memories").fetchone()
    known = rarest_first(counted(db, asked(query).terms))[:MOST_ASKED]
    return [word for word in known if word.is_telling(total)] or known


def _scored(db: Connection, match: str) -> tuple[Numbers, Vectors]:
    """The notes that match, with their BM25; higher is better."""
    query = "SELECT rowid, -bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH :match"
    rows = np.array(db.execute(query, {"match": match}).fetchall(), np.float64).reshape(-1, 2)
    return rows[:, 0].astype(np.int64), rows[:, 1].astype(np.float32)


def _of_texts(wanted: Numbers, texts: Numbers, scores: Vectors) -> Vectors:
    """The scores of texts in the order in which they are wanted; 0 for those without one."""
    if not len(texts):
        return np.zeros(len(wanted), np.float32)
    at = np.minimum(np.searchsorted(texts, wanted), len(texts) - 1)
    return np.where(texts[at] == wanted, scores[at], np.float32(0))


def _newest_first(db: Connection, notes: Numbers, scores: Vectors) -> list[tuple[float, str, str, int]]:
    """The notes as `ranked` takes them: with their scores, lower is better, their times and their ids."""
    query = "SELECT updated_at, id FROM memories WHERE number = :number"
    found = []
    for number, score in zip(notes.tolist(), scores.tolist(), strict=True):
        updated_at, id = db.execute(query, {"number": number}).fetchone()
        found.append((-score, updated_at, id, number))
    newest = sorted(found, key=lambda row: row[1:3], reverse=True)
    return sorted(newest, key=lambda row: round(row[0], 6))
