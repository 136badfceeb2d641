"""The notes that are close to a note, by meaning or else by shared words; and near-duplicates of a note."""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import TYPE_CHECKING

from anamnesis.errors import AnamnesisError
from anamnesis.notes import Memory
from anamnesis.notes.record import GLOBAL
from anamnesis.recall.pruning import any_of, rarest_first
from anamnesis.recall.query import telling_words
from anamnesis.store.projects import by_any_name
from anamnesis.store.question import Question, Ranked
from anamnesis.store.word_search import counted, search

if TYPE_CHECKING:
    from anamnesis.store.index import Connection
    from anamnesis.store.meaning import Meaning
    from anamnesis.store.store import MemoryStore

# Two notes about different things have a cosine of 0.43 at the median and 0.60 at most; two notes of agents about one
# topic have 0.70.
_RELATED = 0.62
# The number of rare words that represent a note, and the share of its own BM25 for them that a related note needs.
_MOST_WORDS = 32
_SHARE = 0.2
_MOST_ALIKE = 3
# Notes that say the same in other words have a cosine of at least 0.914, and notes of the same form with other facts
# of at most 0.897 (tests/store/alike.json). Of 128 conversations, 11 reach 0.905 with one that shares at most 52 % of
# its words; notes that say the same share 75 %.
_ALIKE = 0.905
_SAME_WORDS = 0.6
# Words with the same beginning count as one: retry, retries, retried.
_STEM = 6


def related_by_meaning(db: Connection, asked: Question, meaning: Meaning) -> list[Ranked] | None:
    """The k notes closest in meaning, the closest first; None if the note is not embedded."""
    import numpy as np

    from anamnesis.store.fused import newest_first, selected
    from anamnesis.store.word_search import ranked

    close = meaning.compare_with(db, asked.like)
    if close is None:
        return None
    (own,) = db.execute("SELECT number FROM memories WHERE id = :id", {"id": asked.like}).fetchone()
    is_wanted = np.isin(close.notes, selected(db, by_any_name(db, asked.wanted)))
    close = close.where(is_wanted & (close.notes != own) & (close.closeness >= _RELATED))
    best = np.argsort(-close.closeness, kind="stable")[: asked.k]
    return ranked(db, newest_first(db, close.notes[best], close.closeness[best]))


def related_by_words(db: Connection, asked: Question) -> list[Ranked]:
    """The k notes that hold most of the note's rare words. The note itself would have a score of 1."""
    query = (
        "SELECT number, m.title || ' ' || body FROM memories AS m JOIN memories_fts ON memories_fts.rowid = number"
        " WHERE m.id = :id"
    )
    row = db.execute(query, {"id": asked.like}).fetchone()
    number, text = row or (0, "")
    words = rarest_first([word for word in counted(db, Counter(telling_words(text))) if word.notes > 1])[:_MOST_WORDS]
    if not words:
        return []
    score = "SELECT -bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH :match AND rowid = :number"
    (own,) = db.execute(score, {"match": any_of(words), "number": number}).fetchone()
    found = search(db, " ".join(word.text for word in words), by_any_name(db, asked.wanted), asked.k + 1)
    others = [each._replace(score=each.score / own) for each in found if each.id != asked.like]
    return [each for each in others if each.score >= _SHARE][: asked.k]


def resembling(store: MemoryStore, note: Memory) -> list[Memory]:
    """Up to three notes of its project, or global ones, that say nearly the same as a note; the closest first.

    Without a loaded model it returns none, so that no write fails or waits.
    """
    hits = []
    try:
        for place in dict.fromkeys((note.project, GLOBAL)):
            hits += store.related(note.id, project=place, k=_MOST_ALIKE, warm=True)
    except (AnamnesisError, OSError, sqlite3.Error):
        return []
    alike = [hit for hit in hits if hit.score >= _ALIKE and _shared(hit.memory, note) >= _SAME_WORDS]
    return [hit.memory for hit in sorted(alike, key=lambda hit: hit.score, reverse=True)[:_MOST_ALIKE]]


def _shared(one: Memory, other: Memory) -> float:
    """The share of the shorter note's words that the other note has too."""
    words = [{word[:_STEM] for word in telling_words(f"{each.title} {each.body}")} for each in (one, other)]
    return len(words[0] & words[1]) / (min(map(len, words)) or 1)
