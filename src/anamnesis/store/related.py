"""The notes that are close to a note: by meaning where it is embedded, else by the words that they share."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from anamnesis.recall.pruning import any_of, rarest_first
from anamnesis.recall.query import telling_words
from anamnesis.store.projects import by_any_name
from anamnesis.store.question import Question, Ranked
from anamnesis.store.search import counted, search

if TYPE_CHECKING:
    from anamnesis.store.index import Connection
    from anamnesis.store.meaning import Meaning

# Two notes about different things have a cosine of 0.43 at the median and 0.60 at the most; two about one topic, of
# the kind that agents write, 0.70.
_RELATED = 0.62
# How many rare words stand for a note, and which part of its own BM25 for these words another note needs.
_MOST_WORDS = 32
_SHARE = 0.15


def related_by_meaning(db: Connection, asked: Question, meaning: Meaning) -> list[Ranked] | None:
    """The k notes closest in meaning, the closest first; None if the note is not embedded."""
    import numpy as np

    from anamnesis.store.fused import newest_first, selected
    from anamnesis.store.search import ranked

    close = meaning.compare_with(db, asked.like)
    if close is None:
        return None
    (own,) = db.execute("SELECT number FROM memories WHERE id = :id", {"id": asked.like}).fetchone()
    is_wanted = np.isin(close.notes, selected(db, by_any_name(db, asked.wanted)))
    close = close.where(is_wanted & (close.notes != own) & (close.closeness >= _RELATED))
    best = np.argsort(-close.closeness, kind="stable")[: asked.k]
    return ranked(db, newest_first(db, close.notes[best], close.closeness[best]))


def related_by_words(db: Connection, asked: Question) -> list[Ranked]:
    """The k notes that hold most of what is rare in the note. A score of 1 is that of the note itself."""
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
