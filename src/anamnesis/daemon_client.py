"""Asks the daemon of this home to rank notes, so that a machine holds one model in memory. Hooks import this."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from anamnesis import __version__
from anamnesis.errors import AnamnesisError
from anamnesis.pid_file import PidFile, Running
from anamnesis.store.question import Question, Ranked, Ranker, Why

if TYPE_CHECKING:
    from anamnesis.config import Settings

PATH = "/recall"
# The timeout in seconds for the whole exchange; after it, notes are ranked by words alone.
MOST_SECONDS = 0.05
# Seconds before a daemon that did not answer is asked again.
_PAUSE_SECONDS = 2.0
_MOST_BYTES = 16 << 20
# A daemon that listens on all addresses is reached on loopback.
_OWN_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  it is compared, not bound


class DaemonClient:
    """Ranks notes by asking the daemon; if none runs, `otherwise` ranks them."""

    def __init__(self, settings: Settings, otherwise: Ranker, seconds: float = MOST_SECONDS) -> None:
        self._settings = settings
        self._otherwise = otherwise
        self._seconds = seconds
        self._paused_until = 0.0

    def __call__(self, question: Question) -> list[Ranked] | None:
        """The daemon's ranking; None if it fails or takes too long."""
        running = self._daemon()
        if running is None:
            return self._otherwise(question)
        if time.monotonic() < self._paused_until:
            return None
        try:
            answer = _post(running, self._settings.token, _as_json(question), time.monotonic() + self._seconds)
            return [_ranked(hit) for hit in json.loads(answer)["hits"]]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            self._paused_until = time.monotonic() + _PAUSE_SECONDS
            return None

    def _daemon(self) -> Running | None:
        """The daemon of this home, which must hold its lock: a file left by a killed daemon must not get our token."""
        try:
            running = PidFile(self._settings.engram_db()).running(0.0)
        except (AnamnesisError, OSError):
            return None
        is_ours = running and running.port and (running.version, running.home) == (__version__, self._home)
        return running if is_ours else None

    @property
    def _home(self) -> str:
        return os.path.realpath(self._settings.home)


def _as_json(question: Question) -> bytes:
    fields = {**question._asdict(), **asdict(question.wanted)}
    del fields["wanted"]
    return json.dumps(fields).encode()


def _ranked(hit: dict[str, Any]) -> Ranked:
    size, mtime_ns = hit["seen"]
    why = Why(**hit["why"]) if hit["why"] else None
    return Ranked(hit["id"], hit["path"], hit["score"], (size, mtime_ns), hit["fit"], why)


def _post(running: Running, token: str, body: bytes, deadline: float) -> bytes:
    """Send a request and return the body of the answer; raises if it is not complete by the deadline."""
    import socket  # takes 3 ms, which only a process with a daemon needs

    host = _OWN_ADDRESS.get(running.host, running.host)
    head = [f"POST {PATH} HTTP/1.0", "Host: localhost", f"Content-Length: {len(body)}"]
    head += [f"Authorization: Bearer {token}"] if token else []
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as connection:

        def limit() -> None:
            if (left := deadline - time.monotonic()) <= 0:
                raise TimeoutError
            connection.settimeout(left)

        limit()
        connection.connect((host, running.port))
        connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
        answer = bytearray()
        while len(answer) < _MOST_BYTES:
            limit()
            part = connection.recv(1 << 16)
            if not part:
                break
            answer += part
    answer_head, _, content = bytes(answer).partition(b"\r\n\r\n")
    if answer_head.split(b" ", 2)[1:2] != [b"200"]:
        raise ValueError(answer_head)
    return content
