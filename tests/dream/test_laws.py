"""Laws of dreams: nothing is lost, what a person has is not changed, an undo of all gives every byte back, and machines
that all dream come to the same notes."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dream.memory import write
from tests.sync.machine import Machine, assert_same, bare, machine, settle

from anamnesis.dream import reviewing
from anamnesis.dream.chains import CIRCLE
from anamnesis.dream.cycle import Options, dream
from anamnesis.dream.proposal import is_persons
from anamnesis.dream.undoing import undo
from anamnesis.errors import AnamnesisError, NoteConflict
from anamnesis.notes.marks import STALE, UPDATED_BY, linked, marks_of, with_link, with_mark, with_tag
from anamnesis.notes.merge import CONFLICT_TAG
from anamnesis.store import MemoryStore, changeset

# Few, so that many notes say the same, and some the same but for what a finder may see through.
BODIES = (
    "The nightly backup of the warehouse writes to the cold bucket first.",
    "The nightly backup of the warehouse writes to the cold bucket first",
    "First, the nightly backup of the warehouse writes to the cold bucket.",
    "Sessions are kept in the cache for 20 minutes.",
    "Sessions are kept in the cache for 40 minutes.",
    "The linter is run by the hook before each commit.",
)
AUTHORS: tuple[dict[str, Any], ...] = ({}, {}, {}, {"prov_session": ""}, {"tags": ["pinned"]})
NUMBER = st.integers(0, 999)
Files = dict[str, tuple[str, bytes]]


@contextmanager
def machines(*names: str) -> Iterator[list[Machine]]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        remote = bare(Path(folder) / "remote.git")
        made = [machine(Path(folder), name, remote) for name in names]
        for each in made:
            opened.enter_context(each.store)
        yield made


def files(store: MemoryStore) -> Files:
    """The path and the bytes of each note."""
    found = store.files(note.id for note in store.list())
    return {id: (file.path, (store.root / file.path).read_bytes()) for id, file in found.items()}


@dataclass
class Life:
    """A memory that is written, edited, synced and dreamt of, and what its files would be without dreams."""

    here: Machine
    there: Machine
    expected: Files = field(default_factory=dict)
    deleted: dict[str, tuple[Files, Files]] = field(default_factory=dict)

    @property
    def store(self) -> MemoryStore:
        return self.here.store

    def outside(self, act: Callable[[], object]) -> None:
        """Something that is no dream: what it leaves is what is expected of the notes that it changes."""
        before = files(self.store)
        with suppress(AnamnesisError):
            act()
        after = files(self.store)
        for id in before.keys() | after.keys():
            if before.get(id) != after.get(id):
                self.expected.pop(id, None)
                self.expected |= {id: after[id]} if id in after else {}

    def write(self, number: int) -> None:
        self.outside(lambda: write(self.store, BODIES[number % 6], **AUTHORS[number % 5]))

    def edit(self, number: int) -> None:
        if id := self._one(number):
            self.outside(lambda: self.store.update(id, body=f"{BODIES[number % 6]} Edited."))

    def save_in_editor(self, number: int) -> None:
        if id := self._one(number):
            path = self.store.root / files(self.store)[id][0]
            self.outside(lambda: path.write_bytes(path.read_bytes() + b"From an editor.\n") and self.store.refresh())

    def delete(self, number: int) -> None:
        if id := self._one(number):
            expected = {id: self.expected[id]} if id in self.expected else {}
            self.deleted[id] = {id: files(self.store)[id]}, expected
            self.outside(lambda: self.store.delete(id))

    def restore(self, number: int) -> None:
        if trashed := sorted(self.deleted):
            id = trashed[number % len(trashed)]
            self.outside(lambda: self.store.restore(id))
            self._forget_deletions()

    def _forget_deletions(self) -> None:
        """A note that was deleted and is back as it was, restored or by a sync, is as if it had not been deleted."""
        now = files(self.store)
        for id in self.deleted.keys() & now.keys():
            was, expected = self.deleted.pop(id)
            if now[id] == was[id]:
                self.expected.pop(id, None)
                self.expected |= expected

    def sync(self, number: int) -> None:
        there = self.there.store
        if number % 3 == 0:
            write(there, BODIES[number % 6])
        elif number % 3 == 1 and (notes := there.list()):
            with suppress(AnamnesisError):
                there.update(notes[number % len(notes)].id, body=f"Edited on the other machine: {number}.")
        else:
            dream(there, Options())
        self.outside(lambda: settle(self.here, self.there))
        self._forget_deletions()

    def dream(self, _: int) -> None:
        store = self.store
        notes = {note.id: note for note in store.live(note.id for note in store.list())}
        sizes = Counter(note.project for note in store.list())
        before = files(store)

        applied = dream(store, Options()).decided.applied

        after = files(store)
        assert before.keys() <= after.keys(), "no note is deleted"
        in_circles = {id for each in applied if each.kind == CIRCLE for id in each.notes}
        changed = [id for id in notes if before[id] != after[id] or id in store.superseded_ids()]
        assert not [id for id in changed if is_persons(notes[id])]
        assert not [id for id in before.keys() - notes.keys() - in_circles if before[id] != after[id]]
        for project, count in Counter(notes[id].project for id in changed).items():
            assert count <= max(2, 0.05 * sizes[project])

    def review(self, number: int) -> None:
        if listed := reviewing.listed(self.store, date.today()):
            one = [listed[number % len(listed)]]
            if number % 3 == 0:
                with suppress(NoteConflict):
                    reviewing.accept(self.store, one)
            elif number % 3 == 1:
                reviewing.reject(self.store, one)
            else:
                reviewing.postpone(self.store, one, date.today())
            keys = [each.proposal.key for each in reviewing.listed(self.store, date.today())]
            assert number % 3 == 0 or one[0].proposal.key not in keys

    def undo_all(self) -> None:
        for change in [*changeset.changes(self.store)]:
            if change.state == changeset.DONE:
                undo(self.store, change)

    def _one(self, number: int) -> str:
        ids = sorted(files(self.store))
        return ids[number % len(ids)] if ids else ""


ACTS = ("write", "write", "edit", "save_in_editor", "delete", "restore", "sync", "dream", "dream", "review")


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(ACTS), NUMBER), min_size=4, max_size=24))
def test_the_undo_of_all_cycles_gives_the_bytes_back_of_all_that_nobody_has_edited(acts: list[tuple[str, int]]) -> None:
    with machines("here", "there") as (here, there):
        life = Life(here, there)
        for number in (0, 0, 5, 10):  # two that say the same, and one of a person
            life.write(number)
        for name, number in [*acts, ("dream", 0)]:
            getattr(life, name)(number)
        life.undo_all()
        assert files(life.store) == life.expected
        assert not life.store.problems()
        assert not changeset.unreadable(life.store)


DEEDS = ("write", "dream", "sync", "undo")


@settings(max_examples=10)
@given(st.lists(st.tuples(st.sampled_from(DEEDS), st.integers(0, 1), NUMBER), max_size=12))
def test_machines_that_dream_and_sync_in_any_order_come_to_the_same_notes(deeds: list[tuple[str, int, int]]) -> None:
    with machines("a", "b") as both:
        written = 0
        for who in (0, 0, 1):
            write(both[who].store, BODIES[0])
            written += 1
        for what, who, number in deeds:
            store = both[who].store
            if what == "write":
                write(store, BODIES[number % 6])
                written += 1
            elif what == "dream":
                dream(store, Options(share=1))
            elif what == "sync":
                both[who].sync()
            else:
                for change in [each for each in changeset.changes(store) if each.state == changeset.DONE][:1]:
                    undo(store, change)
        for _ in range(2 * written):
            settle(*both)
            applied = [dream(each.store, Options(share=1)).decided.applied for each in both]
            if not any(applied):
                break
        else:
            raise AssertionError("they undo each other's dreams for ever")
        settle(*both)
        assert_same(*both)
        assert not [id for each in both for id in each.store.tagged(CONFLICT_TAG)]
        assert len(both[0].store.list()) >= written


def test_what_is_undone_on_one_machine_is_not_done_again_by_the_other() -> None:
    with machines("a", "b") as (a, b):
        one, two = write(a.store, BODIES[0]), write(a.store, BODIES[0])
        settle(a, b)
        before = files(a.store)
        change = dream(a.store, Options()).change
        assert change
        settle(a, b)
        dream(b.store, Options())  # sees the merged note
        assert len(b.store.superseding([one.id, two.id])) == 1
        undo(a.store, change)
        for _ in range(3):
            settle(a, b)
            for each in (a, b):
                assert not dream(each.store, Options()).decided.applied
                assert files(each.store) == before


def test_marks_that_two_machines_leave_on_one_note_are_merged_without_a_conflict() -> None:
    with machines("a", "b") as (a, b):
        note, other, third = (write(a.store, body) for body in BODIES[:3])
        settle(a, b)
        mine = with_link(with_mark(note, STALE, "gone"), UPDATED_BY, other.id)
        theirs = with_tag(with_link(note, UPDATED_BY, third.id), "outdated")
        for each, marked in ((a, mine), (b, theirs)):
            changeset.apply(each.store, [marked], kind="dream", reason="Test.")
        settle(a, b)
        assert_same(a, b)
        assert not a.store.tagged(CONFLICT_TAG)
        merged = a.store.get(note.id)
        assert {*linked(merged, UPDATED_BY)} == {other.id, third.id}
        assert marks_of(merged)[STALE] == "gone"
        assert merged.tags == ["outdated"]
