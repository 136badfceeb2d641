"""A search that found nothing suggests words and projects that have notes."""

from __future__ import annotations

import pytest

from anamnesis.notes import Memory
from anamnesis.store import MemoryStore


@pytest.fixture
def shelf(store: MemoryStore) -> MemoryStore:
    store.put_all(
        [
            Memory("a", "semantic", "Lock errors", "Set busy_timeout on each database connection.", "web"),
            Memory("b", "semantic", "Locks", "The authentication of the gateway.", "github.com/a/shop"),
            Memory("c", "semantic", "Configuration", "Kubernetes, and the WAL mode.", "web", tags=["retrying"]),
            Memory("old", "semantic", "Superseded lock", "lock", "attic"),
            Memory("new", "semantic", "New", "of the kind", "attic", supersedes="old"),
        ]
    )
    return store


@pytest.mark.parametrize(
    ("word", "nearest"),
    [
        *(("lokc", "lock"), ("Loock", "lock"), ("conection", "connection"), ("databse", "database")),
        *(("authenitcation", "authentication"), ("busy_timout", "busy_timeout"), ("kuberntes", "kubernetes")),
        *(("wla", "wal"), ("config", "configuration"), ("retryng", "retrying")),
    ],
)
def test_the_nearest_spelling_is_a_word_that_notes_hold(shelf: MemoryStore, word: str, nearest: str) -> None:
    assert shelf.suggest(f"how to {word}").spelling == {word: nearest}
    assert shelf.search(nearest)


@pytest.mark.parametrize("query", ["lock", "zzzzzz", "", "teh", "é" * 10_000, "x" * 10_000, '"lokc erors"', "ab", "??"])
def test_words_that_are_right_or_like_nothing_are_left_alone(shelf: MemoryStore, query: str) -> None:
    assert shelf.suggest(query).spelling == {}


def test_the_projects_with_hits_are_counted_without_superseded_notes(shelf: MemoryStore) -> None:
    assert shelf.suggest("a lock of the gateway").projects == {"github.com/a/shop": 1, "web": 1}
    assert shelf.suggest('"lock errors"').projects == {"web": 1}
    assert shelf.suggest("zebra").projects == {}


def test_a_long_query_is_asked_about_a_few_of_its_words(shelf: MemoryStore) -> None:
    asked: list[str] = []
    shelf._index.read(lambda db: db.set_trace_callback(asked.append))
    shelf.suggest(" ".join(f"unheard{number}" for number in range(500)))
    shelf._index.read(lambda db: db.set_trace_callback(None))
    assert len([statement for statement in asked if "MATCH" in statement]) < 40
