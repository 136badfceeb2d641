"""The faults of a hub's database: its version, its protection, its counts."""

from __future__ import annotations

from collections.abc import Iterator

from anamnesis.doctor.finding import Finding
from anamnesis.hub.database import SERVER_ROLE, Connection, one
from anamnesis.hub.migrations import applied, known, pending

_UNPROTECTED = """
SELECT relname FROM pg_class WHERE relnamespace = 'anamnesis'::regnamespace AND relkind IN ('r', 'p')
    AND NOT (relrowsecurity AND relforcerowsecurity) ORDER BY 1
"""
_WRONG_COUNTS = """
SELECT s.name FROM anamnesis.spaces s LEFT JOIN (
    SELECT space, count(*) FILTER (WHERE NOT deleted AND NOT hidden) AS notes, max(version) AS version
    FROM anamnesis.notes GROUP BY space
) AS n ON n.space = s.id WHERE s.notes <> coalesce(n.notes, 0) OR s.seq < coalesce(n.version, 0) ORDER BY 1
"""
_LOST = """
SELECT count(*) AS lost FROM anamnesis.notes n WHERE NOT EXISTS (
    SELECT FROM anamnesis.versions v WHERE v.space = n.space AND v.id = n.id AND v.version = n.version
)
"""


def examine(db: Connection) -> list[Finding]:
    """The faults, each with its fix."""
    if missing := pending(db):
        fix = "anamnesis hub migrate" if applied(db) else "anamnesis hub init"
        return [Finding("schema", f"The step {missing[0].number:03} {missing[0].name} is missing.", fix)]
    return [*_changed_steps(db), *_roles(db), *_protection(db), *_contents(db)]


def _changed_steps(db: Connection) -> Iterator[Finding]:
    have = applied(db)
    for step in known():
        if have[step.number] != step.hash:
            fault = f"The step {step.number:03} {step.name} was made by a program with another text of it."
            yield Finding("schema", fault, "Install a released version, or restore a backup into a new database.")


def _roles(db: Connection) -> Iterator[Finding]:
    query = "SELECT rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname = %(role)s"
    role = one(db, query, {"role": SERVER_ROLE})
    if role is None:
        yield Finding(SERVER_ROLE, "The server's role is missing.", f"CREATE ROLE {SERVER_ROLE} NOLOGIN")
    elif role["rolsuper"] or role["rolbypassrls"]:
        fix = f"ALTER ROLE {SERVER_ROLE} NOSUPERUSER NOBYPASSRLS"
        yield Finding(SERVER_ROLE, "The server's role is not bound by row security.", fix)


def _protection(db: Connection) -> Iterator[Finding]:
    for row in db.execute(_UNPROTECTED.encode()):
        table = f"anamnesis.{row['relname']}"
        fix = f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
        yield Finding(table, "Row security is not in force.", fix)
    query = "SELECT tgname FROM pg_trigger WHERE tgrelid = 'anamnesis.audit'::regclass AND tgenabled = 'D'"
    for row in db.execute(query.encode()):
        fix = f"ALTER TABLE anamnesis.audit ENABLE TRIGGER {row['tgname']}"
        yield Finding("anamnesis.audit", "The trigger that keeps it append-only is switched off.", fix)


def _contents(db: Connection) -> Iterator[Finding]:
    for row in db.execute(_WRONG_COUNTS.encode()):
        fault = "Its counts are not those of its notes: somebody changed rows by hand."
        yield Finding(f"space {row['name']}", fault, "Restore a backup, or correct anamnesis.spaces by hand.")
    if lost := (one(db, _LOST) or {})["lost"]:
        yield Finding("notes", f"The text of {lost} notes is missing.", "Restore a backup.")
