"""Removes purged notes from dreams.db and sketches.db."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from anamnesis.dream.dream_database import DreamDatabase
from anamnesis.erasure import erase_deleted
from anamnesis.store.machine_database import DAMAGED

_FILES = ("dreams.db", "sketches.db")


def forget(root: Path, ids: Iterable[str]) -> bool:
    """Remove everything about purged notes; False if another program prevented the erasure of the remains."""
    for name in _FILES:
        (root / f"{name}{DAMAGED}").unlink(missing_ok=True)
    there = [root / name for name in _FILES if (root / name).exists()]
    purged = [*ids]
    if not there or not purged:
        return True
    with contextlib.closing(DreamDatabase(root)) as database:
        database.forget(purged)
    _forget_sketches(root / "sketches.db", purged)
    is_erased = [_erase(path) for path in there]
    return all(is_erased)


def _forget_sketches(path: Path, ids: list[str]) -> None:
    if path.exists():
        from anamnesis.dream.sketches import Sketches

        with contextlib.closing(Sketches(path)) as sketches:
            sketches.update(dict.fromkeys(ids))


def _erase(path: Path) -> bool:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        return erase_deleted(db)
