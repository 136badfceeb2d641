"""Everything that a user may see, page by page, with all versions that the user may read.

No transaction stays open between pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anamnesis.hub import audit
from anamnesis.hub.database import Connection, Entering, administrator, one
from anamnesis.hub.refusal import NotFound
from anamnesis.hub.tenancy import SCOPES, Caller, Held, personal_space
from anamnesis.hub.versions import READABLE, Version

_PAGE = 200


class Export:
    """An export in progress. Its first line says whose it is; a line per space follows, then a line per version."""

    def __init__(self, entering: Entering, actor: str = "") -> None:
        """By the caller, or for the caller by another actor."""
        self._entering = entering
        with entering() as (db, caller):
            self._left = [*caller.spaces.values()]
            self._first = [_head(caller), *(_of_space(db, each) for each in self._left)]
            audit.record(db, actor or caller.name, "export", caller.name, spaces=[each.name for each in self._left])
        self._after = ("", 0)

    def next_page(self) -> list[dict[str, Any]]:
        """The next lines; none at the end."""
        if self._first:
            page, self._first = self._first, []
            return page
        while self._left:
            if page := self._versions(self._left[0]):
                self._after = page[-1]["id"], page[-1]["version"]
                return page
            self._left.pop(0)
            self._after = ("", 0)
        return []

    def _versions(self, held: Held) -> list[dict[str, Any]]:
        with self._entering() as (db, caller):
            if held.name not in caller.spaces:
                return []
            query = f"""
                SELECT id, version, text, author, machine, at, erased FROM anamnesis.versions v
                WHERE space = %(space)s AND (id, version) > (%(id)s, %(version)s) AND {READABLE}
                ORDER BY id, version LIMIT %(limit)s
            """
            after = {"id": self._after[0], "version": self._after[1]}
            values = {"space": held.id, **after, "limit": _PAGE, "caller": caller.name}
            rows = db.execute(query.encode(), values).fetchall()
        return [{"space": held.name, **Version.of(row).shown()} for row in rows]


@contextmanager
def seen_by(database: str, user: str) -> Iterator[tuple[Connection, Caller]]:
    """An administrator's transaction that sees what a user may."""
    with administrator(database) as db:
        query = "SELECT anamnesis.enter_user(%(user)s, %(scopes)s) AS caller"
        entered = (one(db, query, {"user": user, "scopes": [*SCOPES]}) or {})["caller"]
        if entered is None:
            raise NotFound(f"There is no user {user!r}.", "Of one who has left, --personal exports what is kept.")
        yield db, Caller.of(entered)


@contextmanager
def personal_of(database: str, user: str) -> Iterator[tuple[Connection, Caller]]:
    """An administrator's transaction that sees the personal space of a user, also of one who has left."""
    with administrator(database) as db:
        query = """
            SELECT s.id, s.name, 'owner' AS role, s.seq, '{}'::text[] AS projects, u.id AS "user", h.id AS hub
            FROM anamnesis.users u JOIN anamnesis.spaces s ON s.personal_of = u.id, anamnesis.hub h
            WHERE u.name = %(user)s
        """
        row = one(db, query, {"user": user})
        if row is None:
            raise NotFound(f"There is no user {user!r}.", "`anamnesis hub user list` shows all.")
        held = Held(row["id"], row["name"], row["role"], row["seq"], row["projects"])
        yield db, Caller(row["hub"], row["user"], user, frozenset(SCOPES), {personal_space(user): held})


def _head(caller: Caller) -> dict[str, Any]:
    return {"hub": caller.hub, "user": caller.name, "spaces": [*caller.spaces]}


def _of_space(db: Connection, held: Held) -> dict[str, Any]:
    rows = db.execute(
        """
        SELECT u.name, m.role FROM anamnesis.members m JOIN anamnesis.users u ON u.id = m.member
        WHERE m.space = %(space)s ORDER BY u.name
        """,
        {"space": held.id},
    )
    members = {row["name"]: row["role"] for row in rows}
    return {"space": held.name, "role": held.role, "seq": held.seq, "projects": held.projects, "members": members}
