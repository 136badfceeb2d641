"""Machines edit at random before, between and after a backup of their hub and its restore."""

from __future__ import annotations

import copy
import random

import pytest
from tests.exchange.conftest import Machines
from tests.exchange.random_edits import EDITS, SEED, check_convergence, edit_at_random
from tests.exchange.small_hub import SmallHub, Space

from anamnesis.notes.spaces import VERSION_RANGE


@pytest.mark.parametrize("seed", range(SEED, SEED + 2))
def test_a_restore_loses_no_line_and_brings_no_deleted_note_back(machine: Machines, hub: SmallHub, seed: int) -> None:
    """A note that every machine knew to be deleted, and nobody has written since, stays deleted in each space."""
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    chance = random.Random(seed)
    machines = [machine(name, user) for name, user in (("a", "you"), ("b", "you"), ("c", "mate"))]
    written = edit_at_random(machines, chance, EDITS // 3)
    saved = copy.deepcopy(hub.spaces)
    written |= edit_at_random(machines, chance, EDITS // 3)
    kept = [each for each in machines[0].notes() if each.title]
    for each in kept[: len(kept) // 3]:
        machines[0].store.delete(each.id)
        written.difference_update([each.title, *each.body.splitlines()])
    for _ in range(3):
        for each in machines:
            each.sync()
    gone = {(name, note) for name, space in hub.spaces.items() for note in space.versions if note not in space.live()}
    lines = {line for each in machines for note in each.notes() for line in (note.title, *note.body.splitlines())}
    written &= lines  # what two machines replaced at once
    hub.spaces, hub.id = saved, "hub-restored"
    for space in hub.spaces.values():
        space.seq = VERSION_RANGE
    check_convergence(machines, written)
    assert {(name, note) for name, note in gone if note in hub.spaces[name].live()} == set()
    check_convergence(machines, edit_at_random(machines, chance, EDITS // 3))
