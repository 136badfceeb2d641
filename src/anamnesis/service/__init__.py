"""The user service that keeps the daemon running: its files, its commands and its state."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from anamnesis.disk import write_atomically
from anamnesis.errors import StoreUnavailable

# The record of the installed service, in the home of the memory.
_RECORD = "service.json"
# The timeout of a command of the system.
_SECONDS = 60.0
_ALTERNATIVE = "`anamnesis daemon --background` needs no service."

Command = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """How the daemon is started: the words of its command, its environment variables and its port."""

    words: tuple[str, ...]
    variables: Mapping[str, str]
    port: int

    @property
    def command(self) -> list[str]:
        return [*self.words, "daemon", "--port", str(self.port)]


@dataclass(frozen=True, slots=True)
class Service:
    """The service on one system.

    The commands of `disable` may fail: there may be nothing to stop. `is_active` exits with 0 if the system has started
    the service, and `logs` is the command that shows its log.
    """

    system: str
    files: Mapping[Path, bytes]
    enable: tuple[Command, ...]
    disable: tuple[Command, ...]
    is_active: Command
    logs: str
    after_removal: tuple[Command, ...] = field(default=())

    def changes(self) -> list[Path]:
        """The files that are missing or differ."""
        return [path for path, content in self.files.items() if _content(path) != content]


def installed(home: Path) -> Start | None:
    """How the installed service starts the daemon; None if none is installed."""
    try:
        found = json.loads((home / _RECORD).read_text("utf-8"))
        return Start(tuple(found["words"]), dict(found["variables"]), int(found["port"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def install(service: Service, home: Path, start: Start) -> list[Path]:
    """Write the files that differ and start the service; returns these files. If it cannot start, all are removed."""
    changes = service.changes()
    if not changes and is_active(service):
        return []
    stop(service)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(home / _RECORD, json.dumps(asdict(start), indent=1).encode() + b"\n", mode=0o600)
    for path in changes:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, service.files[path], mode=0o600)
    try:
        _run(service.enable)
    except StoreUnavailable:
        uninstall(service, home)
        raise
    return changes


def stop(service: Service) -> None:
    """Stop the service, if it runs, and disable its start at login."""
    _run(service.disable, may_fail=True)


def uninstall(service: Service, home: Path) -> list[Path]:
    """Stop the service and remove its files; returns those that existed."""
    stop(service)
    removed = [path for path in service.files if path.exists()]
    for path in removed:
        path.unlink()
    _run(service.after_removal, may_fail=True)
    (home / _RECORD).unlink(missing_ok=True)
    return removed


def is_active(service: Service) -> bool:
    """Whether the system has started the service."""
    try:
        return _execute(service.is_active).returncode == 0
    except StoreUnavailable:
        return False


def _run(commands: Iterable[Command], *, may_fail: bool = False) -> None:
    for words in commands:
        done = _execute(words)
        if done.returncode and not may_fail:
            output = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
            raise StoreUnavailable(f"`{' '.join(words)}` failed: {output[-1]}", _ALTERNATIVE)


def _execute(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words, capture_output=True, stdin=subprocess.DEVNULL, text=True, errors="replace", timeout=_SECONDS
        )
    except FileNotFoundError as error:
        raise StoreUnavailable(f"This system has no {words[0]}, so it cannot run a service.", _ALTERNATIVE) from error
    except subprocess.TimeoutExpired as error:
        raise StoreUnavailable(f"`{' '.join(words)}` did not end within {_SECONDS:.0f} seconds.") from error


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
