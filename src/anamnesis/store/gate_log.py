"""gate.db: the gate's decisions about notes of agents, with the text of each draft that was refused or changed.

It stays on this machine, is bounded, and forgets purged notes.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from anamnesis.notes import Memory, parse, render
from anamnesis.store.machine_database import DAMAGED, MachineDatabase

# The oldest decisions are removed beyond this many, and drafts beyond this many characters in total.
_MOST = 10_000
_MOST_CHARACTERS = 20_000_000
# Decisions that write the draft as it is: its text is in the note, and need not be stored here.
_WRITTEN = ("allow", "redirect")
_COLUMNS = "id, at, project, decision, rule, reason, note_id, draft, accepted"


class GateDecision(NamedTuple):
    """A decision of the gate; `draft` is the note that the agent wanted to write, None if it was written as it is."""

    id: int
    at: int
    project: str
    decision: str
    rule: str
    reason: str
    note_id: str
    draft: Memory | None
    accepted: str


class GateLog(MachineDatabase):
    """The gate.db of a store."""

    schema = Path(__file__).with_name("gate.sql")
    holds = "The log of the gate"

    def __init__(self, root: Path) -> None:
        super().__init__(root / "gate.db")

    def record(self, draft: Memory, decision: str, rule: str, reason: str, *, note_id: str, session: str) -> int:
        """Record a decision, with the draft unless it is written as it is; returns its number."""
        values = {
            "at": int(time.time()),
            "session": session,
            "project": draft.project,
            "decision": decision,
            "rule": rule,
            "reason": reason,
            "note_id": note_id,
            "draft": "" if decision in _WRITTEN else render(draft),
        }
        query = f"INSERT INTO decisions ({', '.join(values)}) VALUES (:{', :'.join(values)})"

        def record(db: sqlite3.Connection) -> int:
            number = db.execute(query, values).lastrowid or 0
            if values["draft"]:
                _bound(db)
            db.execute("DELETE FROM decisions WHERE id <= :last", {"last": number - _MOST})
            return number

        return self.change(record)

    def listed(self, since: float = 0, until: float = 2**62, note_id: str = "") -> list[GateDecision]:
        """The decisions of a period, or about a note, the newest first."""
        of_note = " AND :note IN (note_id, accepted)" if note_id else ""
        query = f"SELECT {_COLUMNS} FROM decisions WHERE at BETWEEN :since AND :until{of_note} ORDER BY id DESC"
        values = {"since": int(since), "until": int(until), "note": note_id}
        return [_logged(row) for row in self.read(lambda db: db.execute(query, values).fetchall()) or ()]

    def find(self, number: int) -> GateDecision | None:
        query = f"SELECT {_COLUMNS} FROM decisions WHERE id = :id"
        row = self.read(lambda db: db.execute(query, {"id": number}).fetchone())
        return _logged(row) if row else None

    def written_since(self, session: str, since: float) -> int:
        """How many notes a session wrote since a time."""
        query = "SELECT count(*) FROM decisions WHERE at >= :since AND session = :session AND decision <> 'reject'"
        values = {"since": int(since), "session": session}
        found = self.read(lambda db: db.execute(query, values).fetchone())
        return found[0] if found else 0

    def allowed(self, project: str, rule: str, most: int) -> list[str]:
        """The newest notes of a project that were written under a rule."""
        query = (
            "SELECT note_id FROM decisions WHERE project = :project AND rule = :rule AND decision = 'allow'"
            " ORDER BY id DESC LIMIT :most"
        )
        values = {"project": project, "rule": rule, "most": most}
        return [id for (id,) in self.read(lambda db: db.execute(query, values).fetchall()) or ()]

    def accept(self, number: int, note_id: str) -> None:
        """Record the note that a person made of a draft, and drop the draft's text, which the note has."""
        query = "UPDATE decisions SET accepted = :note, draft = '' WHERE id = :id"
        self.change(lambda db: db.execute(query, {"id": number, "note": note_id}))

    def drop(self, number: int) -> None:
        """Remove a decision with its text for good."""
        self._delete("id = :id", {"id": number})

    def forget(self, ids: Iterable[str]) -> None:
        """Remove everything about purged notes."""
        self.path.with_name(self.path.name + DAMAGED).unlink(missing_ok=True)
        among = "(SELECT value FROM json_each(:ids))"
        self._delete(f"note_id IN {among} OR accepted IN {among}", {"ids": json.dumps([*ids])})

    def _delete(self, which: str, values: dict[str, object]) -> None:
        from anamnesis.erasure import overwriting

        def delete(db: sqlite3.Connection) -> None:
            with overwriting(db):
                db.execute(f"DELETE FROM decisions WHERE {which}", values)

        if self.path.exists():
            self.change(delete)


def _bound(db: sqlite3.Connection) -> None:
    """Remove the oldest drafts beyond the total size."""
    db.execute(
        "DELETE FROM decisions WHERE id IN (SELECT id FROM (SELECT id, sum(length(draft)) OVER (ORDER BY id DESC)"
        " AS size FROM decisions WHERE draft <> '') WHERE size > :most)",
        {"most": _MOST_CHARACTERS},
    )


def _logged(row: tuple[Any, ...]) -> GateDecision:
    found = GateDecision(*row)
    return found._replace(draft=parse(row[7]) if row[7] else None)
