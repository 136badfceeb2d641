"""vectors.db: the passages of texts as vectors and as words. Derived: losing it costs time, nothing else.

A text is known by its hash, so that none is embedded twice. The files that hold it are known by theirs, so that the
vectors of a note are found without reading it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.model import WIDTH, Vectors

# A passage: int8 values, and the factor that makes them a vector of length one.
PASSAGE = np.dtype([("scale", "<f4"), ("values", "i1", (WIDTH,))])
Passages = NDArray[np.void]
# Changes with the model, with how passages are made, and with the tables.
VERSION = 2
# A longer note is known by its beginning: 28,000 words.
MOST_PASSAGES = 256
_MOST_ASKED = 500
_SCHEMA = """
DROP TABLE IF EXISTS texts;
DROP TABLE IF EXISTS files;
DROP TABLE IF EXISTS words;
CREATE TABLE texts (number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, passages BLOB NOT NULL);
CREATE TABLE files (hash BLOB PRIMARY KEY, text INTEGER NOT NULL) WITHOUT ROWID;
-- The passages of texts that have several; a row is MOST_PASSAGES times the text's number, plus the passage's place.
CREATE VIRTUAL TABLE words USING fts5(passage, tokenize='porter unicode61');
"""


class Text(NamedTuple):
    """A text by its number, with its passages."""

    number: int
    passages: Passages


class NewText(NamedTuple):
    """A text to be saved: its hash, the passages as words, and as vectors."""

    hash: bytes
    words: Sequence[str]
    passages: Passages


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
    """The file, for any number of threads and processes. A damaged file or one of another model is replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._counts: dict[str, int] = {}  # how many passages hold a word, "" for any
        self._counted_at: tuple[int, int] | None = None

    def close(self) -> None:
        with self._lock:
            if self._db:
                self._db.close()
            self._db = None

    def texts_of(self, files: Iterable[bytes]) -> dict[bytes, Text]:
        """The texts of those files that are known, by the files' hashes."""
        query = "SELECT files.hash, number, passages FROM files JOIN texts ON number = text WHERE files.hash IN ({})"
        return {
            file: Text(number, np.frombuffer(data, PASSAGE)) for file, number, data in self._asked(query, list(files))
        }

    def known(self, hashes: Iterable[bytes]) -> dict[bytes, int]:
        """The numbers of those texts that are known, by their hashes."""
        return dict(self._asked("SELECT hash, number FROM texts WHERE hash IN ({})", list(hashes)))

    def add(self, texts: Sequence[NewText]) -> dict[bytes, int]:
        """Save texts; returns their numbers."""
        numbers: dict[bytes, int] = {}
        with self._used() as db, db:
            for text in texts:
                row = db.execute(
                    "INSERT INTO texts (hash, passages) VALUES (?, ?) ON CONFLICT (hash) DO UPDATE SET hash = hash"
                    " RETURNING number",
                    (text.hash, text.passages.tobytes()),
                ).fetchone()
                first = (number := int(row[0])) * MOST_PASSAGES
                numbers[text.hash] = number
                db.execute("DELETE FROM words WHERE rowid BETWEEN ? AND ?", (first, first + MOST_PASSAGES - 1))
                if len(text.words) > 1:
                    rows = enumerate(text.words, start=first)
                    db.executemany("INSERT INTO words (rowid, passage) VALUES (?, ?)", rows)
        return numbers

    def link(self, files: Iterable[tuple[bytes, int]]) -> None:
        """Record which text each of these files holds."""
        with self._used() as db, db:
            db.executemany("INSERT OR REPLACE INTO files (hash, text) VALUES (?, ?)", files)

    def keep_only(self, files: Iterable[bytes]) -> int:
        """Remove the texts that none of these files holds; returns how many were removed."""
        with self._used() as db, db:
            db.execute("CREATE TEMP TABLE kept (hash BLOB PRIMARY KEY)")
            db.executemany("INSERT OR IGNORE INTO kept VALUES (?)", ((hash,) for hash in files))
            db.execute("DELETE FROM files WHERE hash NOT IN (SELECT hash FROM kept)")
            db.execute("DROP TABLE kept")
            db.execute(
                f"DELETE FROM words WHERE rowid / {MOST_PASSAGES} NOT IN (SELECT text FROM files)"  # every row
            )
            return db.execute("DELETE FROM texts WHERE number NOT IN (SELECT text FROM files)").rowcount

    def passage_counts(self, terms: Sequence[str]) -> tuple[list[int], int]:
        """How many passages of texts with several hold each of the terms, and how many there are."""
        with self._used() as db:
            (others_commits,) = db.execute("PRAGMA data_version").fetchone()
            if self._counted_at != (now := (others_commits, db.total_changes)):
                self._counted_at, self._counts = now, {}
                (self._counts[""],) = db.execute("SELECT count(*) FROM words_docsize").fetchone()
            for term in terms:
                if term not in self._counts:
                    query = "SELECT count(*) FROM words WHERE words MATCH ?"
                    (self._counts[term],) = db.execute(query, (f'"{term}"',)).fetchone()
            return [self._counts[term] for term in terms], self._counts[""]

    def passage_scores(self, match: str, texts: Sequence[int]) -> tuple[NDArray[np.int64], Vectors]:
        """The numbers of those of the texts that have passages that match, and the BM25 of the best passage of each."""
        with self._used() as db:
            query = (
                "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ?"
                f" AND rowid / {MOST_PASSAGES} IN (SELECT value FROM json_each(?)) ORDER BY rowid"
            )
            rows = db.execute(query, (match, json.dumps(texts))).fetchall()
        found = np.array(rows, np.float64).reshape(-1, 2)
        texts, starts = np.unique(found[:, 0].astype(np.int64) // MOST_PASSAGES, return_index=True)
        if not len(texts):
            return texts, np.empty(0, np.float32)
        return texts, np.maximum.reduceat(found[:, 1], starts).astype(np.float32)

    def _asked(self, query: str, hashes: list[bytes]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with self._used() as db:
            for start in range(0, len(hashes), _MOST_ASKED):
                some = hashes[start : start + _MOST_ASKED]
                rows += db.execute(query.format(",".join("?" * len(some))), some).fetchall()
        return rows

    @contextlib.contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._db is None:
                self._db = _opened(self._path)
            yield self._db


def _opened(path: Path) -> sqlite3.Connection:
    try:
        return _connect(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # locked, full, read-only: the file may be intact
            raise
    path.unlink()
    return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)
    db = sqlite3.connect(path, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version != VERSION:
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {VERSION:d}; COMMIT")
    except sqlite3.DatabaseError:
        db.close()
        raise
    return db
