"""A project's full key and its short name select the same notes in every query."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anamnesis.errors import InvalidArgument
from anamnesis.inject import select_inject, select_recall
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore
from anamnesis.store.projects import names_of

FULL, SHORT, OTHER = "github.com/oscar/lantern", "lantern", "gitlab.com/else/lantern"


def note(number: int, project: str, type: str = "semantic") -> Memory:
    stamp = f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}+00:00"
    return Memory(f"n{number}", type, f"title {number}", "harbour", project, created_at=stamp, updated_at=stamp)


def ids(memories: list[Memory]) -> set[str]:
    return {memory.id for memory in memories}


@pytest.mark.parametrize("asked", [FULL, SHORT, "Lantern", "LANTERN"])
def test_a_project_is_found_by_either_name(store: MemoryStore, asked: str) -> None:
    store.put_all([note(1, FULL), note(2, SHORT), note(3, "global"), note(4, "github.com/oscar/other")])
    assert ids(store.list(project=asked)) == {"n1", "n2"}
    assert store.count(project=asked) == store.count(project=asked, type="semantic", scope="portable") == 2
    assert ids(store.search("harbour", project=asked)) == {"n1", "n2"}
    assert ids(store.search("harbour", project=asked, type="semantic")) == {"n1", "n2"}
    assert ids(select_inject(store, project=asked)) == {"n1", "n2", "n3"}


def test_two_full_keys_are_two_projects_and_their_short_name_is_a_third(store: MemoryStore) -> None:
    store.put_all([note(1, FULL), note(2, OTHER), note(3, "Lantern"), note(4, "global")])
    assert ids(store.list(project=FULL)) == ids(store.search("harbour", project=FULL)) == {"n1"}
    assert ids(store.list(project=OTHER)) == {"n2"}
    assert ids(store.list(project=SHORT)) == ids(store.search("harbour", project=SHORT)) == {"n3"}
    assert ids(select_inject(store, project=SHORT)) == {"n3", "n4"}
    assert store.count(project="github.com/nobody/lantern") == 0
    store.check_project(SHORT)


def test_a_folder_is_not_told_the_notes_of_repositories_that_have_its_name(store: MemoryStore) -> None:
    store.put_all([note(1, FULL), note(2, OTHER), note(3, "global")])
    assert ids(select_inject(store, project=SHORT)) == {"n3"}
    assert ids(select_recall(store, "harbour", project=SHORT, known=set())) <= {"n3"}
    assert store.search("harbour", project=SHORT) == store.list(project=SHORT) == []


def test_a_short_name_of_several_projects_is_refused_with_their_names(store: MemoryStore) -> None:
    store.put_all([note(1, FULL), note(2, OTHER)])
    with pytest.raises(InvalidArgument, match=f"'Lantern' is the short name of 2 projects: {FULL} and {OTHER}"):
        store.check_project("Lantern")
    for fine in (FULL, "nobody", "global", "github.com/nobody/lantern"):
        store.check_project(fine)


def test_a_clone_without_notes_is_not_told_those_of_the_short_name_of_another(store: MemoryStore) -> None:
    store.put_all([note(1, FULL), note(2, SHORT)])
    assert ids(store.list(project=FULL)) == {"n1", "n2"}
    assert store.list(project=OTHER) == []


def test_a_short_name_finds_the_only_full_key(store: MemoryStore) -> None:
    store.put_all([note(1, FULL), note(2, "lanterns")])
    assert ids(store.list(project=SHORT)) == ids(store.search("harbour", project=SHORT)) == {"n1"}
    assert store.list(project="nobody") == []


def test_global_is_only_itself(store: MemoryStore) -> None:
    store.put_all([note(1, "global"), note(2, "github.com/a/global"), note(3, "Global")])
    assert ids(store.list(project="global")) == {"n1"}
    assert "n1" not in ids(store.list(project="github.com/a/global"))


def test_a_name_that_comes_or_goes_is_known_at_once(store: MemoryStore) -> None:
    store.put(note(1, FULL))
    assert store.count(project=SHORT) == 1
    with MemoryStore(store.root) as other:
        other.put(note(2, SHORT))
        assert store.count(project=SHORT) == store.count(project=FULL) == 2
        hidden = Memory("n1", "semantic", "t", "b", FULL, engram={"deleted_at": "2026-01-01 00:00:00"})
        other.put_whole([hidden], other.files(["n1"]), follower="x")
    assert ids(store.list(project=FULL)) == {"n2"}


def test_the_list_of_two_names_is_one_list_in_order(store: MemoryStore) -> None:
    names = (FULL, SHORT, "other", "LANTERN")
    store.put_all(note(number, names[number % 4], ("semantic", "episodic")[number % 3 == 0]) for number in range(60))
    for type in (None, "semantic"):
        expected = [note.id for note in store.list(type=type) if note.project != "other"]
        assert [note.id for note in store.list(project=FULL, type=type)] == expected
        for limit, offset in ((0, 0), (1, 0), (7, 5), (50, 40), (5, 99), (None, 3)):
            page = store.list(project=SHORT, type=type, limit=limit, offset=offset)
            assert [note.id for note in page] == expected[offset : None if limit is None else offset + limit]


def test_a_page_of_two_names_reads_no_more_of_a_large_store(store: MemoryStore) -> None:
    steps = []
    for size in (50, 500):
        store.put_all(note(number, (FULL, SHORT)[number % 2]) for number in range(size))
        store.list(project=SHORT, limit=3)
        count = [0]

        def step(count: list[int] = count) -> int:
            count[0] += 1
            return 0

        store._index.read(lambda db, step=step: db.set_progress_handler(step, 1))  # type: ignore[misc]
        store.list(project=SHORT, limit=3)
        store._index.read(lambda db: db.set_progress_handler(None, 1))
        steps.append(count[0])
    assert steps[1] < 1.1 * steps[0]


names = st.text("aB/", max_size=5) | st.sampled_from(["global", FULL, SHORT])


@given(st.lists(names, max_size=6, unique=True), names, names)
def test_being_one_project_goes_both_ways(known: list[str], one: str, other: str) -> None:
    known = [*dict.fromkeys([*known, one, other])]
    assert (one in names_of(other, known)) == (other in names_of(one, known))
    assert one in names_of(one, known)
    if one != other and one in names_of(other, known):
        assert "global" not in (one, other)
        assert "/" not in one or "/" not in other


@given(st.lists(names, max_size=6, unique=True), names)
def test_no_name_stands_for_two_full_keys(known: list[str], asked: str) -> None:
    assert len([name for name in names_of(asked, known) if "/" in name]) <= 1


@settings(max_examples=30)
@given(st.lists(names, max_size=6), names)
def test_every_question_means_the_same_projects(projects: list[str], asked: str) -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(folder) as store:
        store.put_all(note(number, project) for number, project in enumerate(projects))
        same = names_of(asked, projects)
        expected = {f"n{number}" for number, project in enumerate(projects) if project in same}
        assert ids(store.list(project=asked)) == expected
        assert store.count(project=asked) == len(expected)
        assert ids(store.search("harbour", project=asked, k=99)) == expected


def test_an_ambiguous_short_name_counts_the_spellings_of_one_key_once(store: MemoryStore) -> None:
    store.put_all([note(1, "acme/My--App"), note(2, "acme/my-app"), note(3, "other/my-app")])
    with pytest.raises(InvalidArgument, match="is the short name of 2 projects: acme/My--App and other/my-app"):
        store.check_project("my-app")
