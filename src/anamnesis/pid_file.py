"""The daemon's pid file and lock beside engram.db: whether a daemon runs, for which home, on which address, and how to
stop it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from anamnesis import __version__
from anamnesis.disk import locked, write_atomically
from anamnesis.errors import StoreUnavailable, Unwritable


@dataclass(frozen=True, slots=True)
class Running:
    """A running daemon, with the resolved path of its ANAMNESIS_HOME, which earlier releases do not record."""

    pid: int
    host: str
    port: int
    started_at: str
    version: str
    home: str = ""

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class PidFile:
    """daemon.json and daemon.lock beside an engram.db, which at most one daemon serves."""

    database: Path

    @property
    def _lock(self) -> Path:
        return self.database.with_name("daemon.lock")

    @property
    def _file(self) -> Path:
        return self.database.with_name("daemon.json")

    @contextlib.contextmanager
    def held(self, host: str, port: int, home: Path) -> Iterator[None]:
        """Hold the lock and keep the pid file while this process is the daemon of a home."""
        from datetime import UTC, datetime  # only the daemon needs it

        with _writable(self.database.parent):
            self.database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if running := self.running():
            raise StoreUnavailable(
                f"The memory in {self.database.parent} is already served by the daemon with process id {running.pid}"
                f" on {running.url}.",
                "Use that one, or stop it with `anamnesis daemon stop`.",
            )
        with locked(self._lock, timeout=1.0):
            now = datetime.now(UTC).isoformat(timespec="seconds")
            own = Running(os.getpid(), host, port, now, __version__, os.path.realpath(home))
            with _writable(self._file):
                write_atomically(self._file, json.dumps(asdict(own)).encode() + b"\n")
            try:
                yield
            finally:
                self._file.unlink(missing_ok=True)

    def running(self, seconds: float = 1.0) -> Running | None:
        """The daemon that holds the lock. Waits some seconds for its file, which is written right after locking."""
        if not self._lock.exists():
            return None
        with contextlib.suppress(StoreUnavailable), locked(self._lock, timeout=0.0):
            return None
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError, ValueError, TypeError):
                held = json.loads(self._file.read_bytes())
                return Running(**{each.name: held[each.name] for each in fields(Running) if each.name in held})
            if time.monotonic() >= deadline:
                return None
            time.sleep(0.01)

    def stop(self, seconds: float) -> Running | None:
        """Stop the daemon after it has answered its accepted requests; returns it, or None if none was running."""
        running = self.running()
        if running is None:
            return None
        import signal

        with contextlib.suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGTERM)
        with locked(self._lock, timeout=seconds):
            return running


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "The daemon needs to write there: make it writable, or make room."
        raise Unwritable(f"Cannot write {path}: {error.strerror}.", hint) from error
