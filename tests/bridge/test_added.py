"""Observations that the bridge's own connection has just added become notes without being read again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bridge.memory import Two, connected

from anamnesis.bridge import journal
from anamnesis.bridge.bridge import Bridge
from anamnesis.engram import database, observations, sessions
from anamnesis.engram.database import Connection, connect, prepare
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.shared import Shared
from anamnesis.store import MemoryStore

TEXT = st.text(min_size=1, max_size=40)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    """As a daemon has them: the bridge uses the connection that writes."""
    path = tmp_path / "engram.db"
    with contextlib.closing(Shared(path)) as shared, MemoryStore(tmp_path / "store") as store:
        sessions.create(shared.db, "s1", "anamnesis")
        bridge = Bridge(store, shared, "here")
        yield Two(store, path, shared.db, bridge)
        bridge.close()


def statements(two: Two, work: Callable[[], object]) -> list[str]:
    done: list[str] = []
    two.db.set_trace_callback(done.append)
    work()
    two.db.set_trace_callback(None)
    return done


def follow(two: Two, since: int) -> None:
    two.bridge.follow_rows(since, answer=lambda: None)
    two.bridge.flush()


def test_a_batch_becomes_notes_without_reading_what_was_just_written(two: Two) -> None:
    since = two.bridge.last_change()
    new = [NewObservation("s1", f"title {number}", f"content {number}") for number in range(40)]
    observations.add_all(two.db, new)
    asked = statements(two, lambda: follow(two, since))
    assert not [sql for sql in asked if "FROM observations" in sql or "FROM anamnesis_twins WHERE ob" in sql]
    assert sorted(note.body for note in two.notes()) == sorted(each.content for each in new)
    two.agree()


def changed(two: Two, db: Connection, id: int) -> None:
    observations.update(db, id, {"content": "changed"})


def removed(two: Two, db: Connection, id: int) -> None:
    observations.delete(db, id, hard=True)


def reconciled(two: Two, _: Connection, id: int) -> None:
    with connected(two.store.root, two.path, "there") as other:
        other.reconcile()


def reconciled_and_changed(two: Two, db: Connection, id: int) -> None:
    reconciled(two, db, id)
    changed(two, db, id)


def beside_another(two: Two, db: Connection, id: int) -> None:
    observations.add(db, NewObservation("s1", "another", "another"))


@pytest.mark.parametrize("meanwhile", [changed, removed, reconciled, reconciled_and_changed, beside_another])
@pytest.mark.parametrize("by", ["its own connection", "another program"])
def test_what_became_of_an_observation_before_it_is_followed_counts(
    two: Two, meanwhile: Callable[[Two, Connection, int], None], by: str
) -> None:
    since = two.bridge.last_change()
    id = two.add()
    with contextlib.closing(connect(two.path)) as other:
        meanwhile(two, two.bridge._db if by == "its own connection" else other, id)
    follow(two, since)
    bodies = sorted(note.body for note in two.notes())
    assert bodies == sorted(row.content for row in two.rows())
    assert journal.changed(two.db) == {}
    two.agree()


def test_rows_that_were_rolled_back_are_forgotten(two: Two) -> None:
    """The next row has the same id."""
    since = two.bridge.last_change()
    with contextlib.suppress(ZeroDivisionError), database.writing(two.db):
        two.add("rolled back", "rolled back")
        raise ZeroDivisionError
    two.db.execute(
        "INSERT INTO observations (sync_id, session_id, type, title, content) VALUES ('obs-1', 's1', 'x', 'other', 'o')"
    )
    follow(two, since)
    assert [note.title for note in two.notes()] == ["other"]
    two.agree()


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    path = tmp_path_factory.mktemp("engram") / "engram.db"
    prepare(path)
    with contextlib.closing(connect(path)) as db:
        sessions.create(db, "s1", "p")
        yield db


@given(st.lists(st.builds(NewObservation, st.just("s1"), TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT), max_size=4))
def test_an_added_observation_is_as_it_is_stored(empty: Connection, new: list[NewObservation]) -> None:
    with contextlib.suppress(database.Refused):
        observations.add_all(empty, new)
    stored = journal.observations(empty, empty.added).items()
    unchanged = {id: row for id, row in stored if row.revision_count == row.duplicate_count == 1}
    assert unchanged == {id: empty.added[id] for id in unchanged}
