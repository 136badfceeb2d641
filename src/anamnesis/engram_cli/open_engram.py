"""The engram.db that a verb works on."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anamnesis.config import resolve_engram_strict, resolve_home
from anamnesis.engram.database import connect, prepare, resolve_engram_db

if TYPE_CHECKING:
    from anamnesis.notes.cleaning import Cleaning


def path() -> Path:
    """Where it is."""
    return resolve_engram_db(os.environ, Path.home(), resolve_home())


def cleaning() -> Cleaning:
    """What redacts the texts of a verb, on their way in and out."""
    from anamnesis.notes.cleaning import Cleaning  # `mcp` starts without

    return Cleaning(strict=resolve_engram_strict())


@contextmanager
def opened() -> Iterator[sqlite3.Connection]:
    """A connection to it, for one use; it is made where there is none."""
    from anamnesis.bridge import around, open_memory  # `mcp` starts without

    with connected() as db, open_memory() as store, around(store, db):
        yield db


@contextmanager
def connected(*, check_same_thread: bool = True) -> Iterator[sqlite3.Connection]:
    """A connection to it that knows nothing of notes."""
    place = path()
    prepare(place)
    db = connect(place, check_same_thread=check_same_thread)
    try:
        yield db
    finally:
        db.close()
