"""A note that was purged on a machine does not come back to it by a sync; for the others it is deleted."""

from __future__ import annotations

from pathlib import Path

from tests.sync.machine import Machine, machine

from anamnesis.store.purging import purge
from anamnesis.store.tombstones import is_purged


def shared_note(a: Machine, b: Machine) -> str:
    note_id = a.note("to be purged")
    a.note("of a")
    a.sync()
    b.sync()
    b.note("of b")
    return note_id


def assert_gone(a: Machine, b: Machine, note_id: str) -> None:
    """From a for good, from b into its trash, and it stays so."""
    for _ in range(2):
        a.sync()
        b.sync()
    assert a.bodies() == b.bodies() == {"of a", "of b"}
    assert a.files() == b.files()
    assert (a.is_clean(), b.is_clean()) == (True, True)
    assert (a.store.trashed(), [each.id for each in b.store.trashed()]) == ([], [note_id])


def test_a_purge_is_a_deletion_for_the_other_machines(a: Machine, b: Machine) -> None:
    note_id = shared_note(a, b)
    purge(a.store, note_id)
    assert_gone(a, b, note_id)


def test_an_edit_of_another_machine_does_not_bring_a_purged_note_back(a: Machine, b: Machine) -> None:
    note_id = shared_note(a, b)
    b.store.update(note_id, body="edited elsewhere")
    b.sync()
    purge(a.store, note_id)
    assert_gone(a, b, note_id)


def test_a_restoration_on_another_machine_does_not_bring_a_purged_note_back(a: Machine, b: Machine) -> None:
    note_id = shared_note(a, b)
    purge(a.store, note_id)
    a.sync()
    b.sync()
    b.store.restore(note_id)
    b.sync()
    assert_gone(a, b, note_id)


def test_a_purged_note_does_not_come_with_the_first_sync(a: Machine, b: Machine, tmp_path: Path) -> None:
    """As where a folder of notes was moved away so that it is fetched anew."""
    note_id = shared_note(a, b)
    b.sync()
    new = machine(tmp_path, "new", a.backend.remote)
    purge(new.store, note_id)
    new.sync()
    assert new.bodies() == {"of a", "of b"}
    assert new.is_clean()
    assert new.store.trashed() == []
    a.sync()
    assert a.bodies() == {"of a", "of b"}


def test_a_note_that_is_written_again_is_a_note_like_any_other(a: Machine, b: Machine) -> None:
    note_id = shared_note(a, b)
    note = a.store.get(note_id)
    purge(a.store, note_id)
    a.sync()
    b.sync()
    a.store.put(note)
    assert not is_purged(a.store.root, note_id)
    a.sync()
    b.sync()
    assert a.bodies() == b.bodies() == {"of a", "of b", "to be purged"}
