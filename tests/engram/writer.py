"""A process that writes to an engram.db as fast as it can: through our functions, or as Engram's program does."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from pathlib import Path

from anamnesis.engram import context, observations, prompts, search, sessions
from anamnesis.engram.database import connect, prepare, writing


def ours(path: Path, name: str, writes: int) -> None:
    """Save, and find again what was saved."""
    prepare(path)
    with contextlib.closing(connect(path)) as db:
        sessions.create(db, name, "engram")
        for number in range(writes):
            word = f"{name}x{number}"
            observations.add(db, observations.NewObservation(name, word, f"common {word}", project="engram"))
            prompts.add(db, name, f"ask {word}")
            observations.add(db, observations.NewObservation(name, word, f"latest {word}", topic_key=f"topic/{name}"))
            assert len(search.search(db, word)) == 2
            assert context.context(db, "engram")


def engrams(path: Path, name: str, writes: int) -> None:
    """Insert rows on a connection that knows nothing of us."""
    with contextlib.closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as db:
        for number in range(writes):
            db.execute(
                "INSERT INTO observations (sync_id, session_id, type, title, content, scope, updated_at)"
                " VALUES (?, 'go', '', ?, 'written by go', 'project', datetime('now'))",
                [f"obs-{name}{number}", f"{name}x{number}"],
            )


def endless(path: Path, name: str, size: int) -> None:
    """Changes of several rows, each acknowledged by a line once it is there, until the process is killed."""
    prepare(path)
    db = connect(path)
    sessions.create(db, "s", "engram")
    number = 0
    while True:
        number += 1
        word = f"{name}x{number}"
        with writing(db):
            for part in range(3):
                content = f"{word} " + "x" * (number * 7919 % size)
                observations.add(db, observations.NewObservation("s", f"{word} {part}", content))
            prompts.add(db, "s", word)
        observations.add(db, observations.NewObservation("s", word, word, topic_key="same/topic"))
        print(word, flush=True)


def holding(path: Path, name: str, _: int) -> None:
    """Hold the write lock until a line comes."""
    with contextlib.closing(connect(path)) as db, writing(db):
        print(name, flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    work, path, name, number = sys.argv[1:]
    {"ours": ours, "engrams": engrams, "endless": endless, "holding": holding}[work](Path(path), name, int(number))
