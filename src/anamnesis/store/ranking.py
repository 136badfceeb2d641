"""How a store ranks notes for a question: by words and meaning in this process or in another, or by words alone."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from anamnesis.errors import InvalidArgument, StoreUnavailable
from anamnesis.store.change_log import ChangeLog
from anamnesis.store.index import Connection, Index
from anamnesis.store.projects import by_any_name
from anamnesis.store.question import MODES, Question, Ranked, Ranker
from anamnesis.store.related import related_by_meaning, related_by_words
from anamnesis.store.search import search

if TYPE_CHECKING:
    from anamnesis.store.meaning import Meaning

T = TypeVar("T")


class _Ask(Protocol):
    """Runs a query on the index, which is brought up to date first."""

    def __call__(self, query: Callable[[Connection], T]) -> T: ...


class Ranking:
    """Ranks the notes of one index.

    `ranker` compares meaning for this process, which otherwise does it itself. `embed_seconds` limits the time for
    which a question waits for notes that are not embedded yet; those that are not are found by their words.
    """

    def __init__(self, index: Index, log: ChangeLog, ask: _Ask, path: Path) -> None:
        self.ranker: Ranker | None = None
        self.embed_seconds = math.inf
        self._index = index
        self._log = log
        self._ask = ask
        self._path = path

    @cached_property
    def meaning(self) -> Meaning:
        """The vectors of the notes."""
        from anamnesis.store.meaning import Meaning  # numpy: 100 ms that hooks and most commands need not spend

        return Meaning(self._index, self._log, self._path)

    def close(self) -> None:
        if "meaning" in self.__dict__:
            self.meaning.close()

    def rank(self, asked: Question) -> list[Ranked]:
        """The best notes for a question, as they were indexed."""
        if asked.mode not in MODES:
            raise InvalidArgument(f"mode {asked.mode!r} is not one of {', '.join(MODES)}.")
        if asked.mode != "words":
            ranked = (self.ranker or self.rank_here)(asked)
            if ranked is not None or asked.warm:
                return ranked or []
        if asked.like:
            return self._ask(lambda db: related_by_words(db, asked))
        return self._ask(lambda db: search(db, asked.query, by_any_name(db, asked.wanted), asked.k))

    def headings(self, ids: list[str]) -> dict[str, dict[str, str]]:
        """The type, project and title of these notes."""
        query = "SELECT id, type, project, title FROM memories WHERE id IN (SELECT value FROM json_each(:ids))"
        rows = self._index.read(lambda db: db.execute(query, {"ids": json.dumps(ids)}).fetchall())
        return {id: {"type": type, "project": project, "title": title} for id, type, project, title in rows}

    def embed(self, progress: Callable[[int], None] | None = None, stop: Callable[[], bool] = bool) -> int:
        """Embed the notes that changed, until `stop`; returns how many were. `progress` gets each batch's size."""
        return self.meaning.follow(progress, stop)

    def rank_here(self, asked: Question) -> list[Ranked] | None:
        """The best notes by meaning, compared in this process; None where vectors can be neither read nor written."""
        if asked.warm and not ("meaning" in self.__dict__ and self.meaning.is_warm):
            return None
        from anamnesis.store.fused import fused_search

        deadline = time.monotonic() + self.embed_seconds
        try:
            self.embed(stop=lambda: time.monotonic() >= deadline)
            if asked.like:
                self.meaning.embed_note(asked.like)
                return self._ask(lambda db: related_by_meaning(db, asked, self.meaning))
            return self._ask(lambda db: fused_search(db, asked, self.meaning))
        except (sqlite3.Error, OSError, StoreUnavailable):
            return None
