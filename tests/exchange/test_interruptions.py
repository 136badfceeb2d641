"""Exchanges that are cut off or killed: the next one finds what was done, and nothing is lost."""

from __future__ import annotations

import random
import shutil
import warnings
from pathlib import Path

import pytest

from anamnesis.exchange import exchange_notes
from anamnesis.notes import with_space
from anamnesis.store import MemoryStore
from anamnesis.sync.failure import HUB, last_failure
from tests.exchange.conftest import Machine, Machines
from tests.exchange.small_hub import SmallHub, Space
from tests.killing import fork, wait_for


def test_offline_is_a_result_with_a_sentence_and_everything_is_sent_later(machine: Machines, hub: SmallHub) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("a")
    hub.cut = lambda _path, _when: True
    done = one.sync()
    assert not done.reached
    assert "127.0.0.1" in done.detail
    assert last_failure(one.store.root, HUB)
    hub.cut = lambda _path, _when: False
    assert one.sync().reached
    assert last_failure(one.store.root, HUB) is None
    two.sync()
    assert two.bodies() == {note: "a"}


def test_an_answer_that_was_lost_is_not_a_second_change(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    note = one.write("a")
    hub.cut = lambda path, when: path == "/v1/changes" and when == "after"
    assert not one.sync().reached
    hub.cut = lambda _path, _when: False
    assert one.sync().reached
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


def _busy(one: Machine, two: Machine, hub: SmallHub) -> dict[str, str]:
    """Something of everything on both sides of `one`; the notes by what became of them."""
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


@pytest.mark.parametrize("share", range(3))
def test_an_exchange_can_be_killed_at_any_moment(
    machine: Machines, hub: SmallHub, tmp_path: Path, share: int, request: pytest.FixtureRequest
) -> None:
    hub.spaces["core"] = Space({"you": "writer"})
    one, two = machine("one"), machine("two")
    notes = _busy(one, two, hub)
    one.store.close(), two.store.close()
    states = {name: (space.seq, {n: [*v] for n, v in space.versions.items()}) for name, space in hub.spaces.items()}
    shutil.copytree(tmp_path, tmp_path.with_name(f"{tmp_path.name}-saved"))
    saved = tmp_path.with_name(f"{tmp_path.name}-saved")
    request.addfinalizer(lambda: shutil.rmtree(saved))
    moment, killed = 1 + 7 * share, True
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
            warnings.simplefilter("ignore", DeprecationWarning)  # the hub's thread is not that of the child
            killed = wait_for(fork(work, moment))
        with MemoryStore(tmp_path / "one") as store, MemoryStore(tmp_path / "two") as other:
            first = Machine("you", store, one.settings)
            second = Machine("you", other, two.settings)
            first.sync(), second.sync(), first.sync()
            _check(first, second, hub, notes)
        moment += 21


def _edit(machine: Machine, chance: random.Random, said: set[str], number: int) -> None:
    """One random edit; every line that is written is unique."""
    notes = machine.notes()
    line = f"line {number} of {machine.settings.machine_id}"
    kind = chance.random()
    if not notes or kind < 0.25:
        machine.write(line, title=f"T{number}", project=chance.choice(["global", "acme"]))
        said.add(line)
        return
    note = chance.choice(notes)
    if kind < 0.75:
        lines = note.body.splitlines()
        lines.insert(chance.randrange(len(lines) + 1), line)
        machine.store.update(note.id, body="\n".join(lines))
        said.add(line)
    elif kind < 0.85:
        machine.store.update(note.id, title=f"T{number}", tags=[*note.tags, f"t{number}"])
    elif kind < 0.95:
        space = chance.choice(["core", "~you"])
        machine.store.update(note.id, extra=with_space(machine.store.get(note.id), space).extra)
    elif kind < 0.97:
        machine.store.update(note.id, type=chance.choice(["semantic", "procedural"]))
    else:
        said -= {*note.body.splitlines()}
        machine.store.delete(note.id)


@pytest.mark.parametrize("seed", range(2))
def test_random_edits_by_five_machines_converge_and_lose_no_line(machine: Machines, hub: SmallHub, seed: int) -> None:
    chance = random.Random(seed)
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    machines = [machine(name) for name in "abc"]
    machines += [machine("d", "mate"), machine("e", "mate")]
    said: set[str] = set()

    def cut(_path: str, _when: str) -> bool:
        return chance.random() < 0.03

    hub.cut = cut
    for number in range(150):
        _edit(chance.choice(machines), chance, said, number)
        if chance.random() < 0.4:
            chance.choice(machines).sync()
    hub.cut = lambda _path, _when: False
    for _ in range(4):
        for each in machines:
            each.sync()
    for user in ("you", "mate"):
        texts = [
            {note: each.text(note) for note in each.bodies()} for each in machines if each.user == user
        ]
        assert all(text == texts[0] for text in texts)
    everything = "\n".join(text for each in machines for text in each.bodies().values())
    live = [text for space in hub.spaces.values() for text in space.live().values()]
    lines = {*everything.splitlines()}
    assert said <= lines
    assert said <= {line for text in live for line in text.splitlines()}
    assert not [reason for each in machines for reason in each.reasons()]
