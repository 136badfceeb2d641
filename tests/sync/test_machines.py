"""Three machines on which anything may happen in any order come to the same notes, and no text is lost."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.sync.machine import Machine, bare, files_in, git, machine, start_sync, synced

from anamnesis.errors import NoteConflict, NoteNotFound
from anamnesis.notes import TYPES, Memory
from anamnesis.store import RefreshCounts
from anamnesis.sync.conflicts import list_conflicts, resolve

MACHINES = st.integers(0, 2)
NOTES = st.integers(0, 5)
# A sync takes some 20 to 60 steps; beyond them nobody is killed.
STEPS = st.integers(1, 70)
ROUNDS = 4


class Machines(RuleBasedStateMachine):
    """Every line and title is a word of its own, so that it can be looked for wherever texts are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="machines-"))
        self.remote = bare(self.folder / "remote.git")
        # One of them compares only the changed files.
        self.machines = [machine(self.folder, name, self.remote, is_large=name == "c") for name in "abc"]
        self.ids: list[str] = []
        self.words = (f"word{number}x" for number in count())
        self.acknowledged: set[str] = set()

    @initialize()
    def begin(self) -> None:
        for number in range(3):
            self.write(number, "semantic")
        self.sync_everywhere()

    @rule(where=MACHINES, type=st.sampled_from(TYPES))
    def write(self, where: int, type: str) -> None:
        lines = [next(self.words) for _ in range(4)]
        title = next(self.words)
        note = self.machines[where].store.write(type=type, title=title, body="\n".join(lines))
        self.ids.append(note.id)
        self.acknowledged.update(lines, [title])

    @rule(where=MACHINES, which=NOTES, line=st.integers(0, 5), how=st.sampled_from(["change", "insert", "remove"]))
    def change_a_line(self, where: int, which: int, line: int, how: str) -> None:
        self._update(where, which, lambda note: {"body": self._edited(note.body, line, how)})

    @rule(which=NOTES, line=st.integers(0, 3))
    def change_the_same_line_everywhere(self, which: int, line: int) -> None:
        for where in range(3):
            self.change_a_line(where, which, line, "change")

    @rule(where=MACHINES, which=NOTES)
    def retitle(self, where: int, which: int) -> None:
        self._update(where, which, lambda _: {"title": next(self.words)})

    @rule(where=MACHINES, which=NOTES, tag=st.sampled_from(["x", "y", "z"]))
    def toggle_tag(self, where: int, which: int, tag: str) -> None:
        self._update(where, which, lambda note: {"tags": sorted({*note.tags} ^ {tag})})

    @rule(where=MACHINES, which=NOTES, type=st.sampled_from(TYPES))
    def retype(self, where: int, which: int, type: str) -> None:
        self._update(where, which, lambda _: {"type": type})

    @rule(where=MACHINES, which=NOTES, scope=st.sampled_from(["portable", "machine-local"]))
    def move(self, where: int, which: int, scope: str) -> None:
        self._update(where, which, lambda _: {"scope": scope})

    @rule(where=MACHINES, which=NOTES)
    def delete(self, where: int, which: int) -> None:
        if note := self._note(where, which):
            self.machines[where].store.delete(note.id)

    @rule(where=MACHINES, which=NOTES)
    def restore(self, where: int, which: int) -> None:
        store = self.machines[where].store
        trashed = store.trashed()
        if trashed:
            try:
                store.restore(trashed[which % len(trashed)].id)
            except NoteConflict:
                return

    @rule(where=MACHINES, which=NOTES, line=st.integers(0, 5), how=st.sampled_from(["change", "insert", "remove"]))
    def edit_by_hand(self, where: int, which: int, line: int, how: str) -> None:
        if path := self._file(where, which):
            before = path.read_text("utf-8")
            front, separator, body = before.rpartition("---\n")
            after = f"{front}{separator}{self._edited(body.removesuffix(chr(10)), line, how)}\n"
            each = self.machines[where]
            # Only a comparison of all files finds an edit in place.
            write = each.put if each.backend.small_index else each.save
            write(path.relative_to(each.folder).as_posix(), after)
            self._acknowledge(before, after)

    @rule(where=MACHINES, which=NOTES, folder=st.sampled_from(["semantic", "topics"]), name=st.sampled_from(["p", "q"]))
    def rename_by_hand(self, where: int, which: int, folder: str, name: str) -> None:
        target = self.machines[where].folder / folder / f"{name}.md"
        if (path := self._file(where, which)) and not target.exists():
            target.parent.mkdir(exist_ok=True)
            path.rename(target)

    @rule(where=MACHINES, which=NOTES)
    def remove_by_hand(self, where: int, which: int) -> None:
        if path := self._file(where, which):
            self._acknowledge(path.read_text("utf-8"), "")
            path.unlink()

    @rule(where=MACHINES, which=NOTES, keep=st.sampled_from(["this", "other", "both"]))
    def resolve_a_conflict(self, where: int, which: int, keep: str) -> None:
        store = self.machines[where].store
        if conflicts := list_conflicts(store):
            chosen = conflicts[which % len(conflicts)]
            resolve(store, chosen, keep if chosen.note else "both")

    @rule(where=MACHINES)
    def sync(self, where: int) -> None:
        result = self.machines[where].sync()
        assert result.reached, result.detail

    @rule()
    def sync_everywhere(self) -> None:
        for where in (0, 1, 2, 0, 1):
            self.sync(where)

    @rule(where=MACHINES, step=STEPS)
    def sync_and_be_killed(self, where: int, step: int) -> None:
        synced(start_sync(self.machines[where], kill_at=step))

    @invariant()
    def every_note_can_be_read(self) -> None:
        for each in self.machines:
            assert [problem for problem in each.store.problems() if not problem.owner] == []

    def teardown(self) -> None:
        try:
            self._converge()
            self._check()
        finally:
            for each in self.machines:
                each.store.close()
            shutil.rmtree(self.folder)

    def _converge(self) -> None:
        for _ in range(ROUNDS):
            results = [each.sync() for each in self.machines]
            assert all(result.reached for result in results)
            if not any(result.pushed or result.pulled or result.changed for result in results):
                return
        raise AssertionError(f"no rest after {ROUNDS} rounds: {results}")

    def _check(self) -> None:
        first = self.machines[0]
        for each in self.machines:
            assert each.files() == first.files()
            assert each.is_clean()
            assert each.store.refresh() == RefreshCounts(0, 0, 0)
            assert each.store.problems() == []
        kept = [data for each in self.machines for data in files_in(each.store.root).values()]
        texts = b"".join(kept).decode("utf-8", "replace")
        texts += git(self.remote, "cat-file", "--batch-all-objects", "--batch", "--buffer")
        assert {word for word in self.acknowledged if word not in texts} == set()

    def _update(self, where: int, which: int, changes: Callable[[Memory], dict[str, Any]]) -> None:
        if note := self._note(where, which):
            changed = self.machines[where].store.update(note.id, **changes(note))
            self._acknowledge(f"{note.title}\n{note.body}", f"{changed.title}\n{changed.body}")

    def _acknowledge(self, before: str, after: str) -> None:
        """What was there and is not any more was taken out on purpose; what is there now may not be lost."""
        self.acknowledged -= {word for word in self.acknowledged if word in before}
        self.acknowledged |= {word for word in after.split() if word.startswith("word")}

    def _edited(self, body: str, line: int, how: str) -> str:
        lines = body.split("\n")
        place = line % len(lines)
        new = {"change": [next(self.words)], "insert": [next(self.words), lines[place]], "remove": []}[how]
        return "\n".join([*lines[:place], *new, *lines[place + 1 :]])

    def _note(self, where: int, which: int) -> Memory | None:
        try:
            return self.machines[where].store.get(self.ids[which % len(self.ids)])
        except NoteNotFound:
            return None

    def _file(self, where: int, which: int) -> Path | None:
        """A file among those that travel."""
        each: Machine = self.machines[where]
        paths = sorted(path for path in each.files() if path.endswith(".md"))
        return each.folder / paths[which % len(paths)] if paths else None


TestMachines = Machines.TestCase
TestMachines.settings = settings(
    max_examples=10,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
