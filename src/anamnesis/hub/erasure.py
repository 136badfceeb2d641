"""Erases a note with all its versions, a user who left, or a space; a tombstone and the audit log remain.

Rows that were deleted stay in PostgreSQL's files until a VACUUM, and in its WAL, replicas and backups until these are
rotated.
"""

from __future__ import annotations

from typing import Any

from anamnesis.hub import accounts, audit
from anamnesis.hub.audit import ADMINISTRATOR
from anamnesis.hub.database import Connection, administrator, execute_outside, one
from anamnesis.hub.refusal import NotFound, Refusal
from anamnesis.hub.tenancy import personal_space

# With texts of notes, or what was derived from them; `passages` is only there with pgvector.
_TABLES = ["versions", "notes", "terms", "supersessions", "passages"]


def erase_note(db: Connection, space: accounts.Space, id: str, actor: str = ADMINISTRATOR) -> int:
    """Remove a note with all its versions and their authors; returns the version of its tombstone, which machines get.

    The transaction must be one of an owner of the space, or of an administrator.
    """
    query = "SELECT anamnesis.erase_note(%(space)s, %(id)s) AS version"
    version = (one(db, query, {"space": space.id, "id": id}) or {}).get("version")
    if version is None:
        raise NotFound(f"There is no note {id!r} in {space.name!r}.")
    audit.record(db, actor, "note erase", id, space_id=space.id, space_name=space.name)
    return int(version)


def spaces_with(db: Connection, id: str) -> list[str]:
    """The spaces that hold a version of a note: a move leaves the earlier ones where they were."""
    query = """
        SELECT name FROM anamnesis.spaces s WHERE EXISTS (
            SELECT FROM anamnesis.versions v WHERE v.space = s.id AND v.id = %(id)s AND v.text IS NOT NULL
        ) ORDER BY name
    """
    return [row["name"] for row in db.execute(query, {"id": id})]


def as_owner(db: Connection, space: accounts.Space) -> None:
    """Let an administrator's transaction do what an owner of the space may."""
    db.execute("SELECT set_config('anamnesis.owns', %(space)s, true)", {"space": str(space.id)})


def erase_space(db: Connection, name: str, actor: str = ADMINISTRATOR) -> int:
    """Remove a shared space with all its notes; returns how many there were. Machines keep theirs."""
    space = accounts.find_space(db, name)
    found = one(db, "SELECT personal_of FROM anamnesis.spaces WHERE id = %(id)s", {"id": space.id}) or {}
    if found["personal_of"] is not None:
        raise Refusal(f"{name!r} is a personal space.", "It goes with its user: anamnesis hub erase user NAME")
    return _remove(db, space, actor, "space erase")


def erase_user(db: Connection, name: str, actor: str = ADMINISTRATOR) -> dict[str, Any]:
    """Remove a user who has left, with the personal space. The name stays with what the user wrote in shared spaces."""
    user = one(db, "SELECT id, left_at FROM anamnesis.users WHERE name = %(name)s", {"name": name})
    if user is None:
        raise NotFound(f"There is no user {name!r}.", "`anamnesis hub user list` shows all.")
    if user["left_at"] is None:
        raise Refusal(f"{name!r} has not left.", f"First: anamnesis hub user leave {name}")
    notes = _remove(db, accounts.find_space(db, personal_space(name)), actor, "user erase")
    db.execute("DELETE FROM anamnesis.tokens WHERE owner = %(id)s", user)
    db.execute("DELETE FROM anamnesis.invitations WHERE invited = %(name)s", {"name": name})
    db.execute("DELETE FROM anamnesis.users WHERE id = %(id)s", user)
    return {"user": name, "notes": notes}


def vacuum(database: str, *, full: bool = False) -> None:
    """Remove deleted rows from the files; `full` rewrites and locks the tables and their indexes."""
    with administrator(database) as db:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'anamnesis' AND tablename = ANY (%(tables)s)"
        tables = [row["tablename"] for row in db.execute(query, {"tables": _TABLES})]
    named = ", ".join(f"anamnesis.{name}" for name in tables)
    execute_outside(database, f"VACUUM {'(FULL) ' if full else ''}{named}")


def _remove(db: Connection, space: accounts.Space, actor: str, action: str) -> int:
    query = "DELETE FROM anamnesis.notes WHERE space = %(id)s AND NOT deleted"
    notes = db.execute(query, {"id": space.id}).rowcount
    db.execute("DELETE FROM anamnesis.spaces WHERE id = %(id)s", {"id": space.id})
    audit.record(db, actor, action, space.name, space_id=space.id, space_name=space.name, notes=notes)
    return notes
