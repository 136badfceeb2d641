from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from anamnesis.engram import sessions
from anamnesis.engram.database import connect, prepare


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A new engram.db."""
    prepare(tmp_path / "engram.db")
    return tmp_path / "engram.db"


@pytest.fixture
def empty(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(connect(path)) as db:
        yield db


@pytest.fixture
def db(empty: sqlite3.Connection) -> sqlite3.Connection:
    """A connection to a file with the session `s1` of the project `engram`."""
    sessions.create(empty, "s1", "engram", "/w/engram")
    return empty
