"""Ends the recording of Engram's changes: engram.db gets back what its own program needs, and keeps no versions."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from anamnesis.engram import schema
from anamnesis.engram.database import connect, writing
from anamnesis.erasure import erase_deleted, overwriting


def leave(path: Path, *, wholly: bool) -> int | None:
    """Remove our triggers from an engram.db, and `wholly` our tables and indexes too.

    Returns how many replaced versions of observations stay in it, and None if it had nothing of ours. The next use
    creates the triggers again, and compares everything.
    """
    with closing(connect(path)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name GLOB 'anamnesis_*'").fetchone():
            return None
        with overwriting(db), writing(db):
            schema.remove_additions(db, ("trigger", "index", "table") if wholly else ("trigger",))
        if wholly:
            erase_deleted(db)
        if wholly or not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'anamnesis_revisions'").fetchone():
            return 0
        (number,) = db.execute("SELECT count(*) FROM anamnesis_revisions").fetchone()
        return int(number)
