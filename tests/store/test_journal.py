"""The journal of changed notes: nothing that changes is missed, and what changed again is not forgotten."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from anamnesis.notes import Memory, render
from anamnesis.store import MemoryStore

OLD, NEW = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"


def note(name: str, body: str = "b", updated_at: str = OLD) -> Memory:
    return Memory(name, "semantic", "t", body, created_at=OLD, updated_at=updated_at)


def hashes(store: MemoryStore, *ids: str) -> dict[str, bytes | None]:
    return {name: file.hash for name, file in store.files(ids).items()}


@pytest.fixture
def tracked(store: MemoryStore) -> MemoryStore:
    """Three notes that have been dealt with."""
    store.put_all(note(name) for name in ("a", "b", "c"))
    store.track("bridge")
    store.settle(store.changed())
    assert store.changed() == {}
    return store


def names_in_schema(store: MemoryStore) -> set[str]:
    with sqlite3.connect(store.db_path) as db:
        found = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'trigger')")}
    db.close()
    return found


def test_who_never_asks_has_no_journal(store: MemoryStore) -> None:
    store.put(note("a"))
    assert store.changed() == {}
    store.settle({"a": None})
    assert not {"journal", "changed_notes", "note_file_entered"} & names_in_schema(store)


def test_for_a_new_consumer_every_note_has_changed(store: MemoryStore) -> None:
    store.put_all([note("a"), note("b")])
    for consumer in ("one", "two", "one"):
        assert store.track(consumer)
        assert store.changed() == hashes(store, "a", "b")
        store.settle(store.changed())
        assert not store.track(consumer)
        assert store.changed() == {}


def test_every_way_to_change_a_note_is_noted(tracked: MemoryStore) -> None:
    store = tracked
    written = store.write(type="semantic", title="t", body="b")
    store.update("a", body="other")
    store.delete("b")
    assert store.changed() == {**hashes(store, written.id, "a"), "b": None}
    store.restore("b")
    assert store.changed()["b"] == hashes(store, "b")["b"]


def test_what_the_consumer_writes_is_not_noted(tracked: MemoryStore) -> None:
    tracked.update("a", body="by somebody")
    tracked.put_whole([note("a", "by the consumer"), note("w")])
    assert tracked.changed() == {}


def test_what_is_written_as_it_was_is_no_change(tracked: MemoryStore) -> None:
    tracked.put(note("a"))
    tracked.refresh()
    assert tracked.changed() == {}


def test_what_others_did_to_the_files_is_noted(tracked: MemoryStore) -> None:
    folder = tracked.memory_dir / "semantic"
    (folder / "b.md").unlink()
    (folder / "c.md").rename(folder / "moved.md")
    (folder / "new.md").write_text(render(note("new")), "utf-8")
    (folder / "a.md").write_text("broken", "utf-8")
    tracked.refresh()
    assert tracked.changed() == {"a": None, "b": None, **hashes(tracked, "c", "new")}


def test_an_edit_in_place_is_noted_when_the_file_is_asked_for(tracked: MemoryStore) -> None:
    path = tracked.memory_dir / "semantic" / "a.md"
    path.write_text(render(note("a", "edited in place")), "utf-8")
    file = tracked.file("a")
    assert file
    assert tracked.changed() == {"a": file.hash}


def test_a_file_that_takes_the_id_of_another_note_changes_both(tracked: MemoryStore) -> None:
    path = tracked.memory_dir / "semantic" / "a.md"
    path.write_text(render(note("z")), "utf-8")
    os.utime(path, ns=(0, 0))  # it has the same size, and perhaps was written within one tick
    tracked.refresh()
    assert tracked.changed() == {"a": None, **hashes(tracked, "z")}


def test_a_second_file_that_takes_over_is_the_state(tracked: MemoryStore) -> None:
    (tracked.memory_dir / "copy.md").write_text(render(note("a", "copy")), "utf-8")
    tracked.refresh()
    assert tracked.changed() == hashes(tracked, "a")
    tracked.settle(tracked.changed())
    tracked.delete("a")
    found = tracked.file("a")
    assert found
    assert found.path == "memory/copy.md"
    assert tracked.changed() == {"a": found.hash}


def test_what_changed_since_it_was_read_stays_noted(tracked: MemoryStore) -> None:
    tracked.update("a", body="one")
    tracked.delete("b")
    seen = tracked.changed()
    tracked.update("a", body="two")
    tracked.restore("b")
    tracked.settle(seen)
    assert tracked.changed() == hashes(tracked, "a", "b")


def test_settling_what_nobody_noted_changes_nothing(tracked: MemoryStore) -> None:
    tracked.delete("a")
    tracked.settle({"b": b"?", "never": None, "a": b"?"})
    assert tracked.changed() == {"a": None}


def test_a_limit_gives_some_and_loses_none(tracked: MemoryStore) -> None:
    tracked.put_all(note(f"n{number}") for number in range(10))
    seen = {}
    while some := tracked.changed(3):
        assert len(some) <= 3
        tracked.settle(some)
        seen.update(some)
    assert seen == hashes(tracked, *(f"n{number}" for number in range(10)))
    assert tracked.changed(0) == {}


def test_after_a_reindex_everything_is_noted_again(tracked: MemoryStore) -> None:
    tracked.reindex()
    assert tracked.changed() == {}
    assert tracked.track("bridge")
    assert tracked.changed() == hashes(tracked, "a", "b", "c")


def test_a_lost_index_notes_everything_again(tracked: MemoryStore) -> None:
    tracked.close()
    tracked.db_path.unlink()
    tracked.track("bridge")
    assert tracked.changed() == hashes(tracked, "a", "b", "c")


def test_two_stores_share_one_journal(tracked: MemoryStore) -> None:
    with MemoryStore(tracked.root) as other:
        other.track("bridge")
        assert other.changed() == {}
        other.update("a", body="theirs")
        seen = tracked.changed()
        assert seen == other.changed() == hashes(tracked, "a")
        other.update("a", body="theirs again")
        tracked.settle(seen)
        assert tracked.changed() == other.changed() == hashes(other, "a")
        tracked.settle(tracked.changed())
        assert other.changed() == {}


def test_a_store_opened_before_the_journal_was_asked_for_fills_it(store: MemoryStore) -> None:
    store.put(note("a"))
    with MemoryStore(store.root) as other:
        assert other.count() == 1
        store.track("bridge")
        store.settle(store.changed())
        other.put(note("b"))
        assert store.changed() == hashes(store, "b")


WRITER = """
import sys
from anamnesis.store import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    for number in range(150):
        store.update("shared", body=f"{sys.argv[2]} {number}")
        store.write(type="semantic", title="t", body=f"{sys.argv[2]} {number}")
        if number % 50 == 49 and sys.argv[2] == "x":
            store.reindex()
"""


def test_a_consumer_beside_writers_and_a_reindex_ends_with_what_the_files_say(store: MemoryStore) -> None:
    """Each process changes the same note and its own; what the consumer settled last is what each file holds."""
    store.put(note("shared"))
    command = [sys.executable, "-c", WRITER, str(store.root)]
    writers = [subprocess.Popen([*command, name]) for name in ("x", "y")]
    known: dict[str, bytes | None] = {}
    running = True
    while running:
        running = any(writer.poll() is None for writer in writers)
        store.track("bridge")
        seen = store.changed()
        known.update(seen)
        store.settle(seen)
    assert [writer.wait() for writer in writers] == [0, 0]
    while store.changed():
        known.update(seen := store.changed())
        store.settle(seen)
    assert known == hashes(store, *(memory.id for memory in store.list()))
    assert len(known) == 301


class Journal(RuleBasedStateMachine):
    """Whatever is done to the files: who follows the journal knows every file that stands for a note."""

    names = st.sampled_from(["a", "b", "c"])
    files = st.sampled_from(["a.md", "b.md", "c.md", "x.md", "sub/y.md"])

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = MemoryStore(Path(self.folder.name))
        self.known: dict[str, bytes | None] = {}
        self.written_by_hand = 0

    @rule(name=names, body=st.sampled_from(["one", "two"]), whole=st.booleans())
    def put(self, name: str, body: str, whole: bool) -> None:
        if self.store.problems():
            return
        if whole:
            [written] = self.store.put_whole([note(name, body)])
            self.known[name] = written.hash
        else:
            self.store.put_all([note(name, body)])

    @rule(name=names)
    def delete(self, name: str) -> None:
        if self.store.file(name):
            self.store.delete(name)

    @rule(file=files, name=names, updated_at=st.sampled_from([OLD, NEW]))
    def write_by_hand(self, file: str, name: str, updated_at: str) -> None:
        path = self.store.memory_dir / "semantic" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(note(name, f"by hand {updated_at}", updated_at)), "utf-8")
        self.written_by_hand += 1
        # Texts of one size within one tick of the clock that stamps files could not be told apart.
        os.utime(path, ns=(0, self.written_by_hand * 1_000_000_000))

    @rule(file=files)
    def remove_by_hand(self, file: str) -> None:
        (self.store.memory_dir / "semantic" / file).unlink(missing_ok=True)

    @rule()
    def reindex(self) -> None:
        self.store.reindex()

    @invariant()
    def the_journal_leads_to_the_files(self) -> None:
        self.store.refresh()
        anew = self.store.track("bridge")
        seen = self.store.changed()
        if anew:
            self.known.clear()
        self.known.update(seen)
        self.store.settle(seen)
        assert self.store.changed() == {}
        expected = {memory.id: file.hash for memory in self.store.list() if (file := self.store.file(memory.id))}
        assert {name: state for name, state in self.known.items() if state} == expected

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestJournal = Journal.TestCase
TestJournal.settings = settings(max_examples=30, stateful_step_count=12)
