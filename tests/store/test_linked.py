"""Of two notes about one thing, a search shows the newer one first, and says of the older one that it is outdated."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.inject import render_inject, render_recall, select_inject, select_recall
from anamnesis.notes import Memory
from anamnesis.notes.marks import CONTRADICTS, STALE, UPDATED_BY, UPDATES, with_link, with_mark
from anamnesis.recall.query import MODES, Mode
from anamnesis.store import MemoryStore
from anamnesis.store.linked import in_order

# By words and by meaning, the older note is the better match for this query.
QUERY = "which port does the API listen on"
OLDER, NEWER = "01JAAAAAAAAAAAAAAAAAAAAAAA", "01JBBBBBBBBBBBBBBBBBBBBBBB"


def note(id: str, title: str, body: str, day: int, **changes: object) -> Memory:
    stamp = f"2026-01-{day:02d}T10:00:00+00:00"
    made = Memory(id, "semantic", title, body, "acme", created_at=stamp, updated_at=stamp)
    return replace(made, **changes)  # type: ignore[arg-type]


def older(**changes: object) -> Memory:
    text = "The API listens on port 8080: this port is the one the API listens on."
    return note(OLDER, "Which port the API listens on", text, 1, **changes)


def newer(**changes: object) -> Memory:
    return note(NEWER, "Move of the service", "Since the gateway took it, the API answers on port 9090.", 2, **changes)


def filler(count: int, day: int = 3) -> list[Memory]:
    return [
        note(f"01JF{number:022d}", f"Port {number}", f"The port of the API number {number}.", day)
        for number in range(count)
    ]


def found(store: MemoryStore, mode: Mode, k: int = 8) -> list[str]:
    return [hit.memory.id for hit in store.hits(QUERY, mode=mode, k=k)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("both", [True, False], ids=["both marked", "one marked"])
def test_the_newer_comes_before_the_older_in_every_mode(store: MemoryStore, mode: Mode, both: bool) -> None:
    store.put_all([older(), newer()])
    assert found(store, mode) == [OLDER, NEWER]

    store.put_all([older(), with_link(newer(), UPDATES, OLDER)])
    if both:
        store.put(with_link(older(), UPDATED_BY, NEWER))
    hits = store.hits(QUERY, mode=mode)
    assert [hit.memory.id for hit in hits] == [NEWER, OLDER]
    assert [hit.marks.shown() for hit in hits] == [{}, {"outdated_by": NEWER}]


@pytest.mark.parametrize("mode", MODES)
def test_the_newer_takes_the_place_of_the_older_though_it_matches_less(store: MemoryStore, mode: Mode) -> None:
    store.put_all([older(), newer(), *filler(4)])
    before = found(store, mode)
    store.put(with_link(older(), UPDATED_BY, NEWER))

    others = [id for id in before if id not in (OLDER, NEWER)]
    assert before[0] == OLDER
    assert found(store, mode) == [NEWER, OLDER, *others]
    assert found(store, mode, k=1) == [NEWER]


def test_without_marks_the_order_of_words_stays(store: MemoryStore) -> None:
    """The order of BM25 is specified, and marks of other notes do not affect it."""
    notes = filler(30)
    store.put_all([*notes, older()])
    before = found(store, "words", 40)
    store.put(with_link(note("01JX0000000000000000000000", "Cats", "Cats purr.", 1), UPDATED_BY, NEWER))
    assert found(store, "words", 40) == before


def test_marks_that_name_missing_hidden_or_superseded_notes_are_ignored(store: MemoryStore) -> None:
    marked = with_link(with_link(older(), UPDATED_BY, NEWER), CONTRADICTS, "01JNONE0000000000000000000")
    store.put_all([marked, *filler(2)])
    assert store.marks([OLDER]) == {}
    assert store.outdated_ids() == set()

    store.put(newer())
    assert store.marks([OLDER])[OLDER].outdated_by == (NEWER,)
    assert store.outdated_ids() == {OLDER}
    store.put(newer(engram={"deleted_at": "2026-01-09 10:00:00"}))
    assert store.marks([OLDER]) == {}
    store.put_all([newer(), note("01JS0000000000000000000000", "Gateway", "9090.", 4, supersedes=NEWER)])
    assert store.marks([OLDER]) == {}
    assert store.outdated_ids() == set()


def test_contradictions_and_stale_notes_are_told_and_keep_their_places(store: MemoryStore) -> None:
    store.put_all([with_mark(older(), STALE, "src/api.py: removed in abc"), with_link(newer(), CONTRADICTS, OLDER)])
    hits = store.hits(QUERY, mode="words")
    assert [(hit.memory.id, hit.marks.shown()) for hit in hits] == [
        (OLDER, {"contradicts": [NEWER], "stale": "src/api.py: removed in abc"}),
        (NEWER, {"contradicts": [OLDER]}),
    ]


def test_marks_survive_a_rebuild_and_go_with_their_note(store: MemoryStore) -> None:
    store.put_all([with_link(older(), UPDATED_BY, NEWER), newer()])
    store.reindex()
    assert store.outdated_ids() == {OLDER}
    store.put(replace(store.get(OLDER), extra={}))
    assert store.outdated_ids() == {OLDER}  # `put` keeps front matter that it was not given
    store.delete(OLDER)
    assert store.outdated_ids() == set()


def test_a_session_gets_the_newer_note_and_not_the_older(store: MemoryStore) -> None:
    store.put_all([with_link(older(), UPDATED_BY, NEWER), newer(), note("01JC0000000000000000000000", "C", "c", 3)])
    chosen = [each.id for each in select_inject(store, project="acme", k=2)]
    assert chosen == ["01JC0000000000000000000000", NEWER]


def test_a_pinned_outdated_note_is_marked_and_follows_the_newer(store: MemoryStore) -> None:
    pinned = with_link(older(tags=["pinned", "outdated"]), UPDATED_BY, NEWER)
    store.put_all([pinned, newer(), *filler(9)])
    chosen = select_inject(store, project="acme", k=2)
    assert [each.id for each in chosen[:2]] == [NEWER, OLDER]
    shown = render_inject(chosen, word="x")
    assert f"id: {OLDER} | outdated by {NEWER}_" in shown
    assert f"id: {NEWER}_" in shown


def test_two_notes_that_outdate_each_other_are_both_injected(store: MemoryStore) -> None:
    store.put_all([with_link(older(), UPDATED_BY, NEWER), with_link(newer(), UPDATED_BY, OLDER)])
    assert {each.id for each in select_inject(store, project="acme")} == {OLDER, NEWER}
    assert {*found(store, "words")} == {OLDER, NEWER}


def test_a_prompt_gets_the_newer_before_the_older_which_is_marked(store: MemoryStore) -> None:
    prompt = "Which port does the API listen on?"
    store.put_all([older(), newer(), *[note(f"01JZ{n:022d}", f"Z {n}", f"Zebra {n}.", 1) for n in range(30)]])
    assert [each.id for each in select_recall(store, prompt, project="acme", known=set())][:1] == [OLDER]

    store.put(with_link(older(), UPDATED_BY, NEWER))
    notes = select_recall(store, prompt, project="acme", known=set())
    assert [each.id for each in notes][:2] == [NEWER, OLDER]
    assert f"id: {OLDER} | outdated by {NEWER}_" in render_recall(notes, word="x")
    notes = select_recall(store, prompt, project="acme", known={NEWER})
    assert NEWER not in [each.id for each in notes]


@given(st.permutations(range(6)), st.sets(st.tuples(st.integers(0, 5), st.integers(0, 7))))
def test_the_order_keeps_every_hit_and_puts_newer_ones_first(places: list[int], links: set[tuple[int, int]]) -> None:
    ids = [str(place) for place in places]
    newer = {older: [str(new) for old, new in sorted(links) if str(old) == older] for older in ids}
    assert sorted(in_order(ids, newer)) == sorted(ids)
    forward = {older: [new for new in some if new > older] for older, some in newer.items()}
    ordered = in_order(ids, forward)
    assert all(ordered.index(new) < ordered.index(older) for older in ids for new in forward[older] if new in ids)


def test_a_chain_of_thousands_is_ordered_without_recursion() -> None:
    ids = [str(number) for number in range(5_000)]
    assert in_order(ids, {older: [newer] for older, newer in pairwise(ids)}) == ids[::-1]
