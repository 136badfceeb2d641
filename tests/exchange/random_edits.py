"""Random edits by several machines, and the invariants after them."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

from tests.exchange.conftest import Machine

from anamnesis.notes.spaces import with_space

EDITS = int(os.environ.get("ANAMNESIS_EDITS", "120"))
SEED = int(os.environ.get("ANAMNESIS_SEED", "1"))
# The title of notes that no edit moves or deletes.
PRIVATE = "private"


def edit_at_random(machines: Sequence[Machine], chance: random.Random, edits: int) -> set[str]:
    """Edit and exchange notes at random; returns the lines and titles that nobody replaced. All are unique."""
    written: set[str] = set()
    for number in range(edits):
        edit_once(chance.choice(machines), chance, written, number)
        if chance.random() < 0.4:
            chance.choice(machines).sync()
    return written


def check_convergence(machines: Sequence[Machine], written: set[str]) -> None:
    """After some exchanges, all machines of a user have the same files, and no line is lost."""
    for _ in range(4):
        for each in machines:
            assert each.sync().reached
    for user in {each.user for each in machines}:
        texts = [{note: each.text(note) for note in each.bodies()} for each in machines if each.user == user]
        assert all(text == texts[0] for text in texts)
    # What a member changed in a note of a shared space that another deleted meanwhile is in the member's trash.
    found = [note for each in machines for note in (*each.notes(), *each.trashed())]
    kept = {line for note in found for line in (note.title, *note.body.splitlines())}
    assert written - kept == set()
    assert not [reason for each in machines for reason in each.reasons()]


def edit_once(
    machine: Machine, chance: random.Random, written: set[str], number: int, spaces: Sequence[str] = ("core", "~you")
) -> None:
    """Make one random edit. Adds what it writes to `written`; removes from it what it replaces or deletes."""
    notes = [note for note in machine.notes() if note.title != PRIVATE]
    line, title = (f"{what} {number} of {machine.settings.machine_id}" for what in ("line", "title"))
    kind = chance.random()
    if not notes or kind < 0.25:
        machine.write(line, title=title, project=chance.choice(["global", "acme"]))
        written.add(line)
        written.add(title)
        return
    note = chance.choice(notes)
    if kind < 0.75:
        lines = note.body.splitlines()
        lines.insert(chance.randrange(len(lines) + 1), line)
        machine.store.update(note.id, body="\n".join(lines))
        written.add(line)
    elif kind < 0.85:
        written.difference_update([note.title])
        machine.store.update(note.id, title=title, tags=[*note.tags, f"t{number}"])
        written.add(title)
    elif kind < 0.95:
        space = chance.choice(spaces)
        machine.store.update(note.id, extra=with_space(machine.store.get(note.id), space).extra)
    elif kind < 0.97:
        machine.store.update(note.id, type=chance.choice(["semantic", "procedural"]))
    else:
        written.difference_update([note.title, *note.body.splitlines()])
        machine.store.delete(note.id)
