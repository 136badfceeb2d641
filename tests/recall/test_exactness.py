"""The search is the specified one, SQL for SQL, on real text: the documentation of the standard library.

But for the function words of a query, which are not asked for.
"""

from __future__ import annotations

import ast
import contextlib
import re
import sqlite3
import sysconfig
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from anamnesis.notes import Memory, render, ulid
from anamnesis.recall.query import query_terms
from anamnesis.store import Hit, MemoryStore

NOTES, QUERIES = 4_000, 300
TYPES = ("procedural", "semantic", "episodic")
TREES = {"portable": "memory", "machine-local": "local"}

SPECIFIED = """
SELECT m.id, bm25(memories_fts) FROM memories_fts f
JOIN memories m ON m.id = f.id
WHERE memories_fts MATCH :match
AND (:project IS NULL OR m.project = :project)
AND (:type IS NULL OR m.type = :type)
AND (:scope IS NULL OR m.scope = :scope)
AND m.id NOT IN
(SELECT supersedes FROM memories WHERE supersedes IS NOT NULL AND supersedes <> '')
ORDER BY bm25(memories_fts), m.updated_at DESC
"""
# A word in half of the notes or more weighs a millionth in bm25(), at most (k1 + 1) times that in a note. Where
# there are too many of its rows to read, it is left out of a score, and notes that differ by no more than such
# words may change places. (None of these queries shows it.)
NOISE = 2.2e-6


def hits(store: MemoryStore, query: str, **wanted: Any) -> list[Hit]:
    """The hits by words; notes that match by parts of identifiers follow them with a score of 0."""
    found = store.hits(query, mode="words", **wanted)
    by_words = [hit for hit in found if hit.score]
    assert found[: len(by_words)] == by_words
    return by_words


def search(store: MemoryStore, query: str, **wanted: Any) -> list[Memory]:
    return [hit.memory for hit in hits(store, query, **wanted)]


def docstrings() -> Iterator[tuple[str, str]]:
    """Qualified names and their documentation, in an order that mixes the modules."""
    library = Path(sysconfig.get_path("stdlib"))
    ours = ("test", "tests", "site-packages", "idlelib", "lib2to3", "pydoc_data")
    sources = [path for path in library.rglob("*.py") if not set(ours) & set(path.parts)]
    for path in sorted(sources, key=lambda source: (source.stem[::-1], source)):
        module = ".".join(path.relative_to(library).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield f"{module}.{getattr(node, 'name', '')}".rstrip("."), text


def note(number: int, name: str, text: str) -> Memory:
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number * 7919 % 1_000_003)
    return Memory(
        id=ulid(1_700_000_000_000 + number, number),
        type=TYPES[number % 3],
        title=name,
        body=text,
        project=name.partition(".")[0],
        scope=("portable", "machine-local")[number % 5 == 0],
        tags=name.split(".")[-2:],
        updated_at=moment.isoformat(),
        supersedes=ulid(1_700_000_000_000 + number - 3, number - 3) if number % 40 == 3 else "",
    )


def sentence(text: str) -> str:
    return " ".join(re.split(r"(?<=\.)\s", text)[0].replace('"', "").split()[:40])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MemoryStore, list[str]]]:
    """A store of documentation, a tenth of it deleted again, and queries in the words of other documentation."""
    root = tmp_path_factory.mktemp("library")
    texts = docstrings()
    for number, (name, text) in enumerate(islice(texts, NOTES)):
        memory = note(number, name, text)
        path = root / TREES[memory.scope] / memory.type / f"{memory.id}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(memory), "utf-8", newline="")
    queries = [sentence(text) for _, text in islice(texts, 0, 3 * QUERIES, 3)]
    with MemoryStore(root) as store:
        assert store.count() == NOTES
        for path in sorted(root.rglob("*.md"))[::10]:
            path.unlink()
        store.refresh()
        assert store.count() == NOTES * 9 // 10
        yield store, queries


def specified(
    db: sqlite3.Connection, query: str, wanted: dict[str, Any], k: int = 8
) -> tuple[list[str], dict[str, float]]:
    match = " OR ".join(f'"{word}"' for word in query_terms(query).terms.elements())
    filters: dict[str, str | None] = {"project": None, "type": None, "scope": None, **wanted}
    rows = db.execute(SPECIFIED, {"match": match, **filters}).fetchall()
    return [row[0] for row in rows[:k]], dict(rows)


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"type": "semantic"},
        {"scope": "machine-local"},
        {"project": "asyncio"},
        {"type": "episodic", "scope": "portable"},
    ],
)
def test_every_search_finds_the_eight_notes_of_the_specified_query_in_their_order(
    library: tuple[MemoryStore, list[str]], wanted: dict[str, Any]
) -> None:
    store, queries = library
    chosen = queries[:: 3 if wanted else 1]
    different = 0
    with contextlib.closing(sqlite3.connect(store.db_path)) as db:
        for query in chosen:
            ids, scores = specified(db, query, wanted)
            ranked = hits(store, query, **wanted)
            found = [hit.memory.id for hit in ranked]
            # Function words break ties before the time does: without them, the order is that of the statement.
            bare = " ".join(query_terms(query).terms.elements())
            different += [note.id for note in search(store, bare, **wanted)] != ids
            noise = NOISE * len(query.split())
            assert len(found) == len(ids)
            assert [scores[note] for note in found] == pytest.approx([scores[note] for note in ids], abs=noise)
            assert [-hit.score for hit in ranked] == pytest.approx([scores[note] for note in found], abs=noise)
    assert different <= len(chosen) // 100


@pytest.mark.parametrize("k", [1, 2, 20, 100, 5_000])
def test_any_number_of_hits_is_the_beginning_of_the_specified_list(
    library: tuple[MemoryStore, list[str]], k: int
) -> None:
    store, queries = library
    with contextlib.closing(sqlite3.connect(store.db_path)) as db:
        for query in queries[:: 100 if k > 100 else 20]:
            ids, scores = specified(db, query, {}, k)
            found = [memory.id for memory in search(store, query, k=k)]
            noise = NOISE * len(query.split())
            assert len(set(found)) == len(ids)
            assert [scores[note] for note in found] == pytest.approx([scores[note] for note in ids], abs=noise)
