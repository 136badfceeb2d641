"""Five machines of three users, with clocks a day apart, edit while hubs, the database and machines are killed.

All are real processes: PostgreSQL, two hubs behind a proxy that cuts connections, and the machines. ANAMNESIS_EDITS and
ANAMNESIS_SEED set the number and choice of edits. The seed decides what is done, the operating system when.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.exchange.conftest import Machine
from tests.exchange.random_edits import EDITS, PRIVATE, SEED, check_convergence
from tests.hub_client.conftest import Person
from tests.hub_client.cutting_proxy import CuttingProxy
from tests.postgres import KEY, Postgres, binaries

from anamnesis.config import read_settings
from anamnesis.exchange.state import HubDatabase
from anamnesis.hub import accounts
from anamnesis.hub.database import administrator
from anamnesis.hub.tenancy import implied
from anamnesis.store.files import digest

ROOT = Path(__file__).parents[2]
_DAY = 86_400
MEMBERS = {"core": ("you", "mate", "guest"), "pair": ("you", "mate")}


class MachineSpec(NamedTuple):
    """The user of a machine, and the offset of its clock in seconds."""

    user: str
    offset: int


MACHINES = {
    "a": MachineSpec("you", 0),
    "b": MachineSpec("you", _DAY),
    "c": MachineSpec("mate", -_DAY),
    "d": MachineSpec("mate", 3 * _DAY),
    "e": MachineSpec("guest", 0),
}


class Reports:
    """The collected reports of the machines."""

    def __init__(self) -> None:
        self.written: set[str] = set()
        self.deleted: set[str] = set()
        self.agreed: set[tuple[str, str, int, str]] = set()

    def add(self, found: dict[str, Any]) -> None:
        if "written" in found:
            self.written.add(found["written"])
        self.deleted.update(found.get("deleted", ()))
        self.agreed.update((space, note, version, hash) for space, note, version, hash in found.get("agreed", ()))


class Runner(threading.Thread):
    """Makes the allowed edits of one machine in its process, and restarts the process after a kill."""

    def __init__(self, name: str, person: Person, reports: Reports, edits: int) -> None:
        super().__init__()
        self.machine = name
        self.person = person
        self.reports = reports
        self.edits = edits
        self.allowed = threading.Semaphore(0)
        self.done = 0
        self.process: subprocess.Popen[str] | None = None
        self.is_killed = False
        self.fault = ""

    def run(self) -> None:
        for number in range(self.edits):
            self.allowed.acquire()
            process = self.process or self._start()
            if not self._edit(process, number):
                self._end(process)
                if not self.is_killed:
                    return
                self.process, self.is_killed = None, False
            self.done += 1
        if self.process:
            self._end(self.process)

    def _edit(self, process: subprocess.Popen[str], number: int) -> bool:
        """Make one edit; False if the process ended. The edit is not retried: it may be done but not reported."""
        assert process.stdin
        assert process.stdout
        with suppress(BrokenPipeError):
            process.stdin.write(f"{number}\n")
            process.stdin.flush()
        for line in process.stdout:
            with suppress(ValueError):  # a killed process may leave a partial line
                found = json.loads(line)
                self.reports.add(found)
                if "done" in found:
                    return True
        return False

    def _end(self, process: subprocess.Popen[str]) -> None:
        errors = process.communicate()[1]
        if process.returncode and not self.is_killed:
            self.fault = errors or f"The process ended with {process.returncode}."

    def kill(self) -> None:
        process = self.process
        if process and process.poll() is None:
            self.is_killed = True
            os.killpg(process.pid, signal.SIGKILL)

    def _start(self) -> subprocess.Popen[str]:
        user = MACHINES[self.machine].user
        spaces = ["~", *(name for name, members in MEMBERS.items() if user in members)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.hub_client.chaos_machine", user, str(SEED), *spaces],
            env=self.person.variables,
            cwd=self.person.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self.process


class Hubs:
    """Two hub processes on one database, behind the proxy."""

    def __init__(self, database: str, folder: Path, proxy: CuttingProxy) -> None:
        self.database = database
        self.folder = folder
        self.proxy = proxy
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def start(self) -> None:
        command = [sys.executable, "-m", "anamnesis", "hub", "serve", "--port", "0", "--json", "--rate", "10000"]
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "ANAMNESIS_HOME": str(self.folder),
            "ANAMNESIS_HUB_DATABASE": self.database,
            "ANAMNESIS_HUB_KEY": "tests" * 8,
        }
        process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)
        assert process.stdout
        with process.stdout:
            url = json.loads(process.stdout.readline())["url"]
        self.processes[url] = process
        self.proxy.hubs.append(url)

    def kill(self) -> None:
        """Kill a hub in the middle of a request."""
        url = self.proxy.hubs[0]
        self.proxy.wait_for_request(url)
        process = self.processes.pop(url)
        process.kill()
        process.wait()
        self.proxy.hubs.remove(url)

    def end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


class Chaos:
    """Kills and disconnects machines, hubs and the database."""

    def __init__(self, postgres: Postgres, hubs: Hubs, runners: dict[str, Runner], chance: random.Random) -> None:
        self.postgres = postgres
        self.hubs = hubs
        self.runners = runners
        self.chance = chance
        self.kinds: list[Callable[[], None]] = [
            self.kill_hub,
            self.kill_machine,
            lambda: self.restart_database(signal.SIGINT),
            self.kill_machine,
            lambda: self.restart_database(signal.SIGQUIT),
            self.cut_off,
        ]

    def kill_hub(self) -> None:
        self.hubs.kill()
        self.hubs.start()

    def kill_machine(self) -> None:
        """Kill a machine in the middle of a sync."""
        runner = self.chance.choice([*self.runners.values()])
        self.hubs.proxy.wait_for_request(runner.machine)
        runner.kill()

    def restart_database(self, how: signal.Signals) -> None:
        self.postgres.stop(how)
        self.postgres.start()

    def cut_off(self) -> None:
        """Disconnect one machine, and reconnect the one before."""
        self.hubs.proxy.offline = {self.chance.choice([*MACHINES])}

    def run(self) -> None:
        """Cause one failure during every few edits of each machine, until all edits are done."""
        total = EDITS // len(self.runners)
        rounds = max(len(self.kinds), total // 8)
        for number in range(rounds):
            allowed = total * (number + 1) // rounds
            for each in self.runners.values():
                for _ in range(allowed - total * number // rounds):
                    each.allowed.release()
            self.kinds[number % len(self.kinds)]()
            while any(each.done < allowed for each in self.runners.values()):
                assert not [each.fault for each in self.runners.values() if each.fault]
                time.sleep(0.005)
        for each in self.runners.values():
            each.join()


@pytest.fixture
def database() -> Iterator[Postgres]:
    """A separate PostgreSQL server, which the test stops and kills."""
    own = Postgres(binaries())
    yield own
    own.remove()


def _tokens(url: str) -> dict[str, str]:
    """A token for each machine."""
    with administrator(url) as db:
        users = {name: accounts.add_user(db, name) for name in sorted({each.user for each in MACHINES.values()})}
        for name, members in MEMBERS.items():
            space = accounts.add_space(db, name)
            for member in members:
                accounts.set_member(db, space, users[member], "writer")
        accounts.give_project(db, accounts.find_space(db, "core"), "acme")
        return {
            name: accounts.create_token(db, KEY, users[user], name, implied("write"))[1]
            for name, (user, _) in MACHINES.items()
        }


def _person(folder: Path, name: str) -> Person:
    folder.mkdir()
    made = Person(folder)
    made.variables |= {
        "ANAMNESIS_MACHINE_ID": name,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).with_name("clock")), str(ROOT)]),
        "CLOCK_OFFSET": str(MACHINES[name].offset),
    }
    return made


@contextmanager
def _opened(people: dict[str, Person]) -> Iterator[dict[str, Machine]]:
    with ExitStack() as stack:
        yield {
            name: Machine(
                MACHINES[name].user,
                stack.enter_context(person.store()),
                read_settings(person.variables, person.folder),
            )
            for name, person in people.items()
        }


@pytest.mark.timeout(3600)
def test_nothing_acknowledged_is_lost_and_all_converge(database: Postgres, tmp_path: Path) -> None:
    url = database.new_hub()
    tokens, reports = _tokens(url), Reports()
    with CuttingProxy(MACHINES, SEED) as proxy, ExitStack() as stack:
        hubs = Hubs(url, tmp_path, proxy)
        stack.callback(hubs.end)
        hubs.start()
        hubs.start()
        people = {name: _person(tmp_path / name, name) for name in MACHINES}
        for name, person in people.items():
            done = person("login", proxy.urls[name], "--token-stdin", stdin=tokens[name])
            assert done.code == 0, done.err
        runners = {name: Runner(name, person, reports, EDITS // len(MACHINES)) for name, person in people.items()}
        for each in runners.values():
            stack.callback(each.kill)
            each.daemon = True
            each.start()
        proxy.cut = 0.05
        Chaos(database, hubs, runners, random.Random(SEED)).run()
        proxy.cut, proxy.offline = 0.0, set()
        assert not [each.fault for each in runners.values() if each.fault]
        with _opened(people) as machines:
            check_convergence([*machines.values()], reports.written - reports.deleted)
            _check_private(machines, reports)
            _check_waiting(machines)
            notes = [note for each in machines.values() for note in each.trashed()]
            trashed = {line for note in notes for line in (note.title, *note.body.splitlines())}
    _check_hub(url, reports, trashed)


def _check_private(machines: dict[str, Machine], reports: Reports) -> None:
    """No private line reached a machine of another user, whatever interrupted its exchange."""
    for each in machines.values():
        lines = {line for body in each.bodies().values() for line in body.splitlines() if line.startswith(PRIVATE)}
        assert lines == {
            line for line in reports.written if line.startswith(PRIVATE) and line.endswith(f" of {each.user}")
        }


def _check_waiting(machines: dict[str, Machine]) -> None:
    for each in machines.values():
        with closing(HubDatabase(each.store.root)) as state:
            assert state.change(lambda db: db.execute("SELECT * FROM waiting").fetchall()) == []


def _check_hub(url: str, reports: Reports, trashed: set[str]) -> None:
    """The versions of a space have no gap and include all acknowledged ones, and all lines are at the hub.

    What a member had not seen of a note that another deleted is in the trash of who wrote it.
    """
    with administrator(url) as db:
        spaces = {row["name"]: row["seq"] for row in db.execute("SELECT name, seq FROM anamnesis.spaces").fetchall()}
        query = (
            "SELECT s.name, v.id, v.version, v.text FROM anamnesis.versions v JOIN anamnesis.spaces s ON s.id = v.space"
        )
        versions: list[dict[str, Any]] = db.execute(query).fetchall()
        current = db.execute(
            "SELECT v.text FROM anamnesis.notes n JOIN anamnesis.versions v USING (space, id, version)"
            " WHERE NOT n.deleted"
        ).fetchall()
    for name, seq in spaces.items():
        assert sorted(each["version"] for each in versions if each["name"] == name) == [*range(1, seq + 1)]
    texts = {(each["name"], each["id"], each["version"]): each["text"] for each in versions}
    for space, note, version, hash in reports.agreed:
        text = texts[space, note, version]
        assert text is not None
        assert digest(text.encode()).hex() == hash
    lines = {line.removeprefix("title: ") for each in current for line in each["text"].split("\n")}
    assert reports.written - reports.deleted - trashed <= lines
    for each in versions:
        private = [line for line in (each["text"] or "").split("\n") if line.startswith(f"{PRIVATE} ")]
        assert all(each["name"] == f"~{line.rpartition(' ')[2]}" for line in private)
