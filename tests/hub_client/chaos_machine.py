"""One machine of the chaos test, in a process of its own: edits notes at random, exchanges them, and reports its work.

    python -m tests.hub_client.chaos_machine USER SEED SPACE...

It reads the numbers of edits from standard input, and prints JSON objects: each line after it was written ("written"),
lines before their deletion ("deleted"), versions that the hub has acknowledged ("agreed"), and each completed number
("done").
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.exchange.conftest import Machine
from tests.exchange.random_edits import PRIVATE, edit_once

from anamnesis.config import read_settings
from anamnesis.errors import AnamnesisError
from anamnesis.exchange.state import HubDatabase
from anamnesis.notes.spaces import space_line
from anamnesis.store import MemoryStore

# The probabilities that an edit is a private note, that the real command line is run, and of a sync after an edit.
_PRIVATE, _BY_COMMAND, _SYNC = 0.1, 0.04, 0.35


def report(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


class WrittenLines(set[str]):
    """Reports the lines that are added and removed."""

    def add(self, line: str) -> None:
        report(written=line)

    def difference_update(self, *lines: Iterable[object]) -> None:
        report(deleted=[line for some in lines for line in some])


def command(*arguments: str) -> bool:
    done = subprocess.run([sys.executable, "-m", "anamnesis", *arguments], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0


class RandomMachine:
    """The random edits and syncs of one machine."""

    def __init__(self, machine: Machine, chance: random.Random, spaces: list[str]) -> None:
        self.machine = machine
        self.chance = chance
        self.spaces = spaces

    def edit(self, number: int) -> None:
        name, kind = self.machine.settings.machine_id, self.chance.random()
        line = f"line {number} of {name}"
        if kind < _PRIVATE:
            secret = f"{PRIVATE} {number} of {self.machine.user}"
            self.machine.write(secret, title=PRIVATE, project="acme", extra=space_line("~"))
            report(written=secret)
        elif kind < _PRIVATE + _BY_COMMAND:
            if command("write", f"T{number}", line, "--space", self.chance.choice(self.spaces)):
                report(written=line)
        else:
            edit_once(self.machine, self.chance, WrittenLines(), number, self.spaces)

    def sync(self) -> None:
        if self.chance.random() < _BY_COMMAND:
            command("sync")
            return
        try:
            is_reached = self.machine.sync().reached
        except AnamnesisError as error:
            raise SystemExit(f"{type(error).__name__}: {error}") from error
        if is_reached:
            self.report_agreed()

    def report_agreed(self) -> None:
        database = HubDatabase(self.machine.store.root)
        query = "SELECT space, note, version, hash FROM agreed WHERE version > 0 AND hash IS NOT NULL AND is_here"
        rows = database.change(lambda db: db.execute(query).fetchall())
        database.close()
        report(agreed=[(space, note, version, hash.hex()) for space, note, version, hash in rows])


def main(user: str, seed: str, spaces: list[str]) -> None:
    settings = read_settings(os.environ, Path(os.environ["HOME"]))
    with MemoryStore(settings.home) as store:
        for number in map(int, sys.stdin):
            chance = random.Random(f"{seed} {settings.machine_id} {number}")
            machine = RandomMachine(Machine(user, store, settings), chance, spaces)
            machine.edit(number)
            if chance.random() < _SYNC:
                machine.sync()
            report(done=number)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
