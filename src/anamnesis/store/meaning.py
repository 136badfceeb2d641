"""The meaning of the notes: a follower of the change log embeds their texts; a search compares them with a query."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.meaning.fusion import likeness
from anamnesis.meaning.matrix import Close, EmbeddedNote, Matrix
from anamnesis.meaning.model import Model, Vectors, load
from anamnesis.meaning.passages import passages
from anamnesis.meaning.vectors import NewText, Passages, VectorFile, hash_of, joined, packed
from anamnesis.meaning.vectors_file import MOST_PASSAGES
from anamnesis.store import queries
from anamnesis.store.change_log import ChangeLog, NoteChange, last_seq
from anamnesis.store.ranking import FOLLOWER
from anamnesis.store.tombstones import is_purged

if TYPE_CHECKING:
    from anamnesis.store.index import Connection, Index

_MOST_QUERIES = 256
# Changed notes per batch, and passages embedded per call: up to a quarter of a second.
_BATCH = 32
_AT_ONCE = 8
# Notes loaded into memory per batch.
_LOADED = 2_048
# At most this many passages of a note are compared with all others, and embedded while a caller waits: 40 ms.
_MOST_COMPARED = 16
_WHILE_WAITING = 2
_MOST_AHEAD = 64
# The notes to load, with the hashes of their files: every note, or those that changed between two cursors.
_EVERY = "SELECT memory_id, number, hash FROM standing_files"
_CHANGED = """
    SELECT memory_id, (SELECT number FROM memories WHERE id = memory_id),
        (SELECT hash FROM standing_files WHERE standing_files.memory_id = changes.memory_id)
    FROM changes WHERE seq > :after AND seq <= :last
"""


class Meaning:
    """The vectors of a store's notes, on disk and in memory. `model` is loaded when a text has to be embedded."""

    def __init__(self, index: Index, log: ChangeLog, path: Path, model: Callable[[], Model] = load) -> None:
        self.file = VectorFile(path)
        self._written = VectorFile(path)  # searches do not wait for writes
        self.query = lru_cache(_MOST_QUERIES)(lambda text: model().query(text))
        self._model = model
        self._index = index
        self._log = log
        self._lock = threading.Lock()
        self._matrix = Matrix()
        self._start, self._cursor = b"", 0  # which changes the matrix has
        self._private: Connection | None = None
        self._is_abandoned = False
        self._ahead: dict[bytes, Passages] = {}  # of texts that the follower has not embedded yet

    def close(self) -> None:
        self.file.close()
        self._written.close()

    def follow(self, report: Callable[[int], None] | None = None, stop: Callable[[], bool] = bool) -> int:
        """Embed the notes that changed, until `stop`; returns how many. `report` gets the size of each finished batch.

        On a read-only disk, nothing is embedded.
        """
        if self._index.is_private:
            return 0
        done = 0

        def process(changes: Sequence[NoteChange]) -> None:
            nonlocal done
            self._embed(changes, stop)
            done += len(changes)
            if report:
                report(len(changes))

        with contextlib.suppress(_Stopped):
            self._log.follow(FOLLOWER, process, self._written.identity, batch=_BATCH, stop=stop)
        return done

    def abandon(self) -> None:
        """Stop embedding for good, even within a text, which then stays pending."""
        self._is_abandoned = True

    @property
    def is_warm(self) -> bool:
        """Whether the model is loaded."""
        return load.cache_info().currsize > 0

    def compare(self, db: Connection, query: Vectors) -> Close:
        """How close each note is to the query; notes that are not embedded yet are missing."""
        with self._lock:
            self._refresh(db)
            return self._matrix.compare(query)

    def closest(self, db: Connection, note_id: str, query: Vectors) -> tuple[str, float]:
        """The passage of a note that is closest to the query, with its cosine; "" for one that is not embedded yet."""
        row = db.execute("SELECT hash FROM standing_files WHERE memory_id = :id", {"id": note_id}).fetchone()
        text = self.file.texts_of([row[0]]).get(row[0]) if row else None
        if text is None:
            return "", 0.0
        cosines = text.passages["scale"] * (text.passages["values"] @ query)
        best = int(cosines.argmax())
        return passages(_texts(db, [note_id])[note_id])[best], float(cosines[best])

    def compare_with(self, db: Connection, note: str) -> Close | None:
        """How close each note is to this one; None if this one is not embedded."""
        row = db.execute("SELECT hash FROM standing_files WHERE memory_id = :id", {"id": note}).fetchone()
        text = self.file.texts_of(row).get(row[0]) if row else None
        own = text.passages if text else self._ahead_of(db, note)
        if own is None:
            return None
        with self._lock:
            self._refresh(db)
            return self._matrix.compare(_thinned(own), likeness)

    def between(self, db: Connection, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
        """How close the notes of each pair are, without those that are not embedded; the same in both directions."""
        hashes = {id: hash for id, (_, hash) in queries.standing(db, {id for pair in pairs for id in pair}).items()}
        texts = self.file.texts_of(hashes.values())
        vectors = {id: _thinned(texts[hash].passages) for id, hash in hashes.items() if hash in texts}
        known = [(one, other) for one, other in pairs if one in vectors and other in vectors]
        return {(one, other): _likeness(vectors[one], vectors[other]) for one, other in known}

    def _ahead_of(self, db: Connection, note: str) -> Passages | None:
        """The vectors of a note that is not embedded yet, unless it is long; the follower reuses them.

        They are not saved here, because that would wait for the follower, which may have a low priority.
        """
        text = _texts(db, [note]).get(note)
        some = passages(text or "")
        if text is None or len(some) > _WHILE_WAITING:
            return None
        if len(self._ahead) >= _MOST_AHEAD:
            self._ahead.clear()
        return self._ahead.setdefault(hash_of(text), packed(self._model().passages(some)))

    def _embed(self, changes: Sequence[NoteChange], stop: Callable[[], bool]) -> None:
        """Save the vectors of new texts, and which files hold them."""
        files = {change.hash: change.note_id for change in changes if change.hash}
        unknown = {files[file]: file for file in files.keys() - self._written.texts_of(files).keys()}
        texts = self._index.read(lambda db: _texts(db, unknown)) if unknown else {}
        held = {unknown[note]: hash_of(text) for note, text in texts.items()}
        new: dict[bytes, list[bytes]] = {}
        for file in self._written.link(held) if held else ():
            new.setdefault(held[file], []).append(file)
        pieces = {hash: passages(texts[files[some[0]]])[:MOST_PASSAGES] for hash, some in new.items()}
        for number, group in enumerate(_in_turn(pieces)):
            if number and stop():  # each call makes some progress
                raise _Stopped
            self._written.add(self._embedded(group), new)
        if any(is_purged(self._index.path.parent, note) for note in texts):  # purged since its text was read
            self._written.erase(lambda: self._index.read(queries.file_hashes))

    def _embedded(self, texts: dict[bytes, list[str]]) -> list[NewText]:
        ahead = {hash: known for hash in texts if (known := self._ahead.pop(hash, None)) is not None}
        found, done = [NewText(hash, texts[hash], known) for hash, known in ahead.items()], 0
        left = {hash: some for hash, some in texts.items() if hash not in ahead}
        if left:
            vectors = packed(self._computed([passage for some in left.values() for passage in some]))
        for hash, some in left.items():
            found.append(NewText(hash, some, vectors[done : done + len(some)]))
            done += len(some)
        return found

    def _computed(self, texts: list[str]) -> Vectors:
        """The vectors of passages. `abandon` interrupts it, because a long text can take minutes on a busy machine."""
        found = []
        for start in range(0, len(texts), _AT_ONCE):
            if self._is_abandoned:
                raise _Stopped
            found.append(self._model().passages(texts[start : start + _AT_ONCE]))
        return joined(found)

    def _refresh(self, db: Connection) -> None:
        """Bring the matrix up to date with what the follower has embedded."""
        if self._index.is_private:  # nothing is embedded on a read-only disk: use what vectors.db has
            start, cursor = b"private", last_seq(db)
        else:
            query = "SELECT start, cursor FROM followers WHERE name = :name AND identity = :identity"
            row = db.execute(query, {"name": FOLLOWER, "identity": self.file.identity}).fetchone()
            start, cursor = row or (b"", 0)
        private = db if self._index.is_private else None
        if start != self._start or private is not self._private:
            self._private = private
            self._matrix, self._cursor = Matrix(), 0
        if start and cursor != self._cursor:
            self._load(db, self._cursor, cursor)
        self._start, self._cursor = start, cursor

    def _load(self, db: Connection, after: int, last: int) -> None:
        """Load the notes that changed; at first, when `after` is 0, every note."""
        rows = db.execute(_CHANGED if after else _EVERY, {"after": after, "last": last})
        while some := rows.fetchmany(_LOADED):  # all at once would be in memory twice
            texts = self.file.texts_of(hash for _, _, hash in some if hash)
            self._matrix.update(
                {id: EmbeddedNote(number, texts[hash]) if hash in texts else None for id, number, hash in some}
            )


def _thinned(own: Passages) -> Vectors:
    """The vectors of evenly spaced passages of a text."""
    some = own[:: -(-len(own) // _MOST_COMPARED)]
    found: Vectors = some["values"] * some["scale"][:, None]
    return found


def _likeness(one: Vectors, other: Vectors) -> float:
    cosines = one @ other.T
    return float(cosines.max(0).mean() + cosines.max(1).mean()) / 2


class _Stopped(Exception):
    """Embedding was stopped; the texts that were done are saved."""


def _in_turn(texts: dict[bytes, list[str]]) -> Iterator[dict[bytes, list[str]]]:
    """Texts with their passages, in groups of at most `_AT_ONCE` passages, or of a single longer text."""
    group: dict[bytes, list[str]] = {}
    count = 0
    for hash, some in texts.items():
        if group and count + len(some) > _AT_ONCE:
            yield group
            group, count = {}, 0
        group[hash] = some
        count += len(some)
    if group:
        yield group


def _texts(db: Connection, notes: Sequence[str] | dict[str, bytes]) -> dict[str, str]:
    """The texts of notes by their ids, as the index has them."""
    rows = db.execute(
        "SELECT m.id, m.title || char(10) || memories_fts.body FROM memories AS m"
        " JOIN memories_fts ON memories_fts.rowid = m.number WHERE m.id IN (SELECT value FROM json_each(:ids))",
        {"ids": json.dumps(list(notes))},
    )
    return dict(rows.fetchall())
