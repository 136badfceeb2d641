"""Look-ups of notes by names, of duplicates and of tags."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from anamnesis.notes import Memory
from anamnesis.store import MemoryStore
from anamnesis.store.lookup import Name, duplicates, named, tags

FIRST, SECOND, THIRD = "01J9Z8YPM7Q3X2V4WT6B5N0KGD", "01J9Z8YPM7Q3X2V4WT6B5N0KGE", "01J9ZB0C4F8H2K6M3P9R7S5T1W"


@pytest.fixture
def shelf(store: MemoryStore) -> Iterator[MemoryStore]:
    for note_id, title in ((FIRST, "Use WAL mode"), (SECOND, "Use WAL mode always"), (THIRD, "Größe of a page")):
        store.put(Memory(note_id, "semantic", title, "body"))
    yield store


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (FIRST, [FIRST]),
        ("01j9zb", [THIRD]),
        ("01J9Z8", [SECOND, FIRST]),
        ("n0kgd", [FIRST]),
        ("6M3P9", [THIRD]),
        ("use wal MODE", [FIRST]),
        ("always", [SECOND]),
        ("wal mode", [SECOND, FIRST]),
        ("Größe", [THIRD]),
        (" 6M3P9 ", [THIRD]),
        ("nothing", []),
        ("%", []),
        ("_", []),
        ("", []),
        ("\ud800", []),
    ],
)
def test_a_note_is_named_by_an_id_a_title_or_a_part_of_one(shelf: MemoryStore, given: str, expected: list[str]) -> None:
    assert [note.id for note in named(shelf, given)] == expected


def test_a_whole_id_names_its_note_even_if_others_begin_with_it(store: MemoryStore) -> None:
    for note_id in ("a", "ab", "abc"):
        store.put(Memory(note_id, "semantic", "t", ""))
    assert named(store, "ab") == [Name("ab", "t")]


def test_a_text_may_be_looked_up_among_other_notes_than_those_of_the_index(shelf: MemoryStore) -> None:
    gone = [Name("GONE", 'Deleted "lamp"'), Name("LOST", "Other")]
    assert named(shelf, "deleted", gone) == [gone[0]]
    assert named(shelf, "Use WAL mode", gone) == []
    assert named(shelf, "Use WAL mode", []) == []


def test_a_duplicate_has_the_same_title_and_body(store: MemoryStore) -> None:
    one, two, other, empty, second = (
        store.write(type="semantic", title=title, body=body, project=project)
        for title, body, project in (
            ("T", "body", "p"),
            ("T", "body", "q"),
            ("T", "another", "p"),
            ("A", "", "p"),
            ("B", "", "p"),
        )
    )
    assert duplicates(store, one) == [two.id]
    assert duplicates(store, other) == duplicates(store, empty) == duplicates(store, second) == []
    store.delete(two.id)
    assert duplicates(store, one) == []


def test_tags_are_listed_by_use(store: MemoryStore) -> None:
    for labels in (["a", "b"], ["b"], ["c", "b", "a"]):
        store.write(type="semantic", title="t", body="", tags=labels)
    assert tags(store) == ["b", "a", "c"]
