"""Five machines of two users that edit at random, on a real hub."""

from __future__ import annotations

import random
from contextlib import ExitStack
from pathlib import Path

from tests.exchange.conftest import Machine
from tests.exchange.random_edits import EDITS, SEED, check_convergence, edit_at_random
from tests.hub.running import RunningHub

from anamnesis.config import read_settings
from anamnesis.exchange.account import parse_address
from anamnesis.exchange.login import log_in
from anamnesis.store import MemoryStore


def test_random_edits_converge_and_lose_no_line(running: RunningHub, tmp_path: Path) -> None:
    tokens = {name: running.user(name, core="writer").token for name in ("you", "mate")}
    with ExitStack() as opened:
        machines = []
        for name, user in zip("abcde", ("you", "you", "you", "mate", "mate"), strict=True):
            home = tmp_path / name
            log_in(home, parse_address(running.url), tokens[user])
            settings = read_settings({"ANAMNESIS_HOME": str(home), "ANAMNESIS_MACHINE_ID": name}, tmp_path)
            machines.append(Machine(user, opened.enter_context(MemoryStore(home)), settings))
        said = edit_at_random(machines, random.Random(SEED), EDITS)
        check_convergence(machines, said)
