"""The change log: a follower misses no change, whoever made it, and a change after its cursor stays pending."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from anamnesis.notes import Memory, render
from anamnesis.store import MemoryStore
from anamnesis.store.change_log import NoteChange, Pending, Written

FOLLOWER = "bridge"
OLD, NEW = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"


def note(name: str, body: str = "b", updated_at: str = OLD) -> Memory:
    return Memory(name, "semantic", "t", body, created_at=OLD, updated_at=updated_at)


def hashes(store: MemoryStore, *ids: str) -> dict[str, bytes | None]:
    return {name: file.hash for name, file in store.files(ids).items()}


def pending(store: MemoryStore, limit: int = -1) -> Pending:
    found = store.log.pending(FOLLOWER, limit=limit)
    assert found
    return found


def changed(store: MemoryStore) -> dict[str, bytes | None]:
    return {change.note_id: change.hash for change in pending(store).changes}


def process(store: MemoryStore) -> dict[str, bytes | None]:
    """Process the pending changes of the follower, and return them."""
    found = pending(store)
    store.log.advance(FOLLOWER, found)
    return {change.note_id: change.hash for change in found.changes}


@pytest.fixture
def followed(store: MemoryStore) -> MemoryStore:
    """Three notes that the follower has processed."""
    store.put_all(note(name) for name in ("a", "b", "c"))
    store.log.subscribe(FOLLOWER)
    process(store)
    assert changed(store) == {}
    return store


def test_who_never_subscribed_has_to(store: MemoryStore) -> None:
    store.put(note("a"))
    assert store.log.pending(FOLLOWER) is None
    assert store.log.count(FOLLOWER) == 0
    store.log.restart(FOLLOWER)
    assert store.log.pending(FOLLOWER) is None


def test_a_new_follower_starts_from_all_notes_and_so_does_one_that_derives_something_else(store: MemoryStore) -> None:
    store.put_all([note("a"), note("b")])
    for identity in ("one", "two", "one"):
        assert store.log.subscribe(FOLLOWER, identity)
        assert store.log.pending(FOLLOWER, "three") is None
        assert process(store) == hashes(store, "a", "b")
        assert not store.log.subscribe(FOLLOWER, identity)
        assert changed(store) == {}


def test_a_follower_is_a_name_and_a_function(store: MemoryStore) -> None:
    titles: dict[str, str] = {}

    def process(changes: Sequence[NoteChange]) -> None:
        for change in changes:
            titles[change.note_id] = store.get(change.note_id).title if change.hash else "deleted"

    store.put_all(note(f"n{number}") for number in range(450))
    assert store.log.follow("titles", process) == 450
    assert titles == {f"n{number}": "t" for number in range(450)}
    store.update("n1", title="other")
    store.delete("n2")
    assert store.log.follow("titles", process) == 2
    assert (titles["n1"], titles["n2"]) == ("other", "deleted")
    assert store.log.follow("titles", process) == 0


def test_what_a_follower_fails_to_process_is_pending_still(followed: MemoryStore) -> None:
    def fail(changes: Sequence[NoteChange]) -> None:
        raise ArithmeticError

    followed.update("a", body="other")
    with pytest.raises(ArithmeticError):
        followed.log.follow(FOLLOWER, fail)
    assert changed(followed) == hashes(followed, "a")


def test_followers_do_not_share_a_cursor(followed: MemoryStore) -> None:
    followed.log.subscribe("vectors")
    followed.update("a", body="other")
    assert process(followed) == hashes(followed, "a")
    assert followed.log.count(FOLLOWER) == 0
    assert followed.log.count("vectors") == 3


def test_changes_come_in_the_order_in_which_they_were_made(followed: MemoryStore) -> None:
    for name in ("b", "c", "a", "b"):
        followed.update(name, body=f"{name} once more {followed.log.count(FOLLOWER)}")
    assert [change.note_id for change in pending(followed).changes] == ["c", "a", "b"]


def test_a_follower_that_starts_again_sees_every_note_and_what_was_processed_before_does_not_count(
    followed: MemoryStore,
) -> None:
    followed.log.restart(FOLLOWER)
    before = pending(followed)
    followed.log.restart(FOLLOWER)
    followed.log.advance(FOLLOWER, before)
    assert changed(followed) == hashes(followed, "a", "b", "c")


def test_every_way_to_change_a_note_is_noted(followed: MemoryStore) -> None:
    store = followed
    written = store.write(type="semantic", title="t", body="b")
    store.update("a", body="other")
    store.delete("b")
    assert changed(store) == {**hashes(store, written.id, "a"), "b": None}
    store.restore("b")
    assert changed(store)["b"] == hashes(store, "b")["b"]


def test_what_a_follower_writes_is_pending_for_the_others_alone(followed: MemoryStore) -> None:
    followed.log.subscribe("vectors")
    followed.put_whole([note("a", "by the follower"), note("w")], followed.files(["a"]), follower=FOLLOWER)
    followed.delete("b", follower=FOLLOWER)
    assert changed(followed) == {}
    assert followed.log.count("vectors") == 4


def test_what_a_follower_writes_hides_no_change_that_is_pending(followed: MemoryStore) -> None:
    followed.update("b", body="by somebody")
    followed.put_whole([note("a", "by the follower")], followed.files(["a"]), follower=FOLLOWER)
    assert "b" in process(followed)
    assert changed(followed) == {}


def test_a_listener_gets_what_was_written_and_its_follower_may_skip_that(followed: MemoryStore) -> None:
    told: list[Written | None] = []
    followed.on_change = told.append
    followed.update("a", body="one")
    moved = followed.update("b", type="episodic")
    followed.delete("c")
    for written, expected in zip(told, [hashes(followed, "a"), hashes(followed, moved.id), {"c": None}], strict=True):
        assert written
        assert {id: file and file.hash for id, file in written.files.items()} == expected
        assert followed.log.skip(FOLLOWER, written)
    assert changed(followed) == {}


def test_no_listener_skips_what_others_changed_before(followed: MemoryStore) -> None:
    with MemoryStore(followed.root) as other:
        other.update("b", body="theirs")
    told: list[Written | None] = []
    followed.on_change = told.append
    followed.update("a", body="ours")
    assert told[0]
    assert not followed.log.skip(FOLLOWER, told[0])
    assert changed(followed) == hashes(followed, "a", "b")


def test_a_listener_gets_nothing_where_another_file_of_the_note_stands_for_it(followed: MemoryStore) -> None:
    (followed.memory_dir / "copy.md").write_text(render(note("a", "copy")), "utf-8")
    followed.refresh()
    told: list[Written | None] = []
    followed.on_change = told.append
    followed.delete("a")
    assert told == [None]
    assert followed.get("a").body == "copy"


def test_what_is_written_as_it_was_is_no_change(followed: MemoryStore) -> None:
    followed.put(note("a"))
    followed.refresh()
    assert changed(followed) == {}


def test_what_others_did_to_the_files_is_noted(followed: MemoryStore) -> None:
    folder = followed.memory_dir / "semantic"
    (folder / "b.md").unlink()
    (folder / "c.md").rename(folder / "moved.md")
    (folder / "new.md").write_text(render(note("new")), "utf-8")
    (folder / "a.md").write_text("---\nbroken", "utf-8")
    followed.refresh()
    assert changed(followed) == {"a": None, "b": None, **hashes(followed, "c", "new")}


def test_an_edit_in_place_is_noted_when_the_file_is_asked_for(followed: MemoryStore) -> None:
    path = followed.memory_dir / "semantic" / "a.md"
    path.write_text(render(note("a", "edited in place")), "utf-8")
    file = followed.file("a")
    assert file
    assert changed(followed) == {"a": file.hash}


def test_a_file_that_takes_the_id_of_another_note_changes_both(followed: MemoryStore) -> None:
    path = followed.memory_dir / "semantic" / "a.md"
    path.write_text(render(note("z")), "utf-8")
    os.utime(path, ns=(0, 0))  # it has the same size, and perhaps was written within one tick
    followed.refresh()
    assert changed(followed) == {"a": None, **hashes(followed, "z")}


def test_a_second_file_that_takes_over_is_the_state(followed: MemoryStore) -> None:
    (followed.memory_dir / "copy.md").write_text(render(note("a", "copy")), "utf-8")
    followed.refresh()
    assert process(followed) == hashes(followed, "a")
    followed.delete("a")
    found = followed.file("a")
    assert found
    assert found.path == "memory/copy.md"
    assert changed(followed) == {"a": found.hash}


def test_what_changed_again_after_it_was_read_is_pending_still(followed: MemoryStore) -> None:
    followed.update("a", body="one")
    followed.delete("b")
    seen = pending(followed)
    followed.update("a", body="two")
    followed.restore("b")
    followed.log.advance(FOLLOWER, seen)
    assert changed(followed) == hashes(followed, "a", "b")


def test_who_is_late_does_not_move_the_cursor_back(followed: MemoryStore) -> None:
    followed.update("a", body="one")
    seen = pending(followed)
    followed.update("b", body="two")
    process(followed)
    followed.log.advance(FOLLOWER, seen)
    assert changed(followed) == {}


def test_a_limit_gives_some_and_loses_none(followed: MemoryStore) -> None:
    followed.put_all(note(f"n{number}") for number in range(10))
    seen: list[str] = []
    while (some := pending(followed, 3)).changes:
        assert len(some.changes) <= 3
        followed.log.advance(FOLLOWER, some)
        seen += [change.note_id for change in some.changes]
    assert seen == [f"n{number}" for number in range(10)]
    assert pending(followed, 0).changes == []


def test_after_a_reindex_everything_is_noted_again(followed: MemoryStore) -> None:
    followed.reindex()
    assert followed.log.pending(FOLLOWER) is None
    assert followed.log.subscribe(FOLLOWER)
    assert changed(followed) == hashes(followed, "a", "b", "c")


def test_a_lost_index_notes_everything_again(followed: MemoryStore) -> None:
    followed.close()
    followed.db_path.unlink()
    assert followed.log.subscribe(FOLLOWER)
    assert changed(followed) == hashes(followed, "a", "b", "c")


def test_two_stores_share_one_log(followed: MemoryStore) -> None:
    with MemoryStore(followed.root) as other:
        assert not other.log.subscribe(FOLLOWER)
        assert changed(other) == {}
        other.update("a", body="theirs")
        seen = pending(followed)
        assert changed(followed) == changed(other) == hashes(followed, "a")
        other.update("a", body="theirs again")
        followed.log.advance(FOLLOWER, seen)
        assert changed(followed) == changed(other) == hashes(other, "a")
        process(followed)
        assert changed(other) == {}


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


def follow(store: MemoryStore) -> dict[str, bytes | None]:
    store.log.subscribe(FOLLOWER)
    found = store.log.pending(FOLLOWER)
    if found is None:  # rebuilt meanwhile
        return {"": None}
    store.log.advance(FOLLOWER, found)
    return {change.note_id: change.hash for change in found.changes}


def test_a_follower_beside_writers_and_a_reindex_ends_with_what_the_files_say(store: MemoryStore) -> None:
    """Each process changes the same note and its own; what the follower processed last is what each file holds."""
    store.put(note("shared"))
    command = [sys.executable, "-c", WRITER, str(store.root)]
    writers = [subprocess.Popen([*command, name]) for name in ("x", "y")]
    known: dict[str, bytes | None] = {}
    running = True
    while running:
        running = any(writer.poll() is None for writer in writers)
        known.update(follow(store))
    assert [writer.wait() for writer in writers] == [0, 0]
    while found := follow(store):
        known.update(found)
    known.pop("", None)
    assert known == hashes(store, *(memory.id for memory in store.list()))
    assert len(known) == 301


class Log(RuleBasedStateMachine):
    """After any sequence of changes to the files, a follower of the log knows the standing file of every note."""

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
            self.the_log_leads_to_the_files()
            [written] = self.store.put_whole([note(name, body)], self.store.files([name]), follower=FOLLOWER).files
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
    def the_log_leads_to_the_files(self) -> None:
        self.store.refresh()
        if self.store.log.subscribe(FOLLOWER):
            self.known.clear()
        self.known.update(process(self.store))
        assert changed(self.store) == {}
        expected = {memory.id: file.hash for memory in self.store.list() if (file := self.store.file(memory.id))}
        assert {name: state for name, state in self.known.items() if state} == expected

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestLog = Log.TestCase
TestLog.settings = settings(max_examples=30, stateful_step_count=12)
