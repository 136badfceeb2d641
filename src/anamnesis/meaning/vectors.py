"""vectors.db: the passages of texts as vectors and as words. Derived: losing it costs only time.

A text is identified by its hash, so that none is embedded twice. The files that hold it are identified by their hashes,
so that the vectors of a note are found without reading it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.model import WIDTH, Vectors
from anamnesis.meaning.vectors_file import MOST_PASSAGES, VectorDatabase

# A passage: int8 values, and the factor that makes them a vector of length one.
PASSAGE = np.dtype([("scale", "<f4"), ("values", "i1", (WIDTH,))])
Passages = NDArray[np.void]
_MOST_ASKED = 500
_MOST_COUNTS = 50_000


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


def joined(parts: Sequence[Vectors]) -> Vectors:
    return np.concatenate(parts)


def packed(vectors: Vectors) -> Passages:
    """Vectors of length one in a quarter of their size; a cosine changes by less than 0.005."""
    found = np.empty(len(vectors), PASSAGE)
    scale = np.abs(vectors).max(1) / 127
    found["values"] = np.rint(vectors / scale[:, None])
    found["scale"] = scale
    return found


class VectorFile(VectorDatabase):
    """The texts in the file."""

    _counts: dict[str, int]  # how many passages hold a word, "" for any
    _counted_at: tuple[sqlite3.Connection, int, int] | None = None

    def texts_of(self, files: Iterable[bytes]) -> dict[bytes, Text]:
        """The texts of those files that are known, by the files' hashes."""
        query = "SELECT files.hash, number, passages FROM files JOIN texts ON number = text WHERE files.hash IN ({})"
        return {
            file: Text(number, np.frombuffer(data, PASSAGE)) for file, number, data in self._asked(query, list(files))
        }

    def add(self, texts: Sequence[NewText], files: Mapping[bytes, Iterable[bytes]]) -> None:
        """Save texts and the files that hold each of them, by the text's hash, in one transaction."""
        with self.writing() as db:
            for text in texts:
                (number,) = db.execute(
                    "INSERT INTO texts (hash, passages) VALUES (?, ?) ON CONFLICT (hash) DO UPDATE SET hash = hash"
                    " RETURNING number",
                    (text.hash, text.passages.tobytes()),
                ).fetchone()
                first = number * MOST_PASSAGES
                db.execute("DELETE FROM words WHERE rowid BETWEEN ? AND ?", (first, first + MOST_PASSAGES - 1))
                if len(text.words) > 1:
                    rows = enumerate(text.words, start=first)
                    db.executemany("INSERT INTO words (rowid, passage) VALUES (?, ?)", rows)
                held = ((file, number) for file in files[text.hash])
                db.executemany("INSERT OR REPLACE INTO files (hash, text) VALUES (?, ?)", held)

    def link(self, files: Mapping[bytes, bytes]) -> list[bytes]:
        """Record which text, by its hash, each of these files holds; returns the files whose text is not saved."""
        query = "INSERT OR REPLACE INTO files (hash, text) SELECT ?, number FROM texts WHERE hash = ?"
        with self.writing() as db:
            return [file for file, text in files.items() if not db.execute(query, (file, text)).rowcount]

    def passage_counts(self, terms: Sequence[str]) -> tuple[list[int], int]:
        """How many passages hold each of the terms, and how many there are; only of texts with several passages."""
        with self.used() as db:
            (others_commits,) = db.execute("PRAGMA data_version").fetchone()
            now = (db, others_commits, db.total_changes)
            if now != self._counted_at or len(self._counts) > _MOST_COUNTS:
                self._counted_at, self._counts = now, {}
                (self._counts[""],) = db.execute("SELECT count(*) FROM words_docsize").fetchone()
            for term in terms:
                if term not in self._counts:
                    query = "SELECT count(*) FROM words WHERE words MATCH ?"
                    (self._counts[term],) = db.execute(query, (f'"{term}"',)).fetchone()
            return [self._counts[term] for term in terms], self._counts[""]

    def passage_scores(self, match: str, texts: Sequence[int]) -> tuple[NDArray[np.int64], Vectors]:
        """The numbers of the texts with matching passages, and the BM25 of the best passage of each."""
        with self.used() as db:
            query = (
                "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ?"
                f" AND rowid / {MOST_PASSAGES} IN (SELECT value FROM json_each(?)) ORDER BY rowid"
            )
            rows = db.execute(query, (match, json.dumps(texts))).fetchall()
        found = np.array(rows, np.float64).reshape(-1, 2)
        matched, starts = np.unique(found[:, 0].astype(np.int64) // MOST_PASSAGES, return_index=True)
        if not len(matched):
            return matched, np.empty(0, np.float32)
        return matched, np.maximum.reduceat(found[:, 1], starts).astype(np.float32)

    def _asked(self, query: str, hashes: list[bytes]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with self.used() as db:
            for start in range(0, len(hashes), _MOST_ASKED):
                some = hashes[start : start + _MOST_ASKED]
                rows += db.execute(query.format(",".join("?" * len(some))), some).fetchall()
        return rows
