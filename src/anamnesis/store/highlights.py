"""The parts of a text that match a query, as the index matches: whole words by their stems, and phrases."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence

from anamnesis.recall.pruning import any_term
from anamnesis.recall.query import query_terms

# FTS5 joins the terms by OR; no question has as many.
_MOST_TERMS = 128
# FTS5 puts these marks around a match. Texts are first cleaned of them, and of the NUL at which SQLite ends a text.
_START, _END = "\x02", "\x03"
_NO_MARKS = str.maketrans(dict.fromkeys(f"{_START}{_END}\0", " "))

Span = tuple[int, int]


def matches(texts: Sequence[str], query: str) -> list[list[Span]]:
    """The parts of each text that match the query; function words count only if the query has no others."""
    found: list[list[Span]] = [[] for _ in texts]
    terms = list(query_terms(query).terms)[:_MOST_TERMS]
    if not terms:
        return found
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61')")
        clean = [text.translate(_NO_MARKS).encode("utf-8", "replace").decode() for text in texts]
        db.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(clean))
        rows = db.execute(
            "SELECT rowid, highlight(texts, 0, :start, :end) FROM texts WHERE texts MATCH :match",
            {"start": _START, "end": _END, "match": any_term(terms)},
        )
        for number, marked in rows:
            found[number] = _spans(marked)
    return found


def _spans(marked: str) -> list[Span]:
    """The places of the marked parts in the text without marks."""
    spans = []
    before, *parts = marked.split(_START)
    position = len(before)
    for part in parts:
        inside, _, outside = part.partition(_END)
        spans.append((position, position + len(inside)))
        position += len(inside) + len(outside)
    return spans
