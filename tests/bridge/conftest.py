from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bridge.memory import Two

from anamnesis.bridge.bridge import Bridge
from anamnesis.engram import sessions
from anamnesis.engram.database import connect, prepare
from anamnesis.store import MemoryStore


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    path = tmp_path / "engram.db"
    prepare(path)
    with MemoryStore(tmp_path / "store") as store, contextlib.closing(connect(path)) as db:
        sessions.create(db, "s1", "anamnesis")
        memory = Two(store, path, db, Bridge(store, path, "here"))
        yield memory
        memory.bridge.close()
