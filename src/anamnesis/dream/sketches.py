"""sketches.db: the keys by which near-duplicates are found. Derived: a lost file is rebuilt.

The sorted keys of all notes are in memory while a cycle runs: 200 bytes per note. The cost of a cycle is proportional
to the number of notes that changed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anamnesis.dream import features
from anamnesis.notes import Memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Depends on the tables and on the keys.
_VERSION = 100 + features.VERSION
# For each key of a note, its neighbours in the sorted list are examined; those that share most keys are its candidates.
_BESIDE = 16
_MOST_CANDIDATES = 12
# A pair must share this part of the words of the shorter note. Long notes share a quarter by chance: of 90,000
# candidates among random notes of 90 words, 9 % share 30 %, and four share 40 %.
_LEAST_COMMON, _OF_LONG, _LONG = 0.3, 0.4, 40
_BITS = 2_048
_SCHEMA = (
    "CREATE TABLE sketches (note_id TEXT PRIMARY KEY, hides TEXT NOT NULL, keys BLOB NOT NULL, words BLOB NOT NULL)"
)


class Sketches:
    """The sketches of a store's live notes. A file that is damaged or of another version is replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._keys: dict[str, NDArray[Any]] = {}
        self._words: dict[str, bytes] = {}
        self._hides: dict[str, list[str]] = {}
        self._bits: dict[str, int] = {}
        self._sorted: _Sorted | None = None
        try:
            self._db = self._open()
            self._load()
        except sqlite3.DatabaseError:
            self._discard()
            self._db = self._open()
            self._keys, self._words, self._hides = {}, {}, {}
        (number,) = self._db.execute("PRAGMA application_id").fetchone()
        self.identity = f"{_VERSION}-{number}"

    def close(self) -> None:
        self._db.close()

    def update(self, changed: Mapping[str, Memory | None]) -> None:
        """Make the sketches of notes that changed, and remove those of notes that are gone."""
        import numpy as np

        for id, note in changed.items():
            for held in (self._keys, self._words, self._hides, self._bits):
                held.pop(id, None)
            if note:
                sketch = features.sketch_of(note)
                self._keys[id] = np.array(sorted(sketch.keys), np.int64)
                self._words[id] = np.array(sorted(sketch.words), np.uint16).tobytes()
                self._hides[id] = note.superseded
        self._sorted = None
        self._save(changed)

    def pairs(self, ids: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Pairs of notes that may say the same, at least one of which is given; each once."""
        self._sorted = self._sorted or _Sorted(self._keys, {id for some in self._hides.values() for id in some})
        for pair in self._sorted.pairs({*ids}):
            one, other = map(self._bits_of, pair)
            fewer = min(one.bit_count(), other.bit_count())
            if (one & other).bit_count() >= (_LEAST_COMMON if fewer < _LONG else _OF_LONG) * fewer:
                yield pair

    def _bits_of(self, id: str) -> int:
        """The words of a note as a bit set, which is quick to compare; few words share a bit."""
        if (found := self._bits.get(id)) is None:
            import numpy as np

            bits = np.zeros(_BITS, np.bool_)
            bits[np.frombuffer(self._words[id], np.uint16) % _BITS] = True
            found = self._bits[id] = int.from_bytes(np.packbits(bits).tobytes())
        return found

    def _open(self) -> sqlite3.Connection:
        self._path.touch(mode=0o600)
        db = sqlite3.connect(self._path, timeout=1.0, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA secure_delete = ON")
            if db.execute("PRAGMA user_version").fetchone() != (_VERSION,):
                db.execute("BEGIN IMMEDIATE")
                with db:
                    db.execute("DROP TABLE IF EXISTS sketches")
                    db.execute(_SCHEMA)
                    db.execute(f"PRAGMA application_id = {int.from_bytes(os.urandom(4)) >> 1:d}")
                    db.execute(f"PRAGMA user_version = {_VERSION:d}")
        except sqlite3.DatabaseError:
            db.close()
            raise
        return db

    def _load(self) -> None:
        import numpy as np

        for id, hides, keys, words in self._db.execute("SELECT note_id, hides, keys, words FROM sketches"):
            self._keys[id], self._words[id] = np.frombuffer(keys, np.int64), words
            if hides:
                self._hides[id] = hides.split()

    def _save(self, ids: Iterable[str]) -> None:
        """Save the sketches of these notes. If that fails, the file is deleted, and the next cycle rebuilds it."""
        rows = [
            (id, " ".join(self._hides[id]), self._keys[id].tobytes(), self._words[id]) for id in ids if id in self._keys
        ]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            with self._db:
                self._db.executemany("DELETE FROM sketches WHERE note_id = ?", [(id,) for id in ids])
                self._db.executemany("INSERT INTO sketches VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error:
            self._discard()

    def _discard(self) -> None:
        with contextlib.suppress(AttributeError):
            self._db.close()
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


class _Sorted:
    """The sorted keys of all notes with their owners, without superseded notes."""

    def __init__(self, keys: Mapping[str, NDArray[Any]], hidden: set[str]) -> None:
        import numpy as np

        self._ids = sorted(keys.keys() - hidden)
        self._number = {id: number for number, id in enumerate(self._ids)}
        counts = [len(keys[id]) for id in self._ids]
        every = np.concatenate([*(keys[id] for id in self._ids), np.empty(0, np.int64)])
        owners = np.repeat(np.arange(len(self._ids)), counts)
        order = np.argsort(every, kind="stable")  # so the notes of a key are in the order of their ids
        self._keys, self._owners = every[order], owners[order]
        self._place = np.empty(len(order), np.int64)
        self._place[order] = np.arange(len(order))
        self._first = np.cumsum([0, *counts])

    def pairs(self, ids: set[str]) -> Iterator[tuple[str, str]]:
        import numpy as np

        wanted = sorted(self._number[id] for id in ids if id in self._number)
        if not wanted:
            return
        places = np.concatenate([self._place[self._first[each] : self._first[each + 1]] for each in wanted])
        ones, others = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for step in (*range(-_BESIDE, 0), *range(1, _BESIDE + 1)):
            beside = places + step
            is_there = (beside >= 0) & (beside < len(self._keys))
            here, there = places[is_there], beside[is_there]
            same = self._keys[here] == self._keys[there]
            ones.append(self._owners[here[same]])
            others.append(self._owners[there[same]])
        one, other = np.concatenate(ones), np.concatenate(others)
        codes, shared = np.unique(one * len(self._ids) + other, return_counts=True)
        yield from sorted(self._best(codes, shared))

    def _best(self, codes: NDArray[Any], shared: NDArray[Any]) -> set[tuple[str, str]]:
        """The pairs of each note with those that share most of its keys."""
        import numpy as np

        one, other = np.divmod(codes, len(self._ids))
        order = np.lexsort((other, -shared, one))
        one, other = one[order], other[order]
        starts = np.flatnonzero(np.r_[True, one[1:] != one[:-1]]) if len(one) else np.empty(0, np.int64)
        rank = np.arange(len(one)) - np.repeat(starts, np.diff(np.r_[starts, len(one)]))
        best = rank < _MOST_CANDIDATES
        pairs = zip(one[best].tolist(), other[best].tolist(), strict=True)
        return {(self._ids[min(pair)], self._ids[max(pair)]) for pair in pairs}
