"""Opens the engram.db of this machine for a verb."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from anamnesis.config import Settings
from anamnesis.engram.database import connect, prepare

if TYPE_CHECKING:
    from pathlib import Path

    from anamnesis.engram.record import Marking
    from anamnesis.engram.sessions import Place
    from anamnesis.notes.cleaning import Cleaning
    from anamnesis.store import MemoryStore


def cleaning(settings: Settings) -> Cleaning:
    """Redacts the texts that a verb stores and prints."""
    from anamnesis.notes.cleaning import Cleaning  # `mcp` starts without it

    return Cleaning(strict=settings.engram_strict)


def place(settings: Settings, notes: MemoryStore) -> Place:
    """The folder of this process, and how to find the projects of folders."""
    from anamnesis.engram.projects import short_name
    from anamnesis.engram.sessions import Place
    from anamnesis.notes.project_names import comparable
    from anamnesis.project import find_project

    @cache
    def key_of(folder: str) -> str:
        is_here = os.path.isabs(folder) and os.path.isdir(folder)
        return find_project(folder, settings.home, settings.user_home).key if is_here else ""

    def is_one_of_several(key: str) -> bool:
        full = {comparable(known) for known in notes.projects() if "/" in known} - {comparable(key)}
        return short_name(key) in map(short_name, full)

    return Place(os.getcwd(), key_of, is_one_of_several)


@contextmanager
def opened(settings: Settings) -> Iterator[sqlite3.Connection]:
    """A connection for one verb, bridged to the notes; creates engram.db if there is none."""
    with opened_to_read(settings) as (db, _):
        yield db


@contextmanager
def opened_here(settings: Settings) -> Iterator[tuple[sqlite3.Connection, Place | None]]:
    """Like `opened`, with the place of this process, unless Engram is to be imitated strictly."""
    from anamnesis.vault import open_vault

    with connected(settings.engram_db()) as db, open_vault(settings) as vault, vault.around(db):
        yield db, None if settings.engram_strict else place(settings, vault.notes)


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
