"""The meaning of the notes: a follower of the change log embeds their texts; a search compares them with a query."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.meaning.fusion import likeness
from anamnesis.meaning.matrix import Close, Matrix
from anamnesis.meaning.model import Model, Vectors, load
from anamnesis.meaning.passages import passages
from anamnesis.meaning.vectors import MOST_PASSAGES, VERSION, NewText, Text, VectorFile, hash_of, packed
from anamnesis.store.change_log import Change, ChangeLog

if TYPE_CHECKING:
    from anamnesis.store.index import Connection, Index

FOLLOWER = "meaning"
_IDENTITY = str(VERSION)
_MOST_QUERIES = 256
# Changed notes that are embedded together; each batch takes up to a second.
_BATCH = 32
# The passages of a note that are compared with all others, and those that are embedded while somebody waits: 40 ms.
_MOST_COMPARED = 16
_AT_ONCE = 2


class Meaning:
    """The vectors of a store's notes, on disk and in memory. `model` is loaded when a text has to be embedded."""

    def __init__(self, index: Index, log: ChangeLog, path: Path, model: Callable[[], Model] = load) -> None:
        self.file = VectorFile(path)
        self.query = lru_cache(_MOST_QUERIES)(lambda text: model().query(text))
        self._model = model
        self._index = index
        self._log = log
        self._lock = threading.Lock()
        self._matrix = Matrix()
        self._numbers: dict[str, int] = {}  # of the notes in the matrix, by their ids
        self._start, self._cursor = b"", 0  # which changes the matrix has

    def close(self) -> None:
        self.file.close()

    def follow(self, report: Callable[[int], None] | None = None, stop: Callable[[], bool] = bool) -> int:
        """Embed the notes that changed, until `stop`; returns how many were. `report` gets each batch's size after it.

        Where the disk cannot be written, nothing is embedded.
        """
        if self._index.is_private:
            return 0

        def process(changes: Sequence[Change]) -> None:
            self._embed(changes)
            if report:
                report(len(changes))

        return self._log.follow(FOLLOWER, process, _IDENTITY, batch=_BATCH, stop=stop)

    @property
    def is_warm(self) -> bool:
        """Whether the model is loaded."""
        return load.cache_info().currsize > 0

    def compare(self, db: Connection, query: Vectors) -> Close:
        """How close each note is to the query; notes that are not embedded yet are missing."""
        with self._lock:
            self._refresh(db)
            return self._matrix.compare(query)

    def compare_with(self, db: Connection, note: str) -> Close | None:
        """How close each note is to this one; None if this one is not embedded."""
        row = db.execute("SELECT hash FROM standing_files WHERE memory_id = :id", {"id": note}).fetchone()
        text = self.file.texts_of(row).get(row[0]) if row else None
        if text is None:
            return None
        own = text.passages[:: -(-len(text.passages) // _MOST_COMPARED)]
        with self._lock:
            self._refresh(db)
            return self._matrix.compare(own["values"] * own["scale"][:, None], likeness)

    def embed_note(self, note: str) -> None:
        """Embed a note before those that are pending, unless it is long."""
        found = self._index.read(lambda db: (_texts(db, [note]), _changed(db, note)))
        if not self._index.is_private and len(passages(found[0].get(note, ""))) <= _AT_ONCE:
            self._embed(found[1])

    def _embed(self, changes: Sequence[Change]) -> None:
        """Save the vectors of those texts that are not known, and which files hold them."""
        files = {change.hash: change.note_id for change in changes if change.hash}
        unknown = {files[file]: file for file in files.keys() - self.file.texts_of(files).keys()}
        if not unknown:
            return
        texts = self._index.read(lambda db: _texts(db, unknown))
        hashes = {note: hash_of(text) for note, text in texts.items()}
        numbers = self.file.known(hashes.values())
        new = {hash: texts[note] for note, hash in hashes.items() if hash not in numbers}
        numbers |= self.file.add(self._embedded(new))
        self.file.link((unknown[note], numbers[hash]) for note, hash in hashes.items())

    def _embedded(self, texts: dict[bytes, str]) -> list[NewText]:
        if not texts:
            return []
        words = {hash: passages(text)[:MOST_PASSAGES] for hash, text in texts.items()}
        vectors = packed(self._model().passages([passage for some in words.values() for passage in some]))
        found, done = [], 0
        for hash, some in words.items():
            found.append(NewText(hash, some, vectors[done : done + len(some)]))
            done += len(some)
        return found

    def _refresh(self, db: Connection) -> None:
        """Bring the matrix up to date with what the follower has embedded."""
        query = "SELECT start, cursor FROM followers WHERE name = :name AND identity = :identity"
        row = db.execute(query, {"name": FOLLOWER, "identity": _IDENTITY}).fetchone()
        start, cursor = row or (b"", 0)
        if start != self._start:
            self._matrix, self._numbers, self._cursor = Matrix(), {}, 0
        if start and cursor != self._cursor:
            self._load(db, self._cursor, cursor)
        self._start, self._cursor = start, cursor

    def _load(self, db: Connection, after: int, last: int) -> None:
        rows = db.execute(
            "SELECT memory_id, (SELECT number FROM memories WHERE id = memory_id),"
            " (SELECT hash FROM standing_files WHERE standing_files.memory_id = changes.memory_id)"
            " FROM changes WHERE seq > :after AND seq <= :last",
            {"after": after, "last": last},
        ).fetchall()
        texts = self.file.texts_of(hash for _, _, hash in rows if hash)
        changes: dict[int, Text | None] = {self._numbers.pop(id): None for id, _, _ in rows if id in self._numbers}
        for id, number, hash in rows:
            if text := texts.get(hash):
                self._numbers[id] = number
                changes[number] = text
        self._matrix.update(changes)


def _changed(db: Connection, note: str) -> list[Change]:
    """A note as the follower would get it."""
    query = "SELECT 0, memory_id, hash FROM standing_files WHERE memory_id = :id AND hash <> x''"
    return [Change(*row) for row in db.execute(query, {"id": note})]


def _texts(db: Connection, notes: Sequence[str] | dict[str, bytes]) -> dict[str, str]:
    """The texts of notes by their ids, as the index has them."""
    rows = db.execute(
        "SELECT m.id, m.title || char(10) || memories_fts.body FROM memories AS m"
        " JOIN memories_fts ON memories_fts.rowid = m.number WHERE m.id IN (SELECT value FROM json_each(:ids))",
        {"ids": json.dumps(list(notes))},
    )
    return dict(rows.fetchall())
