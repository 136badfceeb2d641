"""The note of another tool's record always has the same id, which begins with the record's time."""

from __future__ import annotations

from anamnesis.notes import Memory, derived_id, moment_of
from anamnesis.store import MemoryStore
from anamnesis.store.ids import id_of_record
from anamnesis.store.purging import purge

THEN, LATER = "2024-03-01T10:00:00+00:00", "2025-06-01T10:00:00+00:00"


def test_the_id_has_the_records_time(store: MemoryStore) -> None:
    assert moment_of(id_of_record(store, "tool:one", THEN)) == THEN


def test_a_record_whose_time_changed_keeps_the_id_of_its_note(store: MemoryStore) -> None:
    known = id_of_record(store, "tool:one", THEN)
    store.put(Memory(known, "semantic", "One", "body"))
    assert id_of_record(store, "tool:one", LATER) == known
    assert id_of_record(store, "tool:two", LATER) != known


def test_deleted_and_purged_notes_keep_their_ids_too(store: MemoryStore) -> None:
    ids = [id_of_record(store, f"tool:{number}", THEN) for number in range(2)]
    store.put_all(Memory(id, "semantic", "One", "body") for id in ids)
    store.delete(ids[0])
    purge(store, ids[1])
    assert [id_of_record(store, f"tool:{number}", LATER) for number in range(2)] == ids


def test_an_id_of_an_earlier_release_is_kept(store: MemoryStore) -> None:
    earlier = derived_id("", "tool:one")
    store.put(Memory(earlier, "semantic", "One", "body"))
    assert id_of_record(store, "tool:one", THEN) == earlier
