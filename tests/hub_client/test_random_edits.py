"""Random edits by five machines of two users, on a real hub."""

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
from anamnesis.hub import accounts, erasure
from anamnesis.hub.database import administrator
from anamnesis.notes.spaces import space_line
from anamnesis.store import MemoryStore
from anamnesis.store.tombstones import is_purged


def test_random_edits_converge_and_lose_no_line(running: RunningHub, tmp_path: Path) -> None:
    tokens = {name: running.user(name, core="writer").token for name in ("you", "mate")}
    with ExitStack() as opened:
        machines = []
        for name, user in zip("abcde", ("you", "you", "you", "mate", "mate"), strict=True):
            home = tmp_path / name
            log_in(home, parse_address(running.url), tokens[user])
            settings = read_settings({"ANAMNESIS_HOME": str(home), "ANAMNESIS_MACHINE_ID": name}, tmp_path)
            machines.append(Machine(user, opened.enter_context(MemoryStore(home)), settings))
        written = edit_at_random(machines, random.Random(SEED), EDITS)
        check_convergence(machines, written)


def test_a_note_erased_at_the_hub_is_purged_here_and_what_was_changed_in_it_is_kept_as_a_copy(
    running: RunningHub, tmp_path: Path
) -> None:
    you = running.user("you", core="owner")
    log_in(tmp_path, parse_address(running.url), you.token)
    settings = read_settings({"ANAMNESIS_HOME": str(tmp_path), "ANAMNESIS_MACHINE_ID": "desk"}, tmp_path)
    with MemoryStore(tmp_path) as store:
        machine = Machine("you", store, settings)
        gone = machine.write("to be erased", extra=space_line("core"))
        kept = machine.write("to be changed", extra=space_line("core"))
        machine.sync()
        with administrator(running.database) as db:
            core = accounts.find_space(db, "core")
            erasure.as_owner(db, core)
            erasure.erase_note(db, core, gone)
            erasure.erase_note(db, core, kept)
        machine.store.update(kept, body="changed here")
        machine.sync()
        (copy,) = machine.bodies()
        assert machine.bodies() == {copy: "changed here"}
        assert store.trashed() == []
        assert is_purged(tmp_path, gone) and is_purged(tmp_path, kept)
        assert you("/v1/spaces/core/notes/" + kept).json["text"] is None
        assert you("/v1/spaces/~you/notes/" + copy).json["text"] == machine.text(copy)
        assert all(note in str(machine.standing().news) for note in (gone, kept))
