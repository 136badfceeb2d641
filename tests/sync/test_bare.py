"""A note without front matter has one id on all machines, and merges like any text."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.sync.machine import Machine, git

from anamnesis.history.revisions import revisions
from anamnesis.notes import Memory


def only(machine: Machine) -> Memory:
    machine.store.refresh()
    (note,) = machine.store.list()
    return machine.store.get(note.id)


def test_other_machines_know_it_by_the_same_id_through_edits_and_renames(
    a: Machine, b: Machine, make: Callable[[str, Path], Machine], remote: Path
) -> None:
    file = a.put("work/plan.md", "# Plan\n\none\n")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    id = only(a).id
    a.sync()
    b.sync()
    assert only(b).id == id
    a.put("work/plan.md", "# Plan\n\none\ntwo\n")
    a.sync()
    (a.folder / "work" / "plan.md").rename(a.folder / "later.md")
    a.sync()
    b.sync()
    c = make("c", remote)
    c.sync()
    assert [(note.id, note.body) for note in (only(a), only(b), only(c))] == [(id, "# Plan\n\none\ntwo")] * 3
    c.store.update(id, tags=["ours"])
    c.sync()
    a.sync()
    assert only(a) == only(c)
    assert (only(a).id, a.files()) == (id, c.files())


def test_its_history_is_in_git_on_every_machine(a: Machine, b: Machine) -> None:
    for text in ("# X\n\none\n", "# X\n\ntwo\n"):
        a.put("x.md", text)
        a.sync()
    b.sync()
    for machine in (a, b):
        found = revisions(machine.store, only(machine).id)
        assert [each.version.text.rpartition("\n")[2] for each in found] == ["one", "two"]
        assert {each.version.source for each in found} == {"git"}


def test_edits_of_two_machines_are_merged_by_line(a: Machine, b: Machine) -> None:
    a.put("x.md", "# X\n\none\n\ntwo\n")
    a.sync()
    b.sync()
    a.put("x.md", "# X\n\nuno\n\ntwo\n")
    b.put("x.md", "# X\n\none\n\ndue\n")
    a.sync()
    b.sync()
    a.sync()
    assert only(a).body == only(b).body == "# X\n\nuno\n\ndue"
    assert only(a).id == only(b).id


def test_a_commit_by_hand_without_the_id_still_brings_a_note(a: Machine, b: Machine) -> None:
    a.put("first.md", "# First\n")
    a.sync()
    a.put("x.md", "# X\n")
    git(a.folder, "add", "-A")
    git(a.folder, "commit", "-m", "by hand\n\nNote-Id: ../../etc x.md")
    a.sync()
    b.sync()
    assert {note.title for note in b.store.list()} == {"First", "X"}


def test_one_that_was_removed_elsewhere_stays_in_the_history(a: Machine, b: Machine) -> None:
    a.put("x.md", "# X\n\nprecious\n")
    a.sync()
    b.sync()
    id = only(b).id
    (a.folder / "x.md").unlink()
    a.sync()
    b.sync()
    assert b.store.list() == []
    assert [each.note.body for each in b.store.kept.versions(id)] == ["# X\n\nprecious"]
