"""Two machines dream about the same notes and sync: the marks of both are there, and nothing conflicts."""

from __future__ import annotations

from tests.dream.test_updates import NEWER, OLDER, port
from tests.sync.machine import Machine, assert_same, settle

from anamnesis.dream.cycle import Options, dream
from anamnesis.notes.marks import UPDATED_BY, UPDATES, linked
from anamnesis.notes.merge import CONFLICT_TAG

THIRD = "01JCCCCCCCCCCCCCCCCCCCCCCC"


def test_the_same_marks_of_two_machines_are_one(a: Machine, b: Machine) -> None:
    a.store.put_all([port(8080), port(9090, NEWER, 2)])
    settle(a, b)
    for machine in (a, b):
        assert len(dream(machine.store, Options()).decided.applied) == 1
    settle(a, b)
    assert_same(a, b)
    assert linked(b.store.get(OLDER), UPDATED_BY) == [NEWER]
    assert b.store.tagged(CONFLICT_TAG) == []


def test_marks_for_different_reasons_are_united(a: Machine, b: Machine) -> None:
    """Each machine has a newer note that the other has not seen when it dreams."""
    a.store.put(port(8080))
    settle(a, b)
    a.store.put(port(9090, NEWER, 2))
    b.store.put(port(7070, THIRD, 3))
    for machine in (a, b):
        assert len(dream(machine.store, Options()).decided.applied) == 1
    settle(a, b)
    assert_same(a, b)
    for machine in (a, b):
        assert linked(machine.store.get(OLDER), UPDATED_BY) == [NEWER, THIRD]
        assert linked(machine.store.get(THIRD), UPDATES) == [OLDER]
        assert machine.store.get(OLDER).tags == ["outdated"]
        assert machine.store.tagged(CONFLICT_TAG) == []


def test_machines_that_dream_and_sync_in_turn_come_to_rest(a: Machine, b: Machine) -> None:
    a.store.put_all([port(8080), port(9090, NEWER, 2)])
    b.store.put(port(7070, THIRD, 3))
    for _ in range(4):
        for machine in (a, b):
            dream(machine.store, Options())
        settle(a, b)
    assert_same(a, b)
    assert [len(dream(machine.store, Options()).decided.applied) for machine in (a, b)] == [0, 0]
    assert linked(a.store.get(OLDER), UPDATED_BY) == [NEWER, THIRD]
    assert a.store.tagged(CONFLICT_TAG) == []
