"""A real daemon process in a home of its own, and a simple client."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

# Seconds after which a daemon that has not said its address is ended.
_LONGEST_START = 120


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def by_words(self) -> list[dict[str, Any]]:
        """What a search has found by its words; a header marks what was found otherwise."""
        return [] if "x-anamnesis-recall" in self.headers else json.loads(self.body) or []


def environment(home: Path, **variables: str) -> dict[str, str]:
    return {"ANAMNESIS_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"], **variables}


class Daemon:
    """`anamnesis daemon` on a free port, until the end of the test."""

    # How many files it may have open; 0 for as many as this process.
    files = 0
    program: tuple[str, ...] = ("-m", "anamnesis", "daemon", "--port", "0")

    def __init__(self, home: Path, *arguments: str, **variables: str) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, *self.program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(home, **variables),
            text=True,
            preexec_fn=self._confine if self.files else None,
        )
        assert self.process.stdout
        ready, _, _ = select.select([self.process.stdout], [], [], _LONGEST_START)
        if not ready:
            self.process.kill()
        said = self.process.stdout.readline()
        assert said, self.process.stderr and self.process.stderr.read()
        address = urlsplit(said.split()[0])
        assert address.hostname
        assert address.port
        self.host, self.port = address.hostname, address.port

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=60)

    def ask(self, method: str, path: str, body: str | bytes | None = None, **headers: str) -> Reply:
        """One request on a connection of its own. Underscores in a header's name are dashes."""
        connection = self.connect()
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body.encode() if isinstance(body, str) else body, named)
            response = connection.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def _confine(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.files, self.files))

    def cpu_seconds(self) -> float:
        """The time that the process has computed, where the system shows it in a file."""
        parts = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """The bytes that the process holds in memory, where the system shows them in a file."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, Any]:
        """End it with a signal; its exit code and what it said on stderr."""
        self.process.send_signal(number)
        try:
            _, errors = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, errors

    def ready(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.ask("GET", "/ready").body)
        return answer


@contextlib.contextmanager
def running(home: Path, *arguments: str, **variables: str) -> Iterator[Daemon]:
    """A daemon, until it has ended without having said anything."""
    daemon = Daemon(home, *arguments, **variables)
    try:
        yield daemon
    finally:
        assert daemon.stop() == (0, "")
