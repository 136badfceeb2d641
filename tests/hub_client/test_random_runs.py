"""A user's three machines (with git, with a hub, with both) and a teammate's: anything may happen, in any order.

The machines work in this process; those that are killed during a sync are processes, and so are the hub and PostgreSQL,
which are killed too. ANAMNESIS_SEED chooses the run; `make hunt` makes others, each ten times as long.
"""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from tests.exchange.random_edits import SEED
from tests.hub_client.cutting_proxy import CuttingProxy
from tests.hub_client.test_chaos import Hubs
from tests.hunting import at_length
from tests.postgres import KEY, Postgres, binaries
from tests.sync.machine import bare, files_in

from anamnesis import review
from anamnesis.config import Settings, read_settings
from anamnesis.dream.cycle import Options, dream
from anamnesis.errors import AnamnesisError
from anamnesis.exchange.account import parse_address
from anamnesis.exchange.login import log_in
from anamnesis.exchange.syncing import Synced, sync_both
from anamnesis.hub import accounts
from anamnesis.hub.database import administrator
from anamnesis.hub.tenancy import implied
from anamnesis.importers import importer_named
from anamnesis.importers.machine import this_machine
from anamnesis.importers.pipeline import run_import
from anamnesis.inject import select_inject
from anamnesis.notes import Memory, parse
from anamnesis.notes.spaces import with_space
from anamnesis.store import MemoryStore, changeset
from anamnesis.store.files import Trashed
from anamnesis.store.purging import purge
from anamnesis.sync import GitSyncBackend
from anamnesis.sync.worktree import forget_staged

ROUNDS = 5
# A sync takes some 20 to 60 steps; beyond them nobody is killed.
STEPS = 60
PROJECTS = ("global", "acme", "lamp")
# The projects of the space core.
GIVEN = ("acme",)
# A word of its own in each line, named after who wrote it.
WORD = re.compile(r"\b(?:own|mate|import)word\d+x\b")

SYNC = """
import os, signal, sys
from pathlib import Path
from anamnesis.config import read_settings
from anamnesis.store import MemoryStore
from tests.hub_client.test_random_runs import sync
home, name, remote, at = sys.argv[1:]
left = int(at)
def count(event, args):
    global left
    if event in ("subprocess.Popen", "os.rename", "http.client.send") or (event == "os.remove" and args[1] == -1):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
with MemoryStore(home) as store:
    sys.addaudithook(count)
    sync(store, read_settings({"ANAMNESIS_HOME": home, "ANAMNESIS_MACHINE_ID": name}, Path(home).parent), remote)
"""


def sync(store: MemoryStore, settings: Settings, remote: str) -> Synced:
    backend = GitSyncBackend(store.memory_dir, remote=remote or None, machine_id=settings.machine_id)
    return sync_both(store, backend, settings)


@dataclass
class Machine:
    """A machine, and the ids that were purged on it."""

    name: str
    user: str
    store: MemoryStore
    settings: Settings
    remote: str
    has_hub: bool
    purged: set[str] = field(default_factory=set)

    def sync(self) -> Synced:
        return sync(self.store, self.settings, self.remote)

    def start_sync(self, kill_at: int) -> subprocess.Popen[str]:
        arguments = [str(self.store.root), self.name, self.remote, str(kill_at)]
        return subprocess.Popen([sys.executable, "-c", SYNC, *arguments], stderr=subprocess.PIPE, text=True)

    def notes(self) -> list[Memory]:
        self.store.refresh()
        return sorted(self.store.list(), key=lambda note: note.id)

    def texts(self, root: Path | None = None) -> list[tuple[str, str]]:
        """The id and the text of each file of a note."""
        found = files_in(root or self.store.memory_dir)
        texts = [data.decode() for path, data in found.items() if path.endswith(".md")]
        return sorted((parse(text).id, text) for text in texts)

    def everything(self) -> list[tuple[str, str]]:
        return self.texts() + self.texts(self.store.local_dir)


class Run:
    """One run: random operations, failures in between, and what must hold at its end."""

    def __init__(self, machines: list[Machine], hubs: Hubs, database: Postgres, chance: random.Random) -> None:
        self.machines = machines
        self.hubs = hubs
        self.database = database
        self.chance = chance
        self.number = 0
        # The words that nobody took out on purpose, and those of others that the user has accepted.
        self.written: set[str] = set()
        self.accepted: set[str] = set()
        # The note that each word of an edit was written into, and the notes that somebody deleted or took out.
        self.edited: dict[str, str] = {}
        self.taken: set[str] = set()
        self.operations: list[tuple[int, Callable[[Machine], None]]] = [
            (14, self.write), (30, self.edit), (8, self.remove_a_line), (4, self.retitle), (4, self.delete),
            (2, self.purge), (3, self.restore), (4, self.retype), (5, self.move), (3, self.dream), (2, self.undo),
            (6, self.accept), (4, self.import_a_file), (8, self.share), (50, self.sync),
        ]  # fmt: skip
        self.failures: list[Callable[[], None]] = [
            self.kill_a_machine, self.kill_a_hub, self.kill_a_machine, partial(self.end_the_database, signal.SIGQUIT),
            self.kill_a_machine, self.cut_off, self.kill_a_machine, partial(self.end_the_database, signal.SIGINT),
        ]  # fmt: skip

    def run(self, steps: int) -> None:
        weights = [weight for weight, _ in self.operations]
        every = max(1, steps // (2 * len(self.failures)))
        for number in range(steps):
            (operation,) = self.chance.choices([each for _, each in self.operations], weights)
            machine = self.chance.choice(self.machines)
            print(number, operation.__name__, machine.name, end=" ")  # shown if it fails
            operation(machine)
            print()
            if number % every == every - 1:
                failure = self.failures[number // every % len(self.failures)]
                print(failure)
                failure()
        self.hubs.proxy.cut, self.hubs.proxy.offline = 0.0, set()

    def word(self, by: str) -> str:
        self.number += 1
        self.written.add(found := f"{by}word{self.number}x")
        return found

    def edit_of(self, note: Memory, machine: Machine) -> str:
        self.edited[word := self.word("own" if machine.user == "you" else "mate")] = note.id
        return word

    def a_note(self, machine: Machine) -> Memory | None:
        notes = machine.notes()
        note = self.chance.choice(notes) if notes else None
        print(note.id if note else "", end=" ")
        return note

    def write(self, machine: Machine) -> None:
        by = "own" if machine.user == "you" else "mate"
        lines = [self.word(by) for _ in range(3)]
        space = "core" if machine.user == "mate" else self.chance.choice(["", "core"])
        note = Memory("", "semantic", f"Title {self.number}", "\n".join(lines))
        machine.store.write(
            type="semantic",
            title=note.title,
            body=note.body,
            project=self.chance.choice(PROJECTS),
            machine_id=machine.name,
            extra=with_space(note, space).extra if space else {},
        )

    def edit(self, machine: Machine) -> None:
        if note := self.a_note(machine):
            lines = note.body.split("\n")
            lines.insert(self.chance.randrange(len(lines) + 1), self.edit_of(note, machine))
            machine.store.update(note.id, body="\n".join(lines))

    def remove_a_line(self, machine: Machine) -> None:
        if note := self.a_note(machine):
            lines = note.body.split("\n")
            self.written.difference_update(WORD.findall(lines.pop(self.chance.randrange(len(lines)))))
            machine.store.update(note.id, body="\n".join(lines) or "empty")

    def retitle(self, machine: Machine) -> None:
        if note := self.a_note(machine):
            machine.store.update(note.id, title=self.edit_of(note, machine))
            self.written.difference_update(WORD.findall(note.title))

    def delete(self, machine: Machine) -> None:
        if note := self.a_note(machine):
            self.delete_note(machine, note)

    def delete_note(self, machine: Machine, note: Memory) -> None:
        self.written.difference_update(WORD.findall(f"{note.title}\n{note.body}"))
        self.taken.add(note.id)
        machine.store.delete(note.id)

    def purge(self, machine: Machine) -> None:
        if note := self.a_note(machine):
            self.written.difference_update(WORD.findall(f"{note.title}\n{note.body}"))
            purge(machine.store, note.id)
            forget_staged(machine.store.memory_dir)
            machine.purged.add(note.id)

    def restore(self, machine: Machine) -> None:
        if trashed := machine.store.trashed():
            with suppress(AnamnesisError):  # it is here again
                machine.store.restore(self.chance.choice(trashed).id)

    def retype(self, machine: Machine) -> None:
        if note := self.a_note(machine):
            machine.store.update(note.id, type=self.chance.choice(["semantic", "procedural"]))

    def move(self, machine: Machine) -> None:
        """To this machine alone, or back."""
        if note := self.a_note(machine):
            self.taken.add(note.id)
            machine.store.move(note.id, "portable" if note.scope == "machine-local" else "machine-local")

    def dream(self, machine: Machine) -> None:
        dream(machine.store, Options())

    def undo(self, machine: Machine) -> None:
        if done := [*changeset.changes(machine.store)]:
            with suppress(AnamnesisError):  # it is undone already
                changeset.undo(machine.store, done[0].id)

    def accept(self, machine: Machine) -> None:
        machine.store.refresh()
        if machine.user == "you" and (waiting := review.waiting(machine.store)):
            note = self.chance.choice(waiting)
            self.accepted.update(WORD.findall(f"{note.title}\n{note.body}"))
            review.accept(machine.store, note.id)

    def import_a_file(self, machine: Machine) -> None:
        folder = machine.store.root.parent / f"vault-{self.number}"
        folder.mkdir()
        (folder / "file.md").write_text(f"# Imported {self.number}\n\n{self.word('import')}\n")
        settings = machine.settings
        here = this_machine(machine.store, machine.name, folder, folder / ".claude", folder=folder, environ={})
        assert settings.machine_id == here.id
        result = run_import(machine.store, importer_named("markdown"), folder, here, project="global")
        assert sum(result.counts.values()) >= 1

    def share(self, machine: Machine) -> None:
        """With the members of the space core, or no longer."""
        if machine.has_hub and machine.user == "you" and (note := self.a_note(machine)):
            self.taken.add(note.id)
            whole = machine.store.get(note.id)  # with the lines of other programs, and the link of a conflict
            machine.store.update(note.id, extra=with_space(whole, self.chance.choice(["core", "~"])).extra)

    def sync(self, machine: Machine) -> None:
        with suppress(AnamnesisError):  # what fails in the middle is done by the next
            machine.sync()

    def kill_a_machine(self) -> None:
        process = self.chance.choice(self.machines).start_sync(self.chance.randint(1, STEPS))
        errors = process.communicate()[1]
        assert process.returncode in (0, -signal.SIGKILL) or "AnamnesisError" in errors, errors

    def kill_a_hub(self) -> None:
        """During a request, and its client at the end of time."""
        machine = next(each for each in self.machines if each.has_hub)
        process = machine.start_sync(0)
        self.hubs.kill()
        self.hubs.start()
        process.communicate()

    def end_the_database(self, how: signal.Signals) -> None:
        self.database.stop(how)
        self.database.start()

    def cut_off(self) -> None:
        self.hubs.proxy.cut = 0.1
        self.hubs.proxy.offline = {self.chance.choice(self.machines).name}

    def converge(self) -> None:
        for _ in range(ROUNDS):
            done = [each.sync() for each in self.machines]
            assert [fault for each in done for fault in each.faults] == []

    def check(self) -> None:
        assert {what: found for what, found in self.broken() if found} == {}

    def broken(self) -> Iterator[tuple[str, object]]:
        """What must hold, and what breaks it."""
        everything = {each.name: each.everything() for each in self.machines}
        yield "not equal", self.unequal()
        texts = [text for found in everything.values() for _, text in found]
        # Of a note that left a space, its members have in the trash what others had not seen of it.
        trashed = [(each.id, root / each.path) for root, each in self.trashed()]
        texts += [path.read_text() for id, path in trashed if id in self.taken]
        kept = {word for text in texts for word in WORD.findall(text)}
        # A purge is to forget a note with all edits, also those of others that its machine has not received.
        yield "lost", self.written - kept - {word for word, id in self.edited.items() if id in self.purged}
        for each in self.machines:
            ids = Counter(id for id, _ in everything[each.name])
            yield f"purged, and here again on {each.name}", ids.keys() & each.purged
            yield f"in two files on {each.name}", {id for id, count in ids.items() if count > 1}
            bodies = [parse(text).body for _, text in everything[each.name]]
            counts = [(word, count) for body in bodies for word, count in Counter(WORD.findall(body)).items()]
            yield f"twice in a note on {each.name}", {word for word, count in counts if count > 1}
            yield f"told on {each.name}", self.told(each)

    def trashed(self) -> list[tuple[Path, Trashed]]:
        return [(machine.store.root, each) for machine in self.machines for each in machine.store.trashed()]

    @property
    def purged(self) -> set[str]:
        return set().union(*(each.purged for each in self.machines))

    def unequal(self) -> dict[str, dict[str, str]]:
        """The notes of which two machines of a user, or those of two members in their space, have other texts."""
        found: dict[str, dict[str, str]] = {}
        for each in self.machines:
            for id, text in each.texts():
                found.setdefault(id, {})[each.name] = text
        yours = {each.name for each in self.machines if each.user == "you"}
        one = {id for id, texts in found.items() if len({*texts.values()}) == 1}
        alike = {id for id in one if yours & found[id].keys() in (yours, set())}
        return {id: texts for id, texts in found.items() if id not in alike | self.purged}

    def told(self, machine: Machine) -> set[str]:
        """Words of others that a session is told, which the user has not accepted and no project of the space has."""
        if machine.user != "you":
            return set()
        found = [
            f"{note.title}\n{note.body}"
            for project in PROJECTS
            for note in select_inject(machine.store, project=project, k=10_000, budget=10_000_000)
            if note.project not in GIVEN
        ]
        return {word for text in found for word in WORD.findall(text) if not word.startswith("own")} - self.accepted

    def check_that_deleted_notes_stay_away(self) -> None:
        """When all have a note, and one deletes it, it is gone everywhere, whatever is done later."""
        at = self.chance.choice(self.machines[:3])
        gone = self.chance.sample(at.notes(), 3)
        for note in gone:
            self.delete_note(at, note)
        self.converge()
        for each in self.machines:
            dream(each.store, Options())
        self.converge()
        for each in self.machines:
            # What a teammate keeps on their machine alone is theirs.
            here = each.everything() if each.user == "you" else each.texts()
            assert {note.id for note in gone} & {id for id, _ in here} == set()


@pytest.fixture
def database() -> Iterator[Postgres]:
    """A PostgreSQL server of its own, which the test kills."""
    own = Postgres(binaries())
    yield own
    own.remove()


def tokens(url: str) -> dict[str, str]:
    with administrator(url) as db:
        users = {name: accounts.add_user(db, name) for name in ("you", "mate")}
        core = accounts.add_space(db, "core")
        for user in users.values():
            accounts.set_member(db, core, user, "writer")
        for project in GIVEN:
            accounts.give_project(db, core, project)
        return {name: accounts.create_token(db, KEY, user, name, implied("write"))[1] for name, user in users.items()}


@pytest.mark.timeout(3600)
def test_machines_agree_and_lose_and_tell_nothing_whatever_happens(database: Postgres, tmp_path: Path) -> None:
    url = database.new_hub()
    seed = at_length(SEED, random.randrange(1 << 32))
    print(json.dumps({"seed": seed}))
    remote = str(bare(tmp_path / "remote.git"))
    with CuttingProxy("bcd", seed) as proxy, ExitStack() as stack:
        hubs = Hubs(url, tmp_path, proxy)
        stack.callback(hubs.end)
        hubs.start()
        token = tokens(url)
        machines = []
        for name, user, at in (("a", "you", remote), ("b", "you", ""), ("c", "you", remote), ("d", "mate", "")):
            home = tmp_path / name
            if name != "a":
                log_in(home, parse_address(proxy.urls[name]), token[user])
            settings = read_settings({"ANAMNESIS_HOME": str(home), "ANAMNESIS_MACHINE_ID": name}, tmp_path)
            store = stack.enter_context(MemoryStore(home))
            machines.append(Machine(name, user, store, settings, at, has_hub=name != "a"))
        run = Run(machines, hubs, database, random.Random(seed))
        run.run(at_length(200, 2_000))
        run.converge()
        run.check()
        run.check_that_deleted_notes_stay_away()
        run.check()
