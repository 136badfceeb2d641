"""The log file in ANAMNESIS_HOME: one JSON object per line, two files of at most a megabyte."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

_MOST_BYTES = 1_000_000


def log(home: Path, event: str, **facts: object) -> None:
    """Append a line to the log; errors are ignored."""
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = json.dumps({"time": moment, "event": event, "pid": os.getpid(), **facts}, default=str)
    path = home / "anamnesis.log"
    with contextlib.suppress(OSError):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > _MOST_BYTES:
            os.replace(path, path.with_suffix(".log.1"))
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def warn(sentence: str, program: str = "anamnesis") -> None:
    """Print a line to stderr, where a program has one; a message of several lines is joined."""
    with contextlib.suppress(OSError):
        if sys.stderr is not None:  # as under pythonw
            sys.stderr.write(f"{program}: {' '.join(sentence.splitlines())}\n")
            sys.stderr.flush()


def log_once(home: Path, event: str, **facts: object) -> None:
    """Append a line to the log, unless it already has the same one."""
    said = json.dumps({"event": event})[1:-1].encode(), json.dumps(facts, default=str)[1:].encode()
    for name in ("anamnesis.log", "anamnesis.log.1"):
        with contextlib.suppress(OSError):
            lines = (home / name).read_bytes().splitlines()
            if any(line.endswith(said[1]) and said[0] in line for line in lines):
                return
    log(home, event, **facts)
