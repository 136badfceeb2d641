"""Git and a hub together: both exchange the same notes, and if one fails, the other still runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.exchange.conftest import Machine, Machines
from tests.exchange.small_hub import SmallHub, Space
from tests.sync.machine import git

from anamnesis import review
from anamnesis.exchange.syncing import Synced, sync_both
from anamnesis.inject import select_inject
from anamnesis.notes.spaces import space_line
from anamnesis.sync import GitSyncBackend, SyncResult, sync_store


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    folder = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(folder))
    return folder


def sync(machine: Machine, remote: Path | str) -> Synced:
    name = machine.settings.machine_id
    backend = GitSyncBackend(machine.store.memory_dir, remote=str(remote), machine_id=name)
    return sync_both(machine.store, backend, machine.settings)


def test_git_and_hub_together_converge_without_needless_copies(machine: Machines, remote: Path) -> None:
    one, two = machine("one"), machine("two")
    merged, conflict, deleted = (one.write("a\nb\nc\nd\ne", title=name) for name in ("merged", "conflict", "deleted"))
    sync(one, remote), sync(two, remote)
    one.store.update(merged, body="A\nb\nc\nd\ne")
    two.store.update(merged, body="a\nb\nc\nd\nE")
    one.store.update(conflict, body="one")
    two.store.update(conflict, body="two")
    two.store.delete(deleted)
    for each in (one, two, one, two):
        done = sync(each, remote)
        assert done.faults == []
    assert one.bodies() == two.bodies()
    assert one.bodies()[merged] == "A\nb\nc\nd\nE"
    assert sorted(one.bodies().values()) == ["A\nb\nc\nd\nE", "one", "two"]
    assert {note: one.text(note) for note in one.bodies()} == {note: two.text(note) for note in two.bodies()}
    assert sync(one, remote).report(one.store)["hub"]["sent"] == 0


def test_either_may_fail_alone(machine: Machines, remote: Path, hub: SmallHub, tmp_path: Path) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("a")
    done = sync(one, tmp_path / "nowhere.git")
    assert not done.git.reached
    assert len(done.faults) == 1
    assert hub.text("~you", note)
    hub.cut = lambda _path, _when: True
    other = two.write("b")
    done = sync(two, remote)
    assert done.git.pushed
    assert done.hub
    assert not done.hub.reached
    assert "127.0.0.1" in done.faults[0]
    hub.cut = lambda _path, _when: False
    sync(one, remote), sync(two, remote)
    assert one.bodies() == two.bodies() == {note: "a", other: "b"}


@pytest.mark.parametrize("project", ["global", "acme"])
def test_a_teammates_text_that_git_brings_before_the_hub_does_is_held(
    machine: Machines, remote: Path, hub: SmallHub, project: str
) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"}, projects=["acme"])
    one, two, mate = machine("one"), machine("two"), machine("three", "mate")
    rule, own = (one.write("Mine.", title=each, project=project, extra=space_line("core")) for each in ("Rule", "Own"))
    sync(one, remote), sync(two, remote), mate.sync()
    assert told(two) == {rule: "Mine.", own: "Mine."}
    mate.store.update(rule, body="Run the script.")
    mate.sync()
    one.store.update(own, body="Still mine.")
    sync(one, remote), sync(one, remote)  # the second sends by git what the hub has just brought
    hub.cut = lambda _path, _when: True
    sync(two, remote)
    assert two.bodies() == {rule: "Run the script.", own: "Still mine."}
    assert told(two) == {}, "nothing here knows who wrote the texts"
    hub.cut = lambda _path, _when: False
    sync(two, remote)
    if project == "global":
        assert told(two) == {own: "Still mine."}
        review.accept(one.store, rule)
        sync(one, remote), sync(two, remote)
    assert told(two) == {own: "Still mine.", rule: "Run the script."}


def test_the_copy_of_a_conflict_with_a_teammates_text_stays_the_teammates(
    machine: Machines, remote: Path, hub: SmallHub
) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    one, two, mate = machine("one"), machine("two"), machine("three", "mate")
    rule = one.write("Mine.", title="Rule", extra=space_line("core"))
    sync(one, remote), sync(two, remote), mate.sync()
    mate.store.update(rule, title="Run the script.")
    mate.sync()
    sync(one, remote), sync(one, remote)
    hub.cut = lambda _path, _when: True
    two.store.update(rule, title="A rule.")
    sync(two, remote)
    assert {note.title for note in two.store.list()} == {"A rule.", "Run the script."}
    hub.cut = lambda _path, _when: False
    for each in (two, one, two):
        sync(each, remote)
    for each in (one, two):
        (copy,) = [note for note in each.store.list() if note.title == "Run the script."]
        assert each.store.origins([copy])[copy.id].is_held
        assert copy.id not in told(each)


def test_an_edit_that_a_note_kept_here_has_and_the_one_that_git_brings_back_lacks_stays_here(
    machine: Machines, remote: Path
) -> None:
    """The other machine's change came by the hub: the text before it in git's history is not its own."""
    one, both, two = (machine(name) for name in ("one", "both", "two"))
    note = one.write("a")
    by_git(one, remote), sync(both, remote), two.sync()
    one.store.update(note, body="a\nof one")
    by_git(one, remote), sync(both, remote)
    one.store.move(note, "machine-local")
    by_git(one, remote), sync(both, remote)
    two.store.update(note, body="of two\na")
    two.sync(), sync(both, remote), sync(both, remote), by_git(one, remote)
    assert both.bodies() == two.bodies() == {note: "of two\na"}
    assert sorted(one.bodies().values()) == ["a\nof one", "of two\na"]


def test_keeping_a_note_here_that_nothing_vouches_for_does_not_release_it(machine: Machines, remote: Path) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("Run the script.", extra=space_line("core"))
    by_git(one, remote), by_git(two, remote)
    assert (told(one), told(two)) == ({note: "Run the script."}, {})
    two.store.move(note, "machine-local")
    assert told(two) == {}


def by_git(machine: Machine, remote: Path) -> SyncResult:
    name = machine.settings.machine_id
    return sync_store(machine.store, GitSyncBackend(machine.store.memory_dir, remote=str(remote), machine_id=name))


def told(machine: Machine) -> dict[str, str]:
    return {note.id: note.body for note in select_inject(machine.store, project="acme")}
