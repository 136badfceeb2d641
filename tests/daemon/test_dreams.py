"""A daemon dreams only while it is idle; whatever happens to a dream, no note is lost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.dream.memory import TEXT, write
from tests.sync.machine import is_running
from tests.waiting import wait_until
from tests.web.daemon import Daemon

from anamnesis.daemon.dreamer import FOLLOWER, Times, due
from anamnesis.disk import locked
from anamnesis.dream.cycle import Options, dream
from anamnesis.dream.dream_database import DreamDatabase
from anamnesis.store import MemoryStore, changeset

SOON = {"look": 0.05, "idle": 0.1, "pause": 0.1, "longest": 0.1, "many": 1}
ONCE = {**SOON, "pause": 3600.0}


class Dreaming(Daemon):
    """A daemon with other times, as arguments in JSON."""

    program = (
        "-c",
        "import json, sys\n"
        "from anamnesis.config import resolve_settings\n"
        "from anamnesis.daemon import run\n"
        "from anamnesis.daemon.dreamer import Times\n"
        "say = lambda url: print(url, flush=True)\n"
        "run(resolve_settings(), 0, announce=say, times=Times(**json.loads(sys.argv[1])))\n",
    )

    def dreams(self) -> list[int]:
        """The processes of dreams that it has started."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        found = [int(child) for task in tasks for child in task.read_text().split()]
        return [pid for pid in found if is_running(pid)]


@contextlib.contextmanager
def dreaming(home: Path, times: dict[str, Any], **variables: str) -> Iterator[Dreaming]:
    daemon = Dreaming(home, json.dumps(times), **variables)
    try:
        yield daemon
    finally:
        if daemon.process.poll() is None:
            assert daemon.stop() == (0, "")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A memory with two notes that say the same."""
    with MemoryStore(tmp_path) as store:
        write(store)
        write(store)
    return tmp_path


def changes(home: Path) -> list[changeset.Changeset]:
    with MemoryStore(home, only_to_read=True) as store:
        return [*changeset.changes(store)]


def is_due(home: Path) -> bool:
    with MemoryStore(home, only_to_read=True) as store:
        return bool(due(store, Times(pause=0.0, many=1)))


def logged(home: Path, event: str) -> list[str]:
    log = home / "anamnesis.log"
    return [line for line in log.read_text().splitlines() if event in line] if log.exists() else []


@contextlib.contextmanager
def hanging(home: Path, times: dict[str, Any]) -> Iterator[tuple[Dreaming, int]]:
    """A daemon with a dream that waits for a lock, and its process."""
    with dreaming(home, times) as daemon:
        wait_until(lambda: daemon.ready().get("notes") == 2)
        with locked(home / "store.lock"):
            wait_until(daemon.dreams)
            yield daemon, daemon.dreams()[0]


def test_the_daemon_dreams_when_it_is_idle(home: Path) -> None:
    with dreaming(home, ONCE) as daemon:
        wait_until(lambda: any(change.files for change in changes(home)))
        wait_until(lambda: not daemon.dreams())
    assert [change.facts["trigger"] for change in changes(home)] == ["the first"]
    assert not logged(home, "cannot dream")


def test_the_daemon_dreams_again_only_after_changes(home: Path) -> None:
    with dreaming(home, SOON) as daemon:
        wait_until(lambda: any(change.files for change in changes(home)))
        wait_until(lambda: not daemon.dreams() and not is_due(home))  # dreams of its own changes come to an end
        before = len(changes(home))
        with MemoryStore(home) as store:
            write(store, "Another text of a note.")
            write(store, "Another text of a note.")
        wait_until(lambda: sum(bool(change.files) for change in changes(home)) == 2)
        assert len(changes(home)) < before + 5


def test_the_daemon_does_not_dream_if_the_setting_is_off(home: Path) -> None:
    with dreaming(home, ONCE, ANAMNESIS_DREAM="off"):
        time.sleep(1)
    assert not (home / "dream.lock").exists()


def test_a_request_stops_a_dream_at_once_but_a_probe_does_not(home: Path) -> None:
    with hanging(home, ONCE) as (daemon, process):
        for probe in ("/health", "/ready", "/metrics", "/nothing"):
            daemon.ask("GET", probe)
        time.sleep(0.5)
        assert is_running(process)
        daemon.ask("GET", "/stats")
        wait_until(lambda: not is_running(process))
    assert not changes(home)
    assert not logged(home, "cannot dream"), "to be stopped is no failure"
    with MemoryStore(home) as store:
        assert dream(store, Options()).decided.applied


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_dream_does_not_outlive_the_daemon(home: Path, number: int) -> None:
    with hanging(home, ONCE) as (daemon, process):
        os.kill(daemon.process.pid, number)
        daemon.process.communicate(timeout=60)
        wait_until(lambda: not is_running(process))


def test_the_daemon_does_not_dream_during_a_sync(home: Path) -> None:
    (home / "memory/.git").mkdir()
    with dreaming(home, ONCE):
        with locked(home / "memory/.git/anamnesis.lock"):
            time.sleep(1)
            assert not changes(home)
        wait_until(lambda: changes(home))


def test_a_failure_is_logged_once_and_later_dreams_run(home: Path) -> None:
    with dreaming(home, SOON):
        with locked(home / "dream.lock"):
            wait_until(lambda: logged(home, "cannot dream"))
            time.sleep(2)
        wait_until(lambda: any(change.files for change in changes(home)))
    (line,) = logged(home, "cannot dream")
    assert "Another dream of this memory is running." in line


def test_a_look_that_fails_is_logged_once(home: Path) -> None:
    (home / "dreams.db").mkdir()
    with dreaming(home, SOON):
        wait_until(lambda: logged(home, "cannot dream"))
        time.sleep(1)
    assert len(logged(home, "cannot dream")) == 1


WRITER = """
import sys, time
from anamnesis.errors import NoteConflict
from anamnesis.store import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    for number in range(60):
        time.sleep(0.05)
        note = store.write(type="semantic", title="T", body=f"Text {number // 3}.", project="shop", prov_session="s")
        while number % 4 == 0:
            read = store.get(note.id)
            try:
                store.update(note.id, expected=read, body=f"{read.body} Changed {number}.")
                break
            except NoteConflict:  # the editor has saved the file since it was read
                pass
"""


def test_nothing_is_lost_that_scripts_and_editors_write_while_it_dreams(home: Path) -> None:
    """Dreams follow one another; an editor appends lines to files, and a script writes notes."""
    with dreaming(home, {**SOON, "idle": 0.0, "pause": 0.0, "grace": 0.01}) as daemon:
        script = subprocess.Popen([sys.executable, "-c", WRITER, str(home)])
        added = 0
        while script.poll() is None:
            for path in sorted((home / "memory/semantic").glob("*.md"))[:3]:
                with path.open("a") as file:
                    file.write(f"Line {added}.\n")
                added += 1
            if added % 20 == 0:
                daemon.ask("GET", "/stats")  # stops whatever dreams, at any moment
            time.sleep(0.05)
        assert script.returncode == 0
        wait_until(lambda: any(change.files for change in changes(home)))
    with MemoryStore(home) as store:
        assert not changeset.is_pending(store)
        texts = "\n".join(path.read_text() for path in home.glob("memory/*/*.md"))
        # The script may have added its words to a line of the editor.
        assert [number for number in range(added) if f"Line {number}." not in texts] == []
        assert len(store.list()) == 62
        assert all(f"Text {number}." in texts for number in range(20))
        assert all(f"Changed {number}." in texts for number in range(0, 60, 4))
        assert TEXT in texts


def test_why_a_dream_is_due(store: MemoryStore) -> None:
    times = Times()

    def dreamt(ago: timedelta) -> None:
        with contextlib.closing(DreamDatabase(store.root)) as database:
            database.set_state("last", (datetime.now(UTC) - ago).isoformat())

    assert due(store, times) == ""
    write(store)
    assert due(store, times) == "the first"
    dream(store, Options())
    assert due(store, times) == ""
    for number in range(9):
        write(store, f"Text {number}.")
    dreamt(timedelta(minutes=31))
    assert due(store, times) == ""
    dreamt(timedelta(hours=5))
    assert due(store, times) == "four hours have passed"
    write(store, "Tenth.")
    dreamt(timedelta(minutes=31))
    assert due(store, times) == "10 new notes"
    dreamt(timedelta(minutes=29))
    assert due(store, times) == ""
    dreamt(timedelta(days=-300))  # the clock was wrong then
    assert due(store, times) == "10 new notes"
    dream(store, Options())
    assert not (found := store.log.pending(FOLLOWER)) or not found.changes
    write(store, "A session.", prov_source="session-end")
    dreamt(timedelta(minutes=31))
    assert due(store, times) == "a session ended"
