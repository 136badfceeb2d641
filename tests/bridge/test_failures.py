"""Nobody's call fails because the other side cannot be read or written, and nothing is forgotten because of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bridge.memory import Two

from anamnesis.bridge import as_bridged, open_bridged
from anamnesis.bridge.bridged import BridgedStore
from anamnesis.store import MemoryStore

resource = pytest.importorskip("resource")


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_notes_can_be_opened_while_the_disk_is_full(two: Two) -> None:
    two.agree()
    two.bridge.close()
    two.add()
    with full_disk(), open_bridged(two.store.root, two.path) as store:
        assert store.list() == []
    with open_bridged(two.store.root, two.path) as store:
        assert as_bridged(store)
    two.reopen()


def test_notes_can_be_opened_while_engram_cannot_be_written(two: Two) -> None:
    """As a file that is only to be read, but for root too: its schema is not complete, and it cannot be made so."""
    two.bridge.close()
    two.db.execute("DROP TRIGGER anamnesis_changes_insert")
    two.db.execute("CREATE TRIGGER no AFTER DELETE ON anamnesis_changes BEGIN SELECT RAISE(ABORT, 'not now'); END")
    two.add()
    two.db.execute("INSERT INTO anamnesis_changes (observation_id) VALUES (1)")
    with open_bridged(two.store.root, two.path) as store:
        assert type(store) is MemoryStore
    assert "not now" in (two.store.root / "anamnesis.log").read_text()
    two.db.execute("DROP TRIGGER no")
    two.reopen()
    two.agree()


def test_calls_return_while_the_disk_is_full_and_what_they_left_is_taken_over_later(two: Two) -> None:
    two.bridge.close()
    with BridgedStore(two.store.root, two.path, "here") as store:
        two.add("First", "first")
        store.keep_up()
        two.add("Second", "second")
        with full_disk():
            store.rest()
            store.keep_up()
            store.catch_up(most=10)
            assert store.reconcile() == 0
            assert store.search("nothing") == []
        store.reconcile()
        assert {note.title for note in store.list()} == {"First", "Second"}
    two.reopen()
    two.agree()


def test_who_closes_on_a_full_disk_forgets_nothing_that_was_agreed(two: Two) -> None:
    two.add("Kept")
    two.agree()
    met = two.store.root / "bridge.met"
    before = met.read_text()
    two.add("New", "new")
    with full_disk():
        two.bridge.close()
    assert met.read_text() == before
    two.store.delete(two.notes()[0].id)
    two.reopen()
    two.agree()
    assert [note.title for note in two.notes()] == ["New"]


@pytest.mark.parametrize("left", [b"", b"\xff\xfe", None])
def test_a_home_whose_mark_was_lost_is_looked_at_anew(two: Two, left: bytes | None) -> None:
    two.add()
    two.agree()
    two.bridge.close()
    met: Path = two.store.root / "bridge.met"
    met.unlink() if left is None else met.write_bytes(left)
    two.reopen()
    two.agree()
    assert met.read_bytes().split() != []
    assert [note.title for note in two.notes()] == ["Title"]
