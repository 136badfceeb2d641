"""Finds observations by the meaning of their notes, where Engram's search finds nothing."""

from __future__ import annotations

import sqlite3

from anamnesis.bridge import journal
from anamnesis.engram.record import SearchResult
from anamnesis.engram.search import Filters, only
from anamnesis.project import GLOBAL
from anamnesis.store import MemoryStore
from anamnesis.store.queries import Filter
from anamnesis.store.question import Question, is_weak

# Candidates: the filters of Engram's search apply to observations, so they are checked after the notes are ranked.
_CANDIDATES = 100


def recall(store: MemoryStore, db: sqlite3.Connection, query: str, filters: Filters) -> list[SearchResult]:
    """The observations whose notes answer the query, best first.

    Weak ones are left out: clients of Engram take every result for a match. None if meaning is not compared now, and
    none for a topic key: it names one memory, and others with words of it are no answer.
    """
    if "/" in query and len(query.split()) == 1:
        return []
    ranks: dict[str, float] = {}
    project = filters["project"]
    for place in (project, GLOBAL) if project else (None,):
        for hit in store.ranking.by_meaning(Question(query, Filter(place), _CANDIDATES)) or ():
            if hit.fit is not None and not is_weak(hit.fit):
                ranks[hit.id] = -hit.score
    twins = journal.twins(db, of_notes=ranks) if ranks else []
    return only(db, {twin.observation_id: ranks[twin.note_id] for twin in twins}, filters) if twins else []
