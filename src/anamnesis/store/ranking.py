"""How a store ranks notes for a question: by words and meaning in this process or in another, or by words alone."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from anamnesis.errors import InvalidArgument, StoreUnavailable
from anamnesis.log import log_once
from anamnesis.readonly import is_writable
from anamnesis.store import queries
from anamnesis.store.change_log import ChangeLog
from anamnesis.store.index import Connection, Index
from anamnesis.store.projects import by_any_name
from anamnesis.store.question import MODES, Question, Ranked, Ranker
from anamnesis.store.word_search import search

if TYPE_CHECKING:
    from anamnesis.meaning.vectors_file import VectorDatabase
    from anamnesis.store.meaning import Meaning
    from anamnesis.store.usage import Usage

FOLLOWER = "meaning"
_PENDING = """
    SELECT count(*) FROM changes JOIN memories ON memories.id = memory_id WHERE deleted_at IS NULL
    AND seq > coalesce((SELECT cursor FROM followers WHERE name = :name AND identity = :identity), 0)
"""

# Seconds that all searches of a script together wait for notes to be embedded: enough for some thousand short notes.
_SCRIPT_SECONDS = 60.0
# A backlog of at most this many notes is always embedded, so that a script finds the notes it has just written.
_FEW = 32
_FEW_SECONDS = 1.0

T = TypeVar("T")


class _Ask(Protocol):
    """Runs a query on the index, which is brought up to date first."""

    def __call__(self, query: Callable[[Connection], T], /) -> T: ...


class Ranking:
    """Ranks the notes of one index.

    `ranker` compares meaning in another process; without it, this process does. `embed_seconds` is the time that all
    questions together may wait for notes to be embedded; notes that are still pending are found by their words, and
    `wake` is called to have them embedded.
    """

    def __init__(self, index: Index, log: ChangeLog, ask: _Ask, usage: Callable[[], Usage], path: Path) -> None:
        self.ranker: Ranker | None = None
        self.embed_seconds = _SCRIPT_SECONDS
        self.wake: Callable[[], None] | None = None
        self._index = index
        self._log = log
        self._ask = ask
        self._usage = usage
        self._path = path
        self._fault = ""

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
            ranked = self.by_meaning(asked)
            if ranked is not None or asked.warm:
                return ranked or []
        if asked.like:
            from anamnesis.store.related import related_by_words  # that no search needs

            return self._ask(lambda db: related_by_words(db, asked))

        def find(db: Connection, asked: Question) -> list[Ranked]:
            return search(db, asked.query, by_any_name(db, asked.wanted), asked.k, explain=asked.explain)

        return self._ask(lambda db: _newer_first(db, asked, find))

    def by_meaning(self, asked: Question) -> list[Ranked] | None:
        """The best notes by words and meaning, or None where meaning cannot be compared now."""
        return (self.ranker or self.rank_here)(asked)

    def between(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
        """How close the notes of each pair are in meaning, without those that are not embedded."""
        if not pairs or not self._path.exists():
            return {}
        return self.safely(lambda: self._ask(lambda db: self.meaning.between(db, pairs))) or {}

    def embed_few(self) -> None:
        """Embed what changed, unless that is much; a large backlog is left to the daemon or to a search."""
        if self.pending() <= 8 * _FEW:
            self.safely(self.embed)

    def headings(self, ids: list[str]) -> dict[str, dict[str, str]]:
        """The type, project and title of these notes."""
        query = "SELECT id, type, project, title FROM memories WHERE id IN (SELECT value FROM json_each(:ids))"
        rows = self._index.read(lambda db: db.execute(query, {"ids": json.dumps(ids)}).fetchall())
        return {id: {"type": type, "project": project, "title": title} for id, type, project, title in rows}

    def embed(self, progress: Callable[[int], None] | None = None, stop: Callable[[], bool] = bool) -> int:
        """Embed the notes that changed, until `stop`; returns how many. `progress` gets the size of each batch."""
        return self.meaning.follow(progress, stop)

    def abandon(self) -> None:
        """Stop embedding for good."""
        if "meaning" in self.__dict__:
            self.meaning.abandon()

    def pending(self) -> int:
        """How many notes are not embedded yet."""
        from anamnesis.meaning.vectors_file import identity_of

        values = {"name": FOLLOWER, "identity": identity_of(self._path)}
        (count,) = self._index.read(lambda db: db.execute(_PENDING, values).fetchone())
        return int(count)

    def forget_deleted(self) -> int:
        """Remove the vectors and words of texts that no note holds any more; returns how many texts."""
        return self._with_vectors(lambda file: file.keep_only(self._hashes), 0)

    def erase(self) -> bool:
        """`forget_deleted`, and erase the remains in the file; False if another program prevented it."""
        try:
            return self._with_vectors(lambda file: file.erase(self._hashes), True)
        except sqlite3.DatabaseError:
            return not self._path.exists()  # a damaged file is deleted

    def damage(self) -> list[str]:
        """The damage that SQLite finds in vectors.db; empty if there is none."""
        return self._with_vectors(lambda file: file.damage(), [])

    def discard(self) -> None:
        """Delete vectors.db; all notes are embedded again."""
        self._with_vectors(lambda file: file.discard(), None)

    def rank_here(self, asked: Question) -> list[Ranked] | None:
        """The best notes by meaning, compared in this process.

        None if there are no notes, if the comparison fails, or if the question needs a loaded model and none is loaded.
        """
        if asked.warm and not ("meaning" in self.__dict__ and self.meaning.is_warm):
            return None
        if not self._index.read(lambda db: db.execute("SELECT 1 FROM memories LIMIT 1").fetchone()):
            return None
        if self.embed_seconds > 0 or (not self.wake and self.pending() <= _FEW):
            self.safely(lambda: self._embed_for(asked.query))
        if self.wake:
            self.wake()
        return self.safely(lambda: self.compare(asked))

    def _embed_for(self, query: str) -> None:
        """Embed what changed within the time limit, without the time to load the model, which the query needs too."""
        self.meaning.query(query)
        started = time.monotonic()
        deadline = started + (self.embed_seconds if self.embed_seconds > 0 else _FEW_SECONDS)
        if self.embed(stop=lambda: time.monotonic() >= deadline) > _FEW:
            self.embed_seconds -= time.monotonic() - started

    def safely(self, work: Callable[[], T]) -> T | None:
        """Run work that needs vectors; a failure returns None and is logged once."""
        try:
            return work()
        except (sqlite3.Error, OSError, ImportError, StoreUnavailable) as error:
            if str(error) != self._fault and is_writable(self._path.parent):  # else the log cannot be written either
                self._fault = str(error)
                log_once(self._index.path.parent, "meaning failed", reason=self._fault)
            return None

    def compare(self, asked: Question) -> list[Ranked] | None:
        """The best notes by words and meaning, or the notes that are close to a note."""
        from anamnesis.store.fused import fused_search
        from anamnesis.store.related import related_by_meaning

        if asked.like:
            return self._ask(lambda db: related_by_meaning(db, asked, self.meaning))

        def find(db: Connection, asked: Question) -> list[Ranked]:
            return fused_search(db, asked, self.meaning, self._usage())

        return self._ask(lambda db: _newer_first(db, asked, find))

    def _hashes(self) -> list[bytes]:
        return self._index.read(queries.file_hashes)

    def _with_vectors(self, work: Callable[[VectorDatabase], T], default: T) -> T:
        """Work on vectors.db with a separate connection, so that no search waits; `default` if the file is missing."""
        from anamnesis.meaning.vectors_file import VectorDatabase

        if not self._path.exists():
            return default
        with contextlib.closing(VectorDatabase(self._path)) as file:
            return work(file)


def _newer_first(db: Connection, asked: Question, find: Callable[[Connection, Question], list[Ranked]]) -> list[Ranked]:
    """The hits, with each outdated note after the newer one."""
    found = find(db, asked)
    if not found or not queries.has_marks(db):
        return found
    from anamnesis.store.linked import newer_first  # hooks need not import it

    return newer_first(db, asked, found, find)
