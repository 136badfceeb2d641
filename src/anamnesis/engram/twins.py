"""What engram.db holds about the notes of its observations, if bridged: the front matter at the last agreement."""

from __future__ import annotations

import sqlite3

# The scope of a note that stays on this machine, as its front matter has it.
MACHINE_LOCAL = "scope: machine-local"


def is_bridged(db: sqlite3.Connection) -> bool:
    """Whether observations have notes."""
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'anamnesis_twins'").fetchone() is not None


def having_line(line: str) -> str:
    """The SQL condition that the note of an observation has this line in its front matter."""
    return f"instr(replace(front, char(13), ''), char(10) || '{line}' || char(10))"


def machine_local(db: sqlite3.Connection) -> str:
    """The SQL query for the observations whose notes are machine-local."""
    if not is_bridged(db):
        return "SELECT NULL WHERE FALSE"
    return f"SELECT observation_id FROM anamnesis_twins WHERE {having_line(MACHINE_LOCAL)}"
