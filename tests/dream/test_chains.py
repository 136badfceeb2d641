"""Chains of superseded notes: a hidden note stays hidden without the notes between, and a circle shows its newest."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from anamnesis.dream.chains import chains
from anamnesis.dream.cycle import DreamResult, Options, dream, rehearse
from anamnesis.dream.undoing import undo
from anamnesis.notes import Memory, parse, render
from anamnesis.store import MemoryStore

A, B, C, D = (f"01J{letter * 23}" for letter in "ABCD")


def note(id: str, *supersedes: str, day: int = 1, **changes: object) -> Memory:
    stamp = f"2026-02-{day:02d}T10:00:00+00:00"
    made = Memory(
        id,
        "semantic",
        f"Title {id[-1]}",
        f"Body of {id}.",
        "acme",
        created_at=stamp,
        updated_at=stamp,
        prov_source="reflection",
        supersedes=[*supersedes],
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def found(store: MemoryStore) -> set[str]:
    return {each.id for each in store.search("Body", k=20, mode="words")}


def kinds(outcome: DreamResult) -> list[str]:
    return [each.kind for each in outcome.decided.applied]


def texts(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((root / "memory").rglob("*.md"))}


def test_what_a_chain_hides_stays_hidden_when_the_note_between_is_deleted(store: MemoryStore) -> None:
    store.put_all([note(A), note(B, A), note(C, B), note(D)])
    assert kinds(dream(store, Options())) == ["chain"]
    assert store.get(C).superseded == [B, A]
    assert store.get(C).updated_at == note(C).updated_at
    store.delete(B)
    assert found(store) == {C, D}
    assert kinds(dream(store, Options())) == []


def test_a_chain_is_found_when_only_the_note_between_changes(store: MemoryStore) -> None:
    store.put_all([note(A), note(B), note(C, B)])
    assert kinds(dream(store, Options())) == []
    store.put(note(B, A, day=2))
    assert kinds(dream(store, Options())) == ["chain"]
    assert store.get(C).superseded == [B, A]


def test_undo_gives_every_byte_back_and_the_chain_is_not_proposed_again(store: MemoryStore) -> None:
    store.put_all([note(A), note(B, A), note(C, B)])
    before = texts(store.root)
    change = dream(store, Options()).change
    assert change
    assert texts(store.root) != before
    undo(store, change)
    assert texts(store.root) == before
    store.put(note(A, day=3))
    assert kinds(dream(store, Options())) == []


def test_the_newest_of_notes_that_supersede_each_other_is_found_again(store: MemoryStore) -> None:
    store.put_all([note(A, B, day=3), note(B, A, day=2), note(C)])
    assert found(store) == {C}
    assert kinds(dream(store, Options())) == ["circle"]
    assert found(store) == {A, C}
    assert kinds(dream(store, Options())) == []


def test_a_circle_of_a_persons_notes_is_left_to_the_person(store: MemoryStore) -> None:
    store.put_all([note(A, B, prov_source="human"), note(B, A, prov_source="human")])
    outcome = dream(store, Options())
    assert [each.kind for each in outcome.decided.review] == ["circle"]
    assert found(store) == set()


def test_ids_of_notes_that_do_not_exist_are_left_alone(store: MemoryStore) -> None:
    store.put_all([note(A, D, "01JNONE0000000000000000000"), note(B, A)])
    before = texts(store.root)
    outcome = dream(store, Options())
    assert kinds(outcome) == []
    assert outcome.decided.review == []
    assert texts(store.root) == before


def test_a_note_that_supersedes_itself_is_found_again(store: MemoryStore) -> None:
    store.put_all([note(A, A, B), note(B)])
    assert kinds(dream(store, Options())) == ["circle"]
    assert store.get(A).superseded == [B]
    assert found(store) == {A}


def test_the_proposal_names_every_note_of_the_chain(store: MemoryStore) -> None:
    store.put_all([note(A), note(B, A), note(C, B), note(D, C)])
    (proposal,) = rehearse(store, Options()).decided.applied
    assert proposal.notes == (D, A, B, C)
    assert proposal.confidence == 1.0
    assert store.get(D).superseded == [C]


GRAPHS = st.dictionaries(st.sampled_from("ABCDEF"), st.sets(st.sampled_from("ABCDEFX"), max_size=3), max_size=6)


@given(GRAPHS, st.permutations(range(6)))
def test_after_a_cycle_nothing_is_left_to_propose_and_no_group_is_hidden_whole(
    graph: dict[str, set[str]], days: list[int]
) -> None:
    """Whatever supersedes what: every hidden note is superseded by one that is found, and nothing else is hidden."""
    notes = {id: note(id, *sorted(graph.get(id, ())), day=days["ABCDEF".index(id)] + 1) for id in "ABCDEF"}

    def hidden() -> set[str]:
        return {id for each in notes.values() for id in each.superseded} & notes.keys()

    before = hidden()
    for _ in range(3):
        links = {id: {*each.superseded} for id, each in notes.items() if each.superseded}
        proposals = [*chains(links, notes)]
        notes |= {each.id: each for proposal in proposals for each in proposal.after}
    assert proposals == []
    assert hidden() <= before
    shown = notes.keys() - hidden()
    assert hidden() <= {id for each in shown for id in notes[each].superseded}
    assert all(parse(render(each)) == each for each in notes.values())


def test_a_chain_of_thousands_costs_little() -> None:
    ids = [f"01J{number:023d}" for number in range(3_000)]
    links = {newer: {older} for older, newer in pairwise(ids)}
    (proposal,) = chains(links, {id: note(id) for id in ids})
    assert len(proposal.after[0].superseded) == 2_999
