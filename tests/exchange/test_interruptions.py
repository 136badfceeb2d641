"""Interrupted and killed exchanges: the next one completes them, and nothing is lost."""

from __future__ import annotations

import os
import random
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

from tests.exchange.conftest import Machine, Machines
from tests.exchange.random_edits import EDITS, SEED, check_convergence, edit_at_random
from tests.exchange.small_hub import SmallHub, Space
from tests.killing import fork, wait_for

from anamnesis.exchange import exchange_notes
from anamnesis.notes.spaces import space_line, with_space
from anamnesis.store import MemoryStore
from anamnesis.sync.conflicts import list_conflicts, resolve
from anamnesis.sync.failure import HUB, last_failure

# The number of operations between two tested kill points; ANAMNESIS_KILL_STEP=1 tests all of them.
STEP = int(os.environ.get("ANAMNESIS_KILL_STEP", "37"))


def test_an_unreachable_hub_is_a_result_and_the_notes_are_sent_later(machine: Machines, hub: SmallHub) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("a")
    hub.cut = lambda _path, _when: True
    done = one.sync()
    assert not done.reached
    assert "127.0.0.1" in done.detail
    failure = last_failure(one.store.root, HUB)
    assert failure and "cannot be reached" in failure.reason
    hub.cut = lambda _path, _when: False
    assert one.sync().reached
    two.sync()
    assert two.bodies() == {note: "a"}


def test_a_lost_answer_does_not_cause_a_second_version(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    note = one.write("a")
    hub.cut = lambda path, when: path == "/v1/changes" and when == "after"
    assert one.sync().waiting == 1
    hub.cut = lambda _path, _when: False
    assert one.sync().waiting == 0
    assert len(hub.spaces["~you"].versions[note]) == 1
    assert one.bodies() == {note: "a"}


def test_a_move_whose_answer_was_lost_leaves_the_note_in_one_space(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer"})
    one = machine("one")
    note = one.write("a")
    one.sync()
    one.store.update(note, extra=with_space(one.store.get(note), "core").extra)
    hub.cut = lambda path, when: path == "/v1/changes" and when == "after"
    one.sync()
    assert hub.text("core", note)
    assert hub.text("~you", note)
    hub.cut = lambda _path, _when: False
    one.sync()
    assert hub.text("core", note)
    assert hub.text("~you", note) is None


def _change_everything(one: Machine, two: Machine, hub: SmallHub) -> dict[str, str]:
    """Make every kind of change at the hub and on `one`; returns the notes by kind."""
    names = ("merged", "conflict", "deleted there", "deleted here", "changed there", "moved")
    notes = {name: one.write("a\nb\nc\nd\ne", title=name) for name in names}
    one.sync(), two.sync()
    two.store.update(notes["merged"], body="a\nb\nc\nd\nE")
    two.store.update(notes["conflict"], body="two")
    two.store.update(notes["changed there"], body="changed there", type="procedural")
    two.store.delete(notes["deleted there"])
    notes["new there"] = two.write("new there")
    two.sync()
    one.store.update(notes["merged"], body="A\nb\nc\nd\ne")
    one.store.update(notes["conflict"], body="one")
    one.store.update(notes["moved"], extra=with_space(one.store.get(notes["moved"]), "core").extra)
    one.store.delete(notes["deleted here"])
    notes["new here"] = one.write("new here")
    assert hub.spaces["core"]
    return notes


def _check(one: Machine, two: Machine, hub: SmallHub, notes: dict[str, str]) -> None:
    bodies = one.bodies()
    assert bodies == two.bodies()
    assert bodies[notes["merged"]] == "A\nb\nc\nd\nE"
    assert sorted(body for body in bodies.values() if body in ("one", "two")) == ["one", "two"]
    assert bodies[notes["changed there"]] == "changed there"
    assert notes["deleted there"] not in bodies
    assert notes["deleted here"] not in bodies
    assert {notes["new here"], notes["new there"], notes["moved"]} <= bodies.keys()
    assert len(bodies) == 7
    assert [*hub.spaces["core"].live()] == [notes["moved"]]
    assert len(hub.spaces["~you"].live()) == 6
    assert one.store.problems() == []
    assert one.reasons() == []


def test_an_exchange_can_be_killed_at_any_moment(machine: Machines, hub: SmallHub, tmp_path: Path) -> None:
    hub.spaces["core"] = Space({"you": "writer"})
    one, two = machine("one"), machine("two")
    notes = _change_everything(one, two, hub)
    for first, second in _killed(one, two, hub, tmp_path, STEP):
        first.sync(), second.sync(), first.sync()
        _check(first, second, hub, notes)


def test_an_exchange_that_makes_copies_can_be_killed_at_any_moment(
    machine: Machines, hub: SmallHub, tmp_path: Path
) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    mate, you = machine("one", "mate"), machine("two")
    names = ("stale", "restored", "copied", "kept", "deleted", "resolved")
    notes = {name: you.write(f"{name} ", title=name, extra=space_line("core")) for name in names}
    you.sync(), mate.sync()
    for each in (mate, you):
        each.store.update(notes["resolved"], body=f"resolved by {each.user}")
    mate.sync(), you.sync(), mate.sync()
    _take(you, notes["restored"])
    you.sync(), mate.sync()
    (conflict,) = list_conflicts(you.store)
    kept, other = conflict.note, conflict.other
    assert kept
    resolve(you.store, conflict, "this")
    resolve(mate.store, list_conflicts(mate.store)[0], "other")
    _take(you, notes["stale"])
    you.store.update(notes["deleted"], body="deleted and changed")
    you.sync()
    mate.store.restore(notes["restored"])
    mate.store.update(notes["stale"], body="stale and changed")
    _take(mate, notes["copied"])
    mate.store.move(notes["kept"], "machine-local")
    mate.store.delete(notes["deleted"])
    for first, second in _killed(mate, you, hub, tmp_path, 4 * STEP):
        first.sync(), second.sync(), first.sync()
        assert [name for name, note in notes.items() if hub.text("core", note)] == ["copied", "kept", "resolved"]
        shared = {notes["copied"]: "copied ", notes["kept"]: "kept ", notes["resolved"]: kept.body}
        assert second.bodies() == {**shared, notes["stale"]: "stale ", notes["restored"]: "restored "}
        copies = {note: body for note, body in first.bodies().items() if note not in shared}
        assert sorted(copies.values()) == ["copied ", "kept ", "restored ", "stale and changed"]
        assert not {*copies} & {*notes.values(), other.id}
        assert shared.items() <= first.bodies().items()
        assert {*hub.spaces["~mate"].live()} == {note for note, body in copies.items() if body != "kept "}
        assert first.reasons() == second.reasons() == []


def _take(machine: Machine, note: str) -> None:
    machine.store.update(note, extra=with_space(machine.store.get(note), "~").extra)


def _killed(one: Machine, two: Machine, hub: SmallHub, tmp_path: Path, step: int) -> Iterator[tuple[Machine, Machine]]:
    """Both machines, each time as they are now but for an exchange of the first, which was killed a step later."""
    one.store.close()
    two.store.close()
    states = {name: (space.seq, {n: [*v] for n, v in space.versions.items()}) for name, space in hub.spaces.items()}
    saved = tmp_path.with_name(f"{tmp_path.name}-saved")
    shutil.copytree(tmp_path, saved)
    moment, killed = 1, True
    try:
        while killed:
            for name in ("one", "two"):
                shutil.rmtree(tmp_path / name)
                shutil.copytree(saved / name, tmp_path / name, symlinks=True)
            for name, (seq, versions) in states.items():
                hub.spaces[name].seq, hub.spaces[name].versions = seq, {n: [*v] for n, v in versions.items()}

            def work() -> None:
                with MemoryStore(tmp_path / "one") as store:
                    exchange_notes(store, one.settings)

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # the child does not use the hub's thread
                killed = wait_for(fork(work, moment))
            with MemoryStore(tmp_path / "one") as store, MemoryStore(tmp_path / "two") as other:
                yield Machine(one.user, store, one.settings), Machine(two.user, other, two.settings)
            moment += step
    finally:
        shutil.rmtree(saved)


def test_random_edits_by_five_machines_converge_and_lose_no_line(machine: Machines, hub: SmallHub) -> None:
    """Some requests and answers are lost. ANAMNESIS_EDITS and ANAMNESIS_SEED set the number and choice of edits."""
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    machines = [*map(machine, "abc"), machine("d", "mate"), machine("e", "mate")]
    chance = random.Random(SEED)
    hub.cut = lambda _path, _when: chance.random() < 0.03
    written = edit_at_random(machines, chance, EDITS)
    hub.cut = lambda _path, _when: False
    check_convergence(machines, written)
    trashed = {line for each in machines for note in each.trashed() for line in (note.title, *note.body.splitlines())}
    assert written - trashed <= {
        line.removeprefix("title: ")
        for space in hub.spaces.values()
        for text in space.live().values()
        for line in text.split("\n")
    }
