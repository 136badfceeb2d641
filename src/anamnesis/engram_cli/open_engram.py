"""Opens the engram.db of this machine for a verb."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anamnesis.config import Settings
from anamnesis.engram.database import connect, prepare

if TYPE_CHECKING:
    from pathlib import Path

    from anamnesis.engram.record import Marking
    from anamnesis.notes.cleaning import Cleaning


def cleaning(settings: Settings) -> Cleaning:
    """Redacts the texts that a verb stores and prints."""
    from anamnesis.notes.cleaning import Cleaning  # `mcp` starts without it

    return Cleaning(strict=settings.engram_strict)


@contextmanager
def opened(settings: Settings) -> Iterator[sqlite3.Connection]:
    """A connection for one verb, bridged to the notes; creates engram.db if there is none."""
    with opened_to_read(settings) as (db, _):
        yield db


@contextmanager
def opened_to_read(settings: Settings) -> Iterator[tuple[sqlite3.Connection, Marking]]:
    """Like `opened`, with the function that says of observations that they are not the user's own."""
    from anamnesis.engram.record import unmarked
    from anamnesis.vault import open_vault  # `mcp` starts without it

    with connected(settings.engram_db()) as db, open_vault(settings) as vault, vault.around(db):
        yield db, unmarked if settings.engram_strict else vault.marked


@contextmanager
def connected(path: Path, *, check_same_thread: bool = True) -> Iterator[sqlite3.Connection]:
    """A connection to an engram.db, without the notes; creates the file if there is none."""
    prepare(path)
    db = connect(path, check_same_thread=check_same_thread)
    try:
        yield db
    finally:
        db.close()
