"""The results of a search: their order, the filters, and an answer to every query."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.errors import InvalidArgument
from anamnesis.notes import Memory, render
from anamnesis.store import Hit, MemoryStore


def hits(store: MemoryStore, query: str, **wanted: Any) -> list[Hit]:
    return store.hits(query, mode="words", **wanted)


def search(store: MemoryStore, query: str, **wanted: Any) -> list[Memory]:
    return [hit.memory for hit in hits(store, query, **wanted)]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    """Three thousand notes: enough that no search reads them all, a third of them of equal words."""
    root = tmp_path_factory.mktemp("shelf")
    for tree, type in product(("memory", "local"), ("semantic", "episodic")):
        (root / tree / type).mkdir(parents=True)
    for number in range(3_000):
        memory = Memory(
            f"n{number:04}",
            ("semantic", "episodic")[number % 2],
            "note",
            f"common {('even', 'odd')[number % 2]} third{number % 3}" + f" rare{number}" * (number % 100 == 0),
            project=("p", "q")[number % 4 == 0],
            scope=("portable", "machine-local")[number % 8 == 0],
            updated_at=f"2026-01-{1 + number % 25:02}",
        )
        tree = "local" if memory.scope == "machine-local" else "memory"
        (root / tree / memory.type / f"{memory.id}.md").write_text(render(memory), "utf-8")
    with MemoryStore(root) as store:
        yield store


def test_a_note_is_recalled_on_partial_overlap_not_only_on_full_match(store: MemoryStore) -> None:
    memory = store.write(
        type="procedural",
        title="Use WAL mode for SQLite",
        body="Set busy_timeout on every connection to avoid lock errors.",
        project="demo",
    )
    query = "how to configure a SQLite connection to avoid lock errors on concurrent writes"
    assert search(store, query, project="demo") == [memory]


@pytest.mark.parametrize(
    ("query", "found"),
    [("running", True), ("RUN", True), ("naive", True), ("tagged", True), ("titular", True), ("ru", False)],
)
def test_words_are_matched_by_stem_without_accents_in_title_body_and_tags(
    store: MemoryStore, query: str, found: bool
) -> None:
    store.write(type="semantic", title="Titular", body="It runs, naïvely.", tags=["tagged"])
    assert bool(search(store, query)) == found


def test_the_id_of_a_note_is_not_a_word_of_it(store: MemoryStore) -> None:
    memory = store.write(type="semantic", title="t", body="b")
    assert search(store, memory.id) == []


def test_equal_texts_come_newest_first_then_by_id(store: MemoryStore) -> None:
    for day in (3, 1, 2):
        for name in "ab":
            store.put(Memory(f"{name}{day}", "semantic", "t", "same words", updated_at=f"2026-01-0{day}"))
    assert [memory.id for memory in search(store, "words")] == ["b3", "a3", "b2", "a2", "b1", "a1"]


@pytest.mark.parametrize("query", ["common", "common note", "even", "third1 odd", "common even third0 note"])
def test_of_many_equal_texts_the_newest_are_found(shelf: MemoryStore, query: str) -> None:
    found = hits(shelf, query)
    assert {hit.memory.updated_at for hit in found} == {"2026-01-25T00:00:00+00:00"}
    assert [hit.memory.id for hit in found] == sorted((hit.memory.id for hit in found), reverse=True)


@pytest.mark.parametrize("query", ["common", "rare100 rare200 common", "rare300 even third2", "nothing", "rare5"])
@pytest.mark.parametrize("k", [8, 50])
def test_scores_descend_and_notes_with_a_rare_word_come_first(shelf: MemoryStore, query: str, k: int) -> None:
    found = hits(shelf, query, k=k)
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    rare = [word for word in query.split() if word in ("rare100", "rare200", "rare300")]
    assert sorted(hit.memory.body.split()[-1] for hit in found[: len(rare)]) == rare


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"project": "q"},
        {"type": "episodic"},
        {"scope": "machine-local"},
        {"project": "q", "type": "semantic", "scope": "machine-local"},
        {"project": "q", "type": "episodic"},
        {"project": "elsewhere"},
    ],
)
def test_filters_combine_and_leave_the_order(shelf: MemoryStore, wanted: dict[str, Any]) -> None:
    query = "common even third1 rare400 rare800"
    everything = search(shelf, query, k=3_000)
    expected = [
        memory for memory in everything if all(getattr(memory, name) == value for name, value in wanted.items())
    ]
    assert search(shelf, query, k=12, **wanted) == expected[:12]


def test_superseded_notes_make_room_for_the_next_best(store: MemoryStore) -> None:
    store.put_all(Memory(f"n{n:02}", "semantic", "t", "word " * (60 - n)) for n in range(60))
    expected = [memory.id for memory in search(store, "word", k=60)]
    store.put(Memory("new", "semantic", "t", "other", supersedes=expected[:40]))
    assert [memory.id for memory in search(store, "word")] == expected[40:48]
    assert [memory.id for memory in search(store, "word", k=60)] == expected[40:]


@pytest.mark.parametrize("query", ["common", "rare100", "", "nothing"])
def test_no_hits_are_asked_for_and_none_given(shelf: MemoryStore, query: str) -> None:
    assert search(shelf, query, k=0) == []


def test_no_hits_are_given_where_all_that_match_are_superseded(store: MemoryStore) -> None:
    store.put_all(Memory(f"n{n}", "semantic", "t", "word") for n in range(40))
    store.put(Memory("new", "semantic", "t", "other", supersedes=[f"n{n}" for n in range(40)]))
    for k in (0, 1, 8, 100):
        assert search(store, "word", k=k) == []


def test_fewer_than_no_hits_are_refused(shelf: MemoryStore) -> None:
    with pytest.raises(InvalidArgument, match="k is -1"):
        search(shelf, "common", k=-1)


@pytest.mark.parametrize("k", [3_000, 10**9, 2**31, 2**63, 10**30])
def test_any_number_of_hits_may_be_asked_for(shelf: MemoryStore, k: int) -> None:
    assert len(search(shelf, "rare100 rare200", k=k)) == 2


@pytest.mark.parametrize(
    "query",
    [
        *("common\0rare", "com\udfffmon common", "^common", "common*", "title:common", "COMMON"),
        *("NEAR(common even, 2)", "common AND", "NOT common", "(common", "{title body}: common", '"common'),
        *("- common + even", "common" + " ?" * 100_000, "common " * 10_000, "ｃｏｍｍｏｎ common"),
    ],
)
def test_a_word_is_found_whatever_stands_around_it(shelf: MemoryStore, query: str) -> None:
    assert len(search(shelf, query)) == 8


@pytest.mark.parametrize(
    "query",
    [
        *("", " ", "-", "?!.,;:", '"', '"""', "''", "\0", "\ud800", "*", "id : x", "NEAR", "AND OR NOT"),
        *("_", "___ _a_", "'; DROP TABLE memories; --", "%s %d {0}", "\u2028\x85\ufeff", "½ ² ⁵", "é" * 100_000),
        *("日本語", "العربية עברית", "ไทย", "comm", "ommon"),
    ],
)
def test_a_query_without_a_word_of_any_note_finds_nothing(shelf: MemoryStore, query: str) -> None:
    assert search(shelf, query) == []


def test_a_query_of_ten_thousand_words_finds_what_a_short_one_finds(shelf: MemoryStore) -> None:
    filler = " ".join(f"unknown{number}" for number in range(900))
    assert search(shelf, f"rare700 {filler}") == search(shelf, "rare700")
    many = " ".join(f"w{number}" for number in range(10_000))
    assert len(search(shelf, f"common rare700 {many}")) == 8


@given(st.text(st.characters()) | st.text(st.sampled_from("common even*\"'()^:-+{}[]NEAR AND\0\n_😀")))
def test_any_text_is_a_query(shelf: MemoryStore, query: str) -> None:
    found = hits(shelf, query)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


SPECIFIED = """
SELECT m.id FROM memories_fts f JOIN memories m ON m.id = f.id WHERE memories_fts MATCH :match
AND m.id NOT IN (SELECT supersedes FROM memories WHERE supersedes IS NOT NULL AND supersedes <> '')
ORDER BY bm25(memories_fts), m.updated_at DESC LIMIT 8
"""


def test_a_search_with_rare_words_takes_a_fraction_of_the_steps_of_the_specified_statement(
    shelf: MemoryStore,
) -> None:
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    query = " ".join(f"rare{number}" for number in range(0, 1_200, 100)) + " common note even"
    shelf._index.read(lambda db: db.set_progress_handler(step, 1))
    search(shelf, query)
    first, steps = steps, 0
    search(shelf, query)
    again, steps = steps, 0
    match = {"match": " OR ".join(query.split())}
    shelf._index.read(lambda db: db.execute(SPECIFIED, match).fetchall())
    shelf._index.read(lambda db: db.set_progress_handler(None, 1))
    assert first * 5 < steps
    assert again * 20 < steps


def test_a_project_without_notes_is_not_searched(shelf: MemoryStore) -> None:
    """A prompt is asked of its project and of the global notes; often one of them has none."""
    asked: list[str] = []
    shelf._index.read(lambda db: db.set_trace_callback(asked.append))
    assert search(shelf, "zebra stripes", project="nobody/has/this") == []
    shelf._index.read(lambda db: db.set_trace_callback(None))
    assert [statement for statement in asked if "MATCH" in statement] == []


def titles(store: MemoryStore, query: str, **wanted: Any) -> list[str]:
    return [note.title for note in search(store, query, **wanted)]


def test_the_words_of_a_question_do_not_decide_what_it_finds(store: MemoryStore) -> None:
    store.write(type="procedural", title="How to run a single pytest", body="How do I do it? I do: pytest -k name.")
    store.write(type="procedural", title="Use WAL mode", body="Set busy_timeout on every connection: no lock errors.")
    for number in range(8):
        store.write(type="semantic", title=f"Filler {number}", body="Nothing of interest stands here.")
    assert titles(store, "how do I avoid a lock") == ["Use WAL mode"]
    assert titles(store, "what do I do about zebras?") == []
    assert titles(store, "how do I") == ["How to run a single pytest"]


def test_function_words_break_ties(store: MemoryStore) -> None:
    for letter in "abc":
        store.put(
            Memory(letter, "semantic", f"Vitamin {letter.upper()}", "x", updated_at=f"2026-01-0{ord(letter) - 96}")
        )
    assert titles(store, "vitamin") == ["Vitamin C", "Vitamin B", "Vitamin A"]
    assert titles(store, "vitamin a") == ["Vitamin A", "Vitamin C", "Vitamin B"]


def test_a_quoted_phrase_is_found_only_as_a_phrase(store: MemoryStore) -> None:
    store.put(Memory("a", "semantic", "Lock errors", "The database is locked."))
    store.put(Memory("b", "semantic", "Errors", "of a door lock; the error of the lock"))
    assert titles(store, '"lock error"') == ["Lock errors"]
    assert set(titles(store, "lock error")) == {"Lock errors", "Errors"}
    assert set(titles(store, '"database is locked" door')) == {"Lock errors", "Errors"}
    assert titles(store, '"door database"') == []
