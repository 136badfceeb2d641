"""list, count, stats, superseded_ids: the notes as the index knows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anamnesis.errors import InvalidArgument
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore, StoreStats

TEXT = st.text(st.characters(), max_size=30)


@pytest.fixture
def shelf(store: MemoryStore) -> Iterator[MemoryStore]:
    """Twelve notes: of every type in both scopes and two projects, at three times."""
    types, scopes = ("procedural", "semantic", "episodic"), ("portable", "machine-local")
    store.put_all(
        Memory(
            f"{project}-{type[0]}-{scope[0]}",
            type,
            "t",
            f"body of {project} {type} {scope}",
            project=project,
            scope=scope,
            updated_at=f"2026-01-0{1 + types.index(type)}",
        )
        for project in ("p", "q")
        for type in types
        for scope in scopes
    )
    yield store


def ids(notes: list[Memory]) -> list[str]:
    return [memory.id for memory in notes]


def test_notes_are_listed_newest_first_then_by_id_descending(shelf: MemoryStore) -> None:
    listed = shelf.list()
    assert len(listed) == 12
    assert listed == sorted(listed, key=lambda memory: (memory.updated_at, memory.id), reverse=True)
    assert ids(listed)[:4] == ["q-e-p", "q-e-m", "p-e-p", "p-e-m"]


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ({}, 12),
        ({"project": "p"}, 6),
        ({"type": "semantic"}, 4),
        ({"scope": "machine-local"}, 6),
        ({"project": "q", "type": "episodic"}, 2),
        ({"project": "q", "type": "episodic", "scope": "portable"}, 1),
        ({"project": "nowhere"}, 0),
        ({"project": ""}, 0),
        ({"project": "' OR 1=1 --"}, 0),
    ],
)
def test_filters_combine(shelf: MemoryStore, wanted: dict[str, Any], count: int) -> None:
    listed = shelf.list(**wanted)
    assert len(listed) == shelf.count(**wanted) == count
    assert all(getattr(memory, name) == value for memory in listed for name, value in wanted.items())


def test_limit_and_offset_cut_the_same_list(shelf: MemoryStore) -> None:
    everything = shelf.list()
    assert shelf.list(limit=5) == everything[:5]
    assert shelf.list(limit=5, offset=5) == everything[5:10]
    assert shelf.list(offset=10) == everything[10:]
    assert shelf.list(limit=0) == []
    assert shelf.list(limit=2**80) == everything
    assert shelf.list(offset=2**80) == []
    assert shelf.list(project="p", limit=1, offset=1) == [shelf.list(project="p")[1]]


@pytest.mark.parametrize("wanted", [{"limit": -1}, {"offset": -1}, {"type": "note"}, {"scope": "global"}])
def test_a_filter_that_cannot_be_met_is_refused_by_name(shelf: MemoryStore, wanted: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(wanted))):
        shelf.list(**wanted)


def test_a_project_that_no_file_can_name_has_no_notes(shelf: MemoryStore) -> None:
    assert shelf.list(project="\ud800") == shelf.search("body", project="\ud800", mode="words") == []
    assert shelf.count(project="\ud800") == 0


def test_stats_count_by_type_project_and_scope(shelf: MemoryStore) -> None:
    assert shelf.stats() == StoreStats(
        total=12,
        by_type={"procedural": 4, "semantic": 4, "episodic": 4},
        by_project={"p": 6, "q": 6},
        by_scope={"portable": 6, "machine-local": 6},
    )


def test_an_empty_store_has_nothing(store: MemoryStore) -> None:
    assert not any((store.list(), store.search("x", mode="words"), store.problems(), store.trashed()))
    assert store.stats() == StoreStats(0, {}, {}, {})
    assert store.count() == store.reindex() == 0


@pytest.fixture
def labelled(store: MemoryStore) -> Iterator[MemoryStore]:
    """Three notes with different tags, sources and times."""
    store.put_all(
        [
            Memory(
                "a",
                "semantic",
                "beta lamp",
                "light",
                tags=["Red", "big", 'c++ "x"', "🔥"],
                updated_at="2026-01-03",
                created_at="2026-01-01",
            ),
            Memory(
                "b", "semantic", "Alpha lamp", "light", tags=["red"], updated_at="2026-01-02", created_at="2026-01-02"
            ),
            Memory(
                "c",
                "semantic",
                "gamma lamp",
                "light",
                project="p",
                prov_source="import",
                updated_at="2026-01-01T10:00:00",
                created_at="2026-01-03",
            ),
        ]
    )
    yield store


@pytest.mark.parametrize(
    ("also", "expected"),
    [
        ({"tags": ("red",)}, ["a", "b"]),
        ({"tags": ("RED", "big")}, ["a"]),
        ({"tags": ("re",)}, []),
        ({"tags": ("reds",)}, []),
        ({"tags": ('C++ "x"',)}, ["a"]),
        ({"tags": ("🔥", "red")}, ["a"]),
        ({"tags": ("++",)}, []),
        ({"source": "import"}, ["c"]),
        ({"since": "2026-01-02T00:00:00+00:00"}, ["a", "b"]),
        ({"until": "2026-01-02T00:00:00+00:00"}, ["c"]),
        ({"since": "2026-01-02T00:00:00+00:00", "until": "2026-01-03T00:00:00+00:00"}, ["b"]),
    ],
)
def test_lists_counts_and_searches_have_the_filters_of_people(
    labelled: MemoryStore, also: Any, expected: list[str]
) -> None:
    assert ids(labelled.list(**also)) == expected
    assert labelled.count(**also) == len(expected)
    assert sorted(hit.memory.id for hit in labelled.hits("lamp", **also, mode="words")) == expected


def test_a_list_has_the_order_that_is_asked_for(labelled: MemoryStore) -> None:
    orders = {"updated": "abc", "created": "cba", "title": "bac", "project": "abc"}
    assert {order: "".join(ids(labelled.list(order=order))) for order in orders} == orders
    pages = [ids(labelled.list(order="title", limit=1, offset=page)) for page in range(3)]
    assert pages == [["b"], ["a"], ["c"]]


def test_a_source_that_does_not_exist_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidArgument, match="is not one of human"):
        store.list(source="x")


def test_superseded_notes_are_listed_but_not_searched(store: MemoryStore) -> None:
    old = [store.write(type="semantic", title=f"old {n}", body="minmax grid") for n in range(3)]
    one = store.write(type="semantic", title="one", body="minmax", supersedes=old[0].id)
    two = store.write(type="semantic", title="two", body="grid", supersedes=[old[1].id, old[2].id])
    assert store.superseded_ids() == {memory.id for memory in old}
    assert {memory.id for memory in store.search("minmax grid", mode="words")} == {one.id, two.id}
    assert store.count() == len(store.list()) == 5
    assert store.get(old[0].id) == old[0]


def test_a_note_is_recalled_again_when_nothing_supersedes_it(store: MemoryStore) -> None:
    old = store.write(type="semantic", title="old", body="grid")
    new = store.write(type="semantic", title="new", body="grid", supersedes=old.id)
    store.update(new.id, supersedes="")
    assert len(store.search("grid", mode="words")) == 2
    store.update(new.id, supersedes=[old.id])
    store.delete(new.id)
    assert store.search("grid", mode="words") == [old]
    assert store.superseded_ids() == set()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=TEXT, body=TEXT, tags=st.lists(TEXT, max_size=3), project=TEXT)
def test_a_listed_note_is_the_note_that_its_file_holds(
    store: MemoryStore, title: str, body: str, tags: list[str], project: str
) -> None:
    memory = store.put(Memory("x", "semantic", f"t{title}", body, tags=tags, project=project))
    assert store.list(project=memory.project) == [memory] == [store.get("x")]
