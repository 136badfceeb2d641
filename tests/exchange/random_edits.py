"""Random edits by several machines, and what has to hold after them."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

from tests.exchange.conftest import Machine

from anamnesis.notes.spaces import with_space

EDITS = int(os.environ.get("ANAMNESIS_EDITS", "120"))
SEED = int(os.environ.get("ANAMNESIS_SEED", "1"))
# The title of notes that are never moved or deleted.
PRIVATE = "private"


def edit_at_random(machines: Sequence[Machine], chance: random.Random, edits: int) -> set[str]:
    """Edit notes and exchange them, both at random; the lines that nobody deleted. All lines are unique."""
    said: set[str] = set()
    for number in range(edits):
        edit_once(chance.choice(machines), chance, said, number)
        if chance.random() < 0.4:
            chance.choice(machines).sync()
    return said


def check_convergence(machines: Sequence[Machine], said: set[str]) -> None:
    """All machines of a user have the same files in the end, and no line is lost."""
    for _ in range(4):
        for each in machines:
            assert each.sync().reached
    for user in {each.user for each in machines}:
        texts = [{note: each.text(note) for note in each.bodies()} for each in machines if each.user == user]
        assert all(text == texts[0] for text in texts)
    kept = {line for each in machines for text in each.bodies().values() for line in text.splitlines()}
    assert said - kept == set()
    assert not [reason for each in machines for reason in each.reasons()]


def edit_once(
    machine: Machine, chance: random.Random, said: set[str], number: int, spaces: Sequence[str] = ("core", "~you")
) -> None:
    """Make one edit at random. `said` gets a line when it is written, and loses those of a note before its deletion."""
    notes = [note for note in machine.notes() if note.title != PRIVATE]
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
        space = chance.choice(spaces)
        machine.store.update(note.id, extra=with_space(machine.store.get(note.id), space).extra)
    elif kind < 0.97:
        machine.store.update(note.id, type=chance.choice(["semantic", "procedural"]))
    else:
        said.difference_update(note.body.splitlines())
        machine.store.delete(note.id)
