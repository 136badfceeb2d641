"""What a sync says is what it did, and the index knows just what changed, at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.sync.machine import Machine, assert_same, git, settle

from anamnesis.capture import HeuristicSummarizer, ParsedSession, write_episodic
from anamnesis.errors import NoteNotFound
from anamnesis.notes import Memory
from anamnesis.notes.merge import conflict_of
from anamnesis.store import MemoryStore, RefreshCounts
from anamnesis.sync import SyncResult, SyncState
from anamnesis.sync.conflicts import list_conflicts

Make = Callable[..., Machine]


def facts(result: SyncResult) -> tuple[bool, int, bool, str]:
    return result.pushed, result.pulled, result.conflicted, result.detail


class TestFields:
    def test_nothing_to_do(self, a: Machine, remote: Path) -> None:
        a.note("one")
        a.sync()
        head = git(remote, "rev-parse", "main")
        result = a.sync()
        assert result == SyncResult(False, 0, False, head[:7], "synced", True, ())
        assert git(remote, "rev-parse", "main") == head

    def test_only_sent(self, a: Machine, remote: Path) -> None:
        a.note("one")
        result = a.sync()
        assert facts(result) == (True, 0, False, "synced")
        assert git(remote, "rev-parse", "main").startswith(result.head)

    def test_only_received(self, a: Machine, b: Machine, remote: Path) -> None:
        for number in range(3):
            a.note(f"note {number}")
            a.sync()
        head = git(remote, "rev-parse", "main")
        result = b.sync()
        assert facts(result) == (False, 3, False, "synced")
        assert head.startswith(result.head)
        assert git(remote, "rev-parse", "main") == head

    def test_sent_and_received(self, a: Machine, b: Machine, remote: Path) -> None:
        a.note("one")
        settle(a, b)
        for _ in range(2):
            a.note("of a")
            a.sync()
        b.note("of b")
        result = b.sync()
        assert facts(result) == (True, 2, False, "synced")
        assert git(remote, "rev-parse", "main").startswith(result.head)
        assert facts(a.sync()) == (False, 2, False, "synced")  # the commit of b and the one that unites both

    def test_own_commits_are_not_counted_as_received(self, a: Machine, b: Machine) -> None:
        a.note("one")
        a.sync()
        b.sync()
        b.note("two")
        b.sync()
        assert a.sync().pulled == 1
        assert b.sync().pulled == 0

    def test_what_was_received_is_counted_even_if_it_cannot_be_sent(self, a: Machine, b: Machine, remote: Path) -> None:
        a.note("one")
        settle(a, b)
        a.note("two")
        a.sync()
        git(remote, "config", "receive.denyCurrentBranch", "refuse")
        git(remote, "config", "core.bare", "false")
        b.note("three")
        result = b.sync()
        assert (result.pushed, result.pulled, result.reached) == (False, 1, False)
        assert "the remote cannot be used now" in result.detail

    def test_a_conflict_is_told_by_the_sync_that_found_it(self, a: Machine, b: Machine) -> None:
        note_id = a.note("one\ntwo")
        settle(a, b)
        a.store.update(note_id, body="one\nof a")
        b.store.update(note_id, body="one\nof b")
        assert not a.sync().conflicted
        result = b.sync()
        assert facts(result) == (True, 1, True, "both versions of a note are kept; see `anamnesis conflicts`")
        assert facts(a.sync()) == (False, 2, False, "synced")
        assert facts(b.sync()) == (False, 0, False, "synced")
        aside = next(memory for memory in a.store.list() if memory.id != note_id)
        assert conflict_of(a.store.get(aside.id)) == note_id
        assert {aside.body, a.store.get(note_id).body} == {"one\nof a", "one\nof b"}
        assert_same(a, b)

    def test_changed_names_the_files_and_no_others(self, a: Machine, b: Machine) -> None:
        ids = [a.note(f"note {number}") for number in range(5)]
        settle(a, b)
        a.store.update(ids[0], body="changed")
        a.store.delete(ids[1])
        a.store.update(ids[2], type="procedural")
        new = a.note("new")
        a.sync()
        assert set(b.sync().changed) == {
            f"semantic/{ids[0]}.md",
            f"semantic/{ids[1]}.md",
            f"semantic/{ids[2]}.md",
            f"procedural/{ids[2]}.md",
            f"semantic/{new}.md",
        }


class TestState:
    def test_before_the_first_sync(self, a: Machine, remote: Path) -> None:
        assert a.backend.state() == SyncState(False, str(remote), "", False, "not initialized")

    def test_a_repository_without_a_commit(self, a: Machine, remote: Path) -> None:
        a.backend.init()
        assert a.backend.state() == SyncState(True, str(remote), "", False, "ok")

    def test_dirty_is_what_no_sync_has_taken_up(self, a: Machine, b: Machine) -> None:
        note_id = a.note("one")
        a.sync()
        assert not a.backend.state().dirty
        for change in (
            lambda: a.store.update(note_id, body="two"),
            lambda: a.note("new"),
            lambda: a.store.delete(note_id),
            lambda: a.put("other.txt", "x"),
        ):
            change()
            assert a.backend.state().dirty
            head = a.sync().head
            assert a.backend.state() == SyncState(True, a.backend.remote, head, False, "ok")

    def test_notes_of_this_machine_only_make_nothing_dirty(self, a: Machine) -> None:
        a.sync()
        a.store.write(type="semantic", title="t", body="b", scope="machine-local")
        assert not a.backend.state().dirty

    def test_asking_changes_nothing(self, a: Machine) -> None:
        a.note("one")
        before = a.files()
        a.backend.state()
        assert a.files() == before
        assert not (a.folder / ".git").exists()


OBSERVED = """
import json, sys
opened = []
def observe(event, args):
    if event == "open" and str(args[0]).endswith(".md"):
        opened.append(str(args[0]).rpartition("/")[2])
from anamnesis.store import MemoryStore
from anamnesis.sync import GitSyncBackend, sync_store
root, remote = sys.argv[1:]
with MemoryStore(root) as store:
    sys.addaudithook(observe)
    sync_store(store, GitSyncBackend(store.memory_dir, remote=remote, machine_id="b"))
    read = list(opened)
    found = [memory.id for memory in store.search("changed", mode="words")]
print(json.dumps([read, found]))
"""


class TestIndex:
    def test_what_came_is_found_at_once_here_and_in_another_process(self, a: Machine, b: Machine) -> None:
        first = a.note("walrus")
        settle(a, b)
        assert b.store.search("walrus", mode="words") == [a.store.get(first)]
        a.store.update(first, body="narwhal")
        second = a.note("walrus again")
        a.sync()
        b.sync()
        assert [memory.id for memory in b.store.search("narwhal", mode="words")] == [first]
        assert [memory.id for memory in b.store.search("walrus", mode="words")] == [second]
        search = "S(sys.argv[1]).search('narwhal', mode='words')"
        script = f"import sys; from anamnesis.store import MemoryStore as S; print({search}[0].id)"
        done = subprocess.run(
            [sys.executable, "-c", script, str(b.store.root)], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == first
        assert b.store.refresh() == RefreshCounts(0, 0, 0)

    def test_only_what_changed_is_read(self, a: Machine, b: Machine, remote: Path) -> None:
        a.store.put_all(Memory(f"n{number}", "semantic", "t", f"text {number}") for number in range(200))
        settle(a, b)
        a.store.update("n7", body="changed")
        a.store.delete("n8")
        a.sync()
        done = subprocess.run(
            [sys.executable, "-c", OBSERVED, str(b.store.root), str(remote)], capture_output=True, text=True, check=True
        )
        read, found = json.loads(done.stdout)
        assert set(read) == {"n7.md", "n8.md"}
        assert found == ["n7"]

    def test_an_edit_in_place_is_found_by_the_sync(self, a: Machine, b: Machine) -> None:
        note_id = a.note("walrus")
        settle(a, b)
        path = a.folder / "semantic" / f"{note_id}.md"
        with path.open("r+b") as file:  # as some editors save: neither the name nor the folder changes
            data = file.read().replace(b"walrus", b"otters")
            file.seek(0)
            file.write(data)
        assert path.stem in a.sync().changed[0]
        assert [memory.id for memory in a.store.search("otters", mode="words")] == [note_id]
        assert a.store.search("walrus", mode="words") == []
        b.sync()
        assert [memory.id for memory in b.store.search("otters", mode="words")] == [note_id]

    def test_a_note_that_moved_is_still_one(self, a: Machine, b: Machine) -> None:
        note_id = a.note("walrus")
        settle(a, b)
        a.store.update(note_id, type="procedural")
        settle(a, b)
        assert b.store.get(note_id).type == "procedural"
        assert len(b.store.search("walrus", mode="words")) == b.store.count() == 1
        assert b.store.trashed() == []
        assert b.store.problems() == []

    def test_a_file_in_a_hidden_folder_is_no_note_on_any_machine(self, a: Machine, b: Machine) -> None:
        """As what Obsidian keeps in `.trash`."""
        from anamnesis.notes import render

        a.put(".trash/x.md", render(Memory("x", "semantic", "t", "walrus")))
        settle(a, b)
        assert a.store.search("walrus", mode="words") == b.store.search("walrus", mode="words") == []
        assert ".trash/x.md" in b.files()
        assert_same(a, b)


SESSION = ParsedSession(
    first_prompt="fix the login",
    prompts=["fix the login"],
    last_outcome="Fixed.",
    files_touched=["a.py"],
    session_id="0b1c-22",
    started_at="2026-08-01T10:00:00.000Z",
)


def capture(store: MemoryStore, session: ParsedSession = SESSION) -> Memory | None:
    return write_episodic(
        store, session, summarizer=HeuristicSummarizer(), project="app", source="session-end", machine_id="m"
    )


class TestDeletion:
    def test_a_note_deleted_elsewhere_is_in_the_trash_here_and_can_be_restored(self, a: Machine, b: Machine) -> None:
        note_id = a.note("walrus")
        settle(a, b)
        before = b.store.get(note_id)
        a.store.delete(note_id)
        settle(a, b)
        assert b.store.search("walrus", mode="words") == []
        with pytest.raises(NoteNotFound):
            b.store.get(note_id)
        assert [trashed.id for trashed in b.store.trashed()] == [note_id]
        assert b.store.restore(note_id) == before
        settle(a, b)
        assert a.store.get(note_id) == before
        assert_same(a, b)

    def test_a_file_removed_by_hand_is_in_the_trash_of_the_others(self, a: Machine, b: Machine) -> None:
        note_id = a.note("walrus")
        settle(a, b)
        (a.folder / "semantic" / f"{note_id}.md").unlink()
        settle(a, b)
        assert [trashed.id for trashed in b.store.trashed()] == [note_id]

    def test_a_session_whose_note_was_deleted_elsewhere_is_not_captured_again(self, a: Machine, b: Machine) -> None:
        note = capture(a.store)
        assert note
        settle(a, b)
        b.store.delete(note.id)
        settle(b, a)
        assert capture(a.store) is None
        assert a.store.count() == 0
        settle(a, b)
        assert a.store.count() == b.store.count() == 0

    def test_a_session_captured_on_two_machines_is_one_note(self, a: Machine, b: Machine) -> None:
        """As when the folder of an agent is shared between machines."""
        capture(a.store)
        capture(b.store, replace(SESSION, last_outcome="Fixed, and tested."))
        settle(a, b)
        assert len({memory.id for memory in a.store.list() if not conflict_of(a.store.get(memory.id))}) == 1
        assert_same(a, b)

    def test_an_edit_counts_more_than_a_deletion(self, a: Machine, b: Machine) -> None:
        note_id = a.note("one")
        settle(a, b)
        a.store.delete(note_id)
        b.store.update(note_id, body="two")
        a.sync()
        result = b.sync()
        assert not result.conflicted
        a.sync()
        assert a.store.get(note_id).body == "two"
        assert_same(a, b)

    def test_deleted_on_both_machines_is_deleted(self, a: Machine, b: Machine) -> None:
        note_id = a.note("one")
        settle(a, b)
        a.store.delete(note_id)
        b.store.delete(note_id)
        settle(a, b)
        assert a.files() == b.files() == {}

    def test_a_note_kept_on_this_machine_leaves_the_others(self, a: Machine, b: Machine) -> None:
        note_id = a.note("private after all")
        settle(a, b)
        a.store.move(note_id, "machine-local")
        settle(a, b)
        assert a.store.get(note_id).scope == "machine-local"
        assert b.store.count() == 0
        assert [trashed.id for trashed in b.store.trashed()] == [note_id]
        a.store.move(note_id, "portable")
        settle(a, b)
        assert b.store.get(note_id).body == "private after all"
        assert_same(a, b)

    def test_an_edit_elsewhere_of_a_note_that_was_kept_here_and_given_back_is_served(
        self, a: Machine, b: Machine
    ) -> None:
        note_id = a.note("one\ntwo")
        settle(a, b)
        a.store.move(note_id, "machine-local")
        b.store.update(note_id, body="one\ntwo of b")
        b.sync()
        settle(a, b)
        assert_same(a, b)
        assert a.store.problems() == []
        assert a.store.get(note_id) == b.store.get(note_id)
        assert a.store.get(note_id).body == "one\ntwo of b"
        assert list_conflicts(a.store) == []

    @pytest.mark.parametrize("goes_back", [True, False])
    def test_texts_of_a_note_that_was_kept_here_and_changed_on_both_machines_are_two_notes(
        self, a: Machine, b: Machine, remote: Path, goes_back: bool
    ) -> None:
        note_id = a.note("one")
        settle(a, b)
        a.store.move(note_id, "machine-local")
        a.store.update(note_id, body="plan of a")
        b.store.update(note_id, body="one of b")
        b.sync()
        result = a.sync()
        assert result.conflicted
        assert a.store.problems() == []
        (conflict,) = list_conflicts(a.store)
        assert (conflict.id, conflict.other.scope, conflict.other.body) == (note_id, "machine-local", "plan of a")
        assert a.store.get(note_id).body == b.store.get(note_id).body == "one of b"
        if goes_back:
            a.store.move(conflict.other.id, "portable")
        settle(a, b)
        assert b.bodies() == {"one of b", *(["plan of a"] if goes_back else [])}
        assert ("plan of a" in git(remote, "cat-file", "--batch-all-objects", "--batch")) == goes_back

    def test_a_move_onto_a_file_of_the_same_note_keeps_both_texts(self, a: Machine) -> None:
        note_id = a.note("one")
        data = a.files()[f"semantic/{note_id}.md"]
        a.store.move(note_id, "machine-local")
        a.put(
            f"semantic/{note_id}.md",
            data.replace(b"updated_at: '2", b"updated_at: '1").replace(b"\none\n", b"\nby hand\n"),
        )
        a.store.refresh()
        a.store.move(note_id, "portable")
        assert a.store.problems() == []
        assert a.bodies() == {"one", "by hand"}
        assert [conflict.id for conflict in list_conflicts(a.store)] == [note_id]

    def test_notes_of_one_machine_never_reach_the_remote(self, a: Machine, remote: Path) -> None:
        a.store.write(type="semantic", title="t", body="xyzzy", scope="machine-local")
        a.note("one")
        a.sync()
        objects = git(remote, "cat-file", "--batch-all-objects", "--batch")
        assert "xyzzy" not in objects

    def test_many_deletions_at_once_can_all_be_restored(self, a: Machine, b: Machine) -> None:
        a.store.put_all(Memory(f"n{number}", "semantic", "t", f"text {number}") for number in range(30))
        settle(a, b)
        for number in range(30):
            a.store.delete(f"n{number}")
        settle(a, b)
        assert b.store.count() == 0
        for number in range(30):
            b.store.restore(f"n{number}")
        settle(a, b)
        assert a.store.count() == 30
        assert_same(a, b)
