"""Of notes that say the same, one remains: nothing is lost, and every machine gets the same result."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.dream.alike import NotePair, duplicates, merged
from anamnesis.dream.comparison import compare
from anamnesis.dream.cycle import Options, dream, rehearse
from anamnesis.dream.proposal import Proposal
from anamnesis.notes import Memory
from anamnesis.notes.marks import CONTRADICTS, linked, with_link
from anamnesis.store import MemoryStore

FULL = "The importer runs at night. It skips rows without a key. Ask Priya before you change it."
SAME = (
    FULL,
    "It skips rows without a key. The importer runs at night. Ask Priya before you change it.",
    "The importer runs at night. It omits rows without a key.",
    "As of 2026-03-04: The importer runs at night. It skips rows without a key. Ask Priya before you change it.",
    "Ask Priya before you modify it. The importer runs at night.",
)
OTHERS = (FULL.replace("night", "noon"), FULL.replace("Priya", "Tom"), FULL.replace("without", "with"))


def note(number: int, body: str = FULL, **given: Any) -> Memory:
    time = f"2026-01-{number + 1:02d}T00:00:00+00:00"
    values: dict[str, Any] = {
        "type": "semantic",
        "title": f"Note {number}",
        "prov_model": "m",
        "updated_at": time,
        "created_at": time,
    }
    return Memory(**{"id": f"n{number:02d}", "body": body, **values, **given})


def proposed(notes: list[Memory]) -> list[Proposal]:
    return [*duplicates(NotePair(one, other, compare(one, other), None) for one, other in combinations(notes, 2))]


bodies = st.lists(st.sampled_from([*SAME, *OTHERS]), min_size=2, max_size=6)


@given(bodies, st.randoms(use_true_random=False))
def test_the_result_does_not_depend_on_the_order(texts: list[str], random: Random) -> None:
    notes = [note(number, text) for number, text in enumerate(texts)]
    expected = proposed(notes)
    assert proposed(notes[::-1]) == expected
    random.shuffle(notes)
    assert proposed(notes) == expected


@given(bodies)
def test_no_sentence_is_lost_and_no_group_holds_notes_that_differ(texts: list[str]) -> None:
    notes = {f"n{number:02d}": note(number, text) for number, text in enumerate(texts)}
    for proposal in proposed([*notes.values()]):
        (after,) = proposal.after
        group = [notes[id] for id in proposal.notes]
        assert {*after.superseded, after.id} == {*proposal.notes}
        for one in group:
            assert compare(after, one).lacks_one == ()
        assert not any(compare(one, other).differences for one, other in combinations(group, 2))


def test_a_group_does_not_join_notes_that_differ_through_a_third_one() -> None:
    third = note(3, "The importer runs at night.")
    with_key = note(1, "The importer runs at night. It skips rows without a key in every mode.")
    with_id = note(2, "The importer runs at night. It skips rows without an id in every mode.")
    assert compare(with_key, with_id).differences
    groups = [{*proposal.notes} for proposal in proposed([third, with_key, with_id])]
    assert groups
    assert not any({"n01", "n02"} <= group for group in groups)


def test_the_note_that_stays_takes_tags_times_and_links_and_supersedes_the_rest() -> None:
    full = note(1, tags=["a", "b"], supersedes="old")
    cut = with_link(note(5, SAME[2], tags=["b", "c"]), CONTRADICTS, "0" * 25 + "Z", "n01")
    (proposal,) = proposed([cut, full])
    (after,) = proposal.after
    assert (after.id, after.body, after.tags, after.superseded) == ("n01", FULL, ["a", "b", "c"], ["old", "n05"])
    assert after.updated_at == cut.updated_at
    assert linked(after, CONTRADICTS) == ["0" * 25 + "Z"]
    assert proposal.reason == '"Note 1" says all that "Note 5" says.'
    assert proposal.confidence >= 0.8
    assert merged(after, [cut]) == after


@pytest.mark.parametrize(
    ("one", "other", "stays"),
    [
        (note(1), note(2, SAME[1]), "n01"),
        (note(1), note(2, f"{FULL} Confirmed again."), "n01"),
        (note(1), note(2, SAME[1], prov_model=""), "n02"),
        (note(1), note(2, SAME[1], tags=["pinned"]), "n02"),
        (note(1), note(2, SAME[3]), "n02"),
        (note(1, SAME[2]), note(2), "n02"),
    ],
    ids=["older", "older, though shorter", "a person's", "pinned", "dated", "fuller"],
)
def test_of_notes_that_say_as_much_a_persons_or_else_the_oldest_stays(one: Memory, other: Memory, stays: str) -> None:
    for pair in ([one, other], [other, one]):
        (proposal,) = proposed(pair)
        assert [after.id for after in proposal.after] == [stays]
        assert proposal.notes[0] == stays


def test_a_title_that_says_something_stays() -> None:
    (proposal,) = proposed([note(1), note(2, SAME[2], title="Import of rows")])
    assert [(after.id, after.title) for after in proposal.after] == [("n01", "Import of rows")]


def test_a_doubtful_note_does_not_hold_up_a_sure_merge() -> None:
    found = proposed([note(1, title="Imports"), note(2, title="Imports"), note(3, title="Rows of suppliers")])
    assert [({*each.notes}, each.confidence >= 0.8) for each in found] == [({"n01", "n02"}, True)]
    (left,) = proposed([note(1, title="Imports"), note(3, title="Rows of suppliers")])
    assert left.confidence < 0.8


def test_meanings_that_are_far_apart_are_left_to_a_person() -> None:
    pair = note(1), note(2, SAME[1])
    (proposal,) = duplicates([NotePair(*pair, compare(*pair), 0.4)])
    assert proposal.confidence < 0.8


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"project": "p"}, {"project": "q"}),
        ({"scope": "portable"}, {"scope": "machine-local"}),
        ({"type": "episodic"}, {"type": "semantic"}),
        ({"engram": {"topic_key": "a"}}, {"engram": {"topic_key": "b"}}),
    ],
)
def test_notes_that_are_kept_apart_are_not_merged(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert proposed([note(1, **one), note(2, **other)]) == []
    assert proposed([note(1, **one), note(2, **one)])


@pytest.mark.parametrize(("session", "other", "text", "are_merged"), [
    ("s", "t", SAME[1], False), ("s", "s", SAME[1], True), ("s", "t", FULL, True), ("", "", SAME[1], False),
])  # fmt: skip
def test_records_of_sessions_are_merged_if_they_are_the_same_event(
    session: str, other: str, text: str, are_merged: bool
) -> None:
    given: dict[str, Any] = {"type": "episodic", "prov_source": "session-end", "title": "T"}
    one, two = note(1, prov_session=session, **given), note(2, text, prov_session=other, **given)
    assert bool(proposed([one, two])) == are_merged


def test_a_large_group_is_proposed_in_parts() -> None:
    notes = [replace(note(number % 20, f"{FULL}"), id=f"n{number:03d}") for number in range(60)]
    groups = [{*proposal.notes} for proposal in proposed(notes)]
    assert all(len(group) <= 20 for group in groups)
    assert sum(len(group) for group in groups) == 60


def test_a_group_that_is_too_large_for_a_small_project_is_merged_in_several_cycles(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "store") as store:
        filler = [note(number + 10, f"Fact {number} is about {'abcdefghij'[number] * 9}.") for number in range(6)]
        store.put_whole([*(note(number) for number in range(4)), *filler], {}, follower="")
        sizes = []
        while (decided := dream(store, Options()).decided).applied:
            sizes.append([len(each.notes) for each in decided.applied])
            assert not decided.review
        assert sizes == [[2], [2], [2]]
        assert len(store.live(f"n{number:02d}" for number in range(4))) == 1


def test_after_a_cycle_there_is_nothing_left_to_merge(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "store") as store:
        store.put_whole([note(number, text) for number, text in enumerate([*SAME, *OTHERS])], {}, follower="")
        filler = [note(number + 10, f"Fact {number} is about {'abcdefghij'[number % 10] * 9}.") for number in range(15)]
        store.put_whole(filler, {}, follower="")
        (found,) = rehearse(store, Options(share=1.0)).decided.applied
        assert {*found.notes} == {f"n{number:02d}" for number in range(len(SAME))}
        assert dream(store, Options(share=1.0)).change
        after = dream(store, Options(share=1.0)).decided
        assert (after.applied, after.waiting, after.review) == ([], [], [])
        assert {each.id for each in store.live(found.notes)} == {found.after[0].id}


def test_a_new_wording_of_an_old_note_is_found_by_the_next_cycle(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "store") as store:
        store.put_whole([note(1)], {}, follower="")
        dream(store, Options())
        store.put_whole([note(2, SAME[1])], {}, follower="")
        outcome = rehearse(store, Options())
        assert outcome.looked_at == 1
        assert [each.kind for each in outcome.decided.applied] == ["duplicate"]
