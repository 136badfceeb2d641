"""Updates and contradictions are distinguished from notes that merely differ; they are linked, tagged and undone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dream.test_chains import texts

from anamnesis.dream.alike import NotePair
from anamnesis.dream.comparison import compare
from anamnesis.dream.cycle import DreamResult, Options, dream
from anamnesis.dream.proposal import Proposal
from anamnesis.dream.triage import THRESHOLD
from anamnesis.dream.undoing import undo
from anamnesis.dream.updates import excluding, resolved, updates
from anamnesis.notes import Memory, parse, render
from anamnesis.notes.marks import CONTRADICTS, UPDATED_BY, UPDATES, linked, marks_of, with_link
from anamnesis.notes.merge import merge
from anamnesis.store import MemoryStore

TABLE = json.loads(Path(__file__).with_name("updates.json").read_text("utf-8"))
OLDER, NEWER = "01JAAAAAAAAAAAAAAAAAAAAAAA", "01JBBBBBBBBBBBBBBBBBBBBBBB"


def note(text: str, id: str = OLDER, day: int = 1, **changes: object) -> Memory:
    """A note of `title | body`, or one whose title is its body."""
    title, _, body = text.partition(" | ")
    stamp = f"2026-03-{day:02d}T10:00:00+00:00"
    made = Memory(
        id,
        "semantic",
        title if body else text[:60].rstrip("."),
        body or text,
        "acme",
        created_at=stamp,
        updated_at=stamp,
        prov_source="reflection",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def port(number: int, id: str = OLDER, day: int = 1, **changes: object) -> Memory:
    return note(f"The API of the shop listens on port {number}.", id, day, **changes)


def found_in(one: Memory, other: Memory) -> list[Proposal]:
    found = excluding(one, other)
    return [*updates(NotePair(one, other, compare(one, other), None), found)] if found else []


def sureness(one: str, other: str) -> float:
    """The confidence of a dream that two notes exclude each other, in either order."""
    first, second = note(one), note(other, NEWER, 2)
    sure = {each.confidence for pair in ((first, second), (second, first)) for each in found_in(*pair)}
    assert len(sure) <= 1
    return sure.pop() if sure else 0.0


def proposed(one: Memory, other: Memory) -> list[tuple[str, list[Memory]]]:
    return [(each.kind, [*each.after]) for each in found_in(one, other)]


@pytest.mark.parametrize("half", TABLE)
def test_pairs_that_merely_differ_are_never_linked_by_a_dream(half: str) -> None:
    linked = [pair for pair in TABLE[half]["none"] if sureness(*pair) >= THRESHOLD]
    assert linked == []


@pytest.mark.parametrize("half", TABLE)
def test_most_updates_and_contradictions_are_found(half: str) -> None:
    pairs = TABLE[half]["updates"]
    found = [pair for pair in pairs if sureness(*pair) >= THRESHOLD]
    assert len(found) >= 0.8 * len(pairs)


def test_the_newer_note_updates_the_older_and_neither_changes_its_time_or_text() -> None:
    older, newer = port(8080), port(9090, NEWER, 2)
    ((kind, after),) = proposed(older, newer)
    marked = {each.id: each for each in after}
    assert kind == "update"
    assert linked(marked[NEWER], UPDATES) == [OLDER]
    assert linked(marked[OLDER], UPDATED_BY) == [NEWER]
    assert marked[OLDER].tags == ["outdated"]
    assert [(each.title, each.body, each.updated_at) for each in marked.values()] == [
        (each.title, each.body, each.updated_at) for each in (newer, older)
    ]
    assert proposed(newer, older) == [(kind, after)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (port(8080), port(9090, NEWER)),
        (port(8080), port(9090, NEWER, updated_at="2026-03-01T10:00:30+00:00")),
        (port(8080, updated_at="2026-03-09T10:00:00+00:00"), port(9090, NEWER, 2)),
        (port(8080, updated_at="yesterday"), port(9090, NEWER, 2)),
    ],
    ids=["the same time", "written together", "the first written was changed last", "no time"],
)
def test_where_it_is_unclear_which_holds_both_are_marked_as_contradicting(one: Memory, other: Memory) -> None:
    ((kind, after),) = proposed(one, other)
    assert kind == "contradiction"
    assert {each.id: linked(each, CONTRADICTS) for each in after} == {OLDER: [NEWER], NEWER: [OLDER]}
    assert all(each.tags == ["contradicted"] for each in after)


def test_linked_notes_are_not_proposed_again_and_notes_of_other_kinds_never() -> None:
    ((_, after),) = proposed(port(8080), port(9090, NEWER, 2))
    assert proposed(*after) == []
    assert proposed(port(8080), port(9090, NEWER, 2, project="other")) == []
    assert proposed(port(8080), port(9090, NEWER, 2, type="episodic")) == []
    assert proposed(port(8080, scope="machine-local"), port(9090, NEWER, 2)) == []


def test_an_outdated_note_that_was_changed_since_is_left_to_a_person() -> None:
    ((_, after),) = proposed(port(8080), port(9090, NEWER, 2))
    newer, older = after
    changed = replace(older, title=port(7070).title, body=port(7070).body, updated_at="2026-03-09T10:00:00+00:00")
    (proposal,) = found_in(changed, newer)
    assert proposal.kind == "contradiction"
    assert proposal.confidence < THRESHOLD
    assert {each.id: marks_of(each) for each in proposal.after} == {
        OLDER: {CONTRADICTS: NEWER},
        NEWER: {CONTRADICTS: OLDER},
    }


def test_links_to_a_note_that_is_gone_or_does_not_differ_any_more_are_removed() -> None:
    ((_, after),) = proposed(port(8080), port(9090, NEWER, 2))
    newer, older = after
    (gone,) = resolved(older, {}, {NEWER})
    assert gone.after == (port(8080),)
    assert [*resolved(older, {NEWER: newer}, set())] == []
    edited = replace(newer, title=older.title, body=older.body)
    (same,) = resolved(older, {NEWER: edited}, set())
    assert same.after == (port(8080), replace(port(9090, NEWER, 2), title=older.title, body=older.body))


def test_a_link_that_somebody_made_by_hand_stays() -> None:
    mine = with_link(port(8080), UPDATED_BY, NEWER)
    assert [*resolved(mine, {NEWER: note("Cats purr.", NEWER, 2)}, set())] == []
    assert [*resolved(mine, {}, set())] == []


def test_two_machines_that_mark_the_same_notes_merge_without_a_conflict() -> None:
    """Each has seen another newer note: the marks of both are kept."""
    older = port(8080)
    ((_, here),) = proposed(older, port(9090, NEWER, 2))
    ((_, there),) = proposed(older, port(7070, "01JCCCCCCCCCCCCCCCCCCCCCCC", 3))
    merged = merge(older, here[1], there[1])
    assert merged.other is None
    assert linked(merged.note, UPDATED_BY) == [NEWER, "01JCCCCCCCCCCCCCCCCCCCCCCC"]
    assert merged.note.tags == ["outdated"]


def filled(store: MemoryStore) -> None:
    """Other notes of the project, so that some may change in one cycle."""
    store.put_all([note(f"Cat number {number} sleeps on roof {number}.", f"01JF{number:022d}") for number in range(60)])


def links_of(store: MemoryStore) -> dict[str, dict[str, str]]:
    return {each.id: marks for each in store.whole([OLDER, NEWER]) if (marks := marks_of(each))}


def applied(outcome: DreamResult) -> list[str]:
    return sorted(each.kind for each in outcome.decided.applied)


def test_a_dream_links_what_was_updated_and_a_search_shows_the_newer_first(store: MemoryStore) -> None:
    store.put_all([port(8080), port(9090, NEWER, 2)])
    before = [each.id for each in store.search("which port does the API of the shop use", mode="words")]
    change = dream(store, Options()).change
    assert links_of(store) == {OLDER: {UPDATED_BY: NEWER}, NEWER: {UPDATES: OLDER}}
    found = [each.id for each in store.search("which port does the API of the shop use", mode="words")]
    assert (before[0], found) == (NEWER, [NEWER, OLDER])
    assert applied(dream(store, Options())) == []
    assert change
    assert [each["kind"] for each in change.facts["proposals"]] == ["update"]


@pytest.mark.parametrize("pair", TABLE["seen"]["updates"][:6], ids=lambda pair: pair[0])
def test_a_cycle_finds_the_pairs_by_itself(store: MemoryStore, pair: list[str]) -> None:
    filled(store)
    dream(store, Options())
    store.put_all([note(pair[0]), note(pair[1], NEWER, 2)])
    assert applied(dream(store, Options())) == ["update"]


def test_undo_gives_every_byte_back_and_the_update_is_not_proposed_again(store: MemoryStore) -> None:
    store.put_all([port(8080), port(9090, NEWER, 2)])
    before = texts(store.root)
    change = dream(store, Options()).change
    assert change
    assert texts(store.root) != before
    undo(store, change)
    assert texts(store.root) == before
    assert applied(dream(store, Options())) == []


def test_a_persons_note_is_proposed_and_not_marked(store: MemoryStore) -> None:
    store.put_all([port(8080, prov_source="human"), port(9090, NEWER, 2)])
    outcome = dream(store, Options())
    assert [each.kind for each in outcome.decided.review] == ["update"]
    assert links_of(store) == {}


def test_when_the_newer_note_is_deleted_the_older_is_not_outdated_any_more(store: MemoryStore) -> None:
    store.put_all([port(8080), port(9090, NEWER, 2)])
    before = texts(store.root)
    dream(store, Options())
    store.delete(NEWER)
    assert store.hits("API port", mode="words")[0].marks.shown() == {}
    assert applied(dream(store, Options())) == ["resolved"]
    assert texts(store.root) == {f"{OLDER}.md": before[f"{OLDER}.md"]}


def test_when_the_newer_note_is_edited_to_say_the_same_both_marks_go(store: MemoryStore) -> None:
    store.put_all([port(8080), port(9090, NEWER, 2)])
    dream(store, Options())
    back = "It was moved back: the API of the shop listens on port 8080."
    store.update(NEWER, title="Where the shop answers", body=back)
    outcome = dream(store, Options())
    assert "resolved" in applied(outcome)
    assert links_of(store) == {}


def test_two_machines_find_the_same_and_write_the_same_bytes(tmp_path: Path) -> None:
    homes = [tmp_path / name for name in ("here", "there")]
    for home in homes:
        with MemoryStore(home) as store:
            filled(store)
            store.put_all([port(8080), port(9090, NEWER, 2), port(7070, "01JCCCCCCCCCCCCCCCCCCCCCCC", 3)])
            for _ in range(5):
                dream(store, Options())
    here, there = (texts(home) for home in homes)
    assert here == there
    with MemoryStore(homes[0]) as store:
        assert linked(store.get(OLDER), UPDATED_BY) == [NEWER, "01JCCCCCCCCCCCCCCCCCCCCCCC"]
        assert applied(dream(store, Options())) == []


SENTENCES = st.sampled_from(
    [
        text.partition(" | ")[2] or text
        for half in TABLE.values()
        for some in half.values()
        for pair in some
        for text in pair
    ]
)


@given(st.lists(SENTENCES, min_size=1, max_size=4), st.lists(SENTENCES, min_size=1, max_size=4))
def test_any_two_notes_are_judged_the_same_from_both_sides(one: list[str], other: list[str]) -> None:
    first, second = note(f"Shop | {' '.join(one)}"), note(f"Shop | {' '.join(other)}", NEWER, 2)
    assert proposed(first, second) == proposed(second, first)
    assert all(parse(render(each)) == each for _, after in proposed(first, second) for each in after)
    assert excluding(first, replace(first, id=NEWER)) is None


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_is_compared(one: str, other: str) -> None:
    excluding(note(f"t | {one}"), note(f"t | {other}"))
