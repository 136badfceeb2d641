"""A conflict is listed on every machine until somebody on one of them ends it, and no version goes for good."""

from __future__ import annotations

import pytest
from tests.sync.machine import Machine, assert_same, settle

from anamnesis.errors import InvalidArgument, NoteNotFound
from anamnesis.history.conflicting import compare
from anamnesis.notes import Memory
from anamnesis.sync.conflicts import find_conflicts, list_conflicts, resolve


@pytest.fixture
def note_id(a: Machine, b: Machine) -> str:
    """A note that both machines changed in the same line."""
    made = a.note("one\ntwo")
    settle(a, b)
    a.store.update(made, body="one\nof a")
    b.store.update(made, body="one\nof b")
    settle(a, b)
    return made


def trashed_texts(machine: Machine) -> str:
    return "".join((machine.store.root / each.path).read_text("utf-8") for each in machine.store.trashed())


def test_it_is_listed_on_both_machines_with_both_versions(a: Machine, b: Machine, note_id: str) -> None:
    for each in (a, b):
        (conflict,) = list_conflicts(each.store)
        assert (conflict.id, conflict.note) == (note_id, each.store.get(note_id))
        assert {conflict.other.body, each.store.get(note_id).body} == {"one\nof a", "one\nof b"}
        this, other = each.store.get(note_id).body[-4:], conflict.other.body[-4:]
        compared = compare(each.store, conflict)
        assert compared.diff == f"-{this}\n+{other}\n"
        assert (f"of {compared.this}", f"of {compared.other}") == (this, other)
        assert find_conflicts(each.store, note_id.lower()) == [conflict]
        assert find_conflicts(each.store, conflict.other.id) == [conflict]


def test_the_other_version_takes_the_place_of_the_note_in_engram_too(a: Machine, b: Machine) -> None:
    """By these Engram knows it: the next save on its topic is a revision of it."""
    identity = {"sync_id": "obs-0123456789abcdef", "topic_key": "t/k"}
    made = a.store.put(Memory("made", "semantic", "T", "one", engram={**identity, "type": "decision"})).id
    settle(a, b)
    a.store.update(made, body="of a")
    b.store.update(made, body="of b", engram={**identity, "type": "bugfix"})
    settle(a, b)
    (conflict,) = list_conflicts(a.store)
    kept = resolve(a.store, conflict, "other").note
    assert kept.body == conflict.other.body
    assert kept.engram == {**conflict.other.engram, **identity}


@pytest.mark.parametrize("keep", ["this", "other", "both"])
def test_ended_on_one_machine_it_is_ended_on_all(a: Machine, b: Machine, note_id: str, keep: str) -> None:
    (conflict,) = list_conflicts(a.store)
    this, other = a.store.get(note_id).body, conflict.other.body
    resolve(a.store, conflict, keep)
    settle(a, b)
    assert_same(a, b)
    assert list_conflicts(a.store) == list_conflicts(b.store) == []
    assert b.store.get(note_id).body == (other if keep == "other" else this)
    assert b.bodies() == {"this": {this}, "other": {other}, "both": {this, other}}[keep]
    gone = {"this": [other], "other": [this], "both": []}[keep]
    assert all(text in trashed_texts(a) for text in gone)


def test_a_text_written_since_is_in_the_trash_when_the_other_version_is_kept(a: Machine, note_id: str) -> None:
    (conflict,) = list_conflicts(a.store)
    a.store.update(note_id, body="written since, and not synced yet")
    resolve(a.store, conflict, "other")
    assert a.store.get(note_id).body == conflict.other.body
    assert "written since, and not synced yet" in trashed_texts(a)


def test_of_a_note_that_was_deleted_only_the_other_version_can_be_kept(a: Machine, b: Machine, note_id: str) -> None:
    a.store.delete(note_id)
    (conflict,) = list_conflicts(a.store)
    assert conflict.note is None
    with pytest.raises(InvalidArgument, match="has been deleted"):
        resolve(a.store, conflict, "this")
    resolve(a.store, conflict, "other")
    settle(a, b)
    assert b.store.get(note_id).body == conflict.other.body
    assert_same(a, b)


def test_three_versions_of_a_line_are_two_conflicts_that_end_one_by_one(a: Machine, b: Machine, note_id: str) -> None:
    a.store.update(note_id, body="one\nagain of a")
    b.store.update(note_id, body="one\nagain of b")
    settle(a, b)
    assert len(find_conflicts(a.store, note_id)) == 2
    for conflict in list_conflicts(a.store):
        resolve(a.store, conflict, "this")
    settle(a, b)
    assert list_conflicts(b.store) == []
    with pytest.raises(NoteNotFound):
        find_conflicts(b.store, note_id)
