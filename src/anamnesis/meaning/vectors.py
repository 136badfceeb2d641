"""vectors.db: the vectors of texts' passages, by the hash of the text. Derived: losing it costs time, nothing else."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.model import WIDTH, Vectors

# A passage: int8 values, and the factor that makes them a vector of length one.
PASSAGE = np.dtype([("scale", "<f4"), ("values", "i1", (WIDTH,))])
Passages = NDArray[np.void]
# Changes with the model or with how passages are made.
_VERSION = 1
_MOST_ASKED = 500


def hash_of(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def packed(vectors: Vectors) -> Passages:
    """Vectors of length one in a quarter of their size; a cosine changes by less than 0.005."""
    found = np.empty(len(vectors), PASSAGE)
    scale = np.abs(vectors).max(1) / 127
    found["values"] = np.rint(vectors / scale[:, None])
    found["scale"] = scale
    return found


class VectorFile:
    """The file. Any number of threads and processes may use it; a damaged file or one of another model is replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, hashes: Iterable[bytes]) -> dict[bytes, Passages]:
        """The passages of those texts that are known."""
        asked = list(hashes)
        found: dict[bytes, Passages] = {}
        with self._opened() as db:
            for start in range(0, len(asked), _MOST_ASKED):
                some = asked[start : start + _MOST_ASKED]
                marks = ",".join("?" * len(some))
                rows = db.execute(f"SELECT hash, passages FROM texts WHERE hash IN ({marks})", some)
                found |= {hash: np.frombuffer(data, PASSAGE) for hash, data in rows}
        return found

    def write(self, texts: Mapping[bytes, Passages]) -> None:
        rows = [(hash, passages.tobytes()) for hash, passages in texts.items()]
        with self._opened() as db:
            db.executemany("INSERT OR REPLACE INTO texts (hash, passages) VALUES (?, ?)", rows)

    def keep_only(self, hashes: Iterable[bytes]) -> int:
        """Remove the texts that no note has any more; returns how many."""
        with self._opened() as db:
            db.execute("CREATE TEMP TABLE kept (hash BLOB PRIMARY KEY)")
            db.executemany("INSERT OR IGNORE INTO kept VALUES (?)", ((hash,) for hash in hashes))
            return db.execute("DELETE FROM texts WHERE hash NOT IN (SELECT hash FROM kept)").rowcount

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            db = _connect(self._path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):  # locked, full, read-only: the file may be intact
                raise
            self._path.unlink()
            db = _connect(self._path)
        with contextlib.closing(db), db:
            yield db


def _connect(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)
    db = sqlite3.connect(path)
    try:
        db.execute("PRAGMA synchronous = OFF")  # what a crash loses is computed again
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            with db:
                db.execute("BEGIN IMMEDIATE")
                db.execute("DROP TABLE IF EXISTS texts")
                db.execute("CREATE TABLE texts (hash BLOB PRIMARY KEY, passages BLOB NOT NULL) WITHOUT ROWID")
                db.execute(f"PRAGMA user_version = {_VERSION:d}")
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db
