"""The audit log: who did what to whom. Append-only; texts of notes are never in it."""

from __future__ import annotations

from typing import Any

from psycopg.types.json import Jsonb

from anamnesis.hub.database import Connection
from anamnesis.hub.tenancy import Caller, Held

# The actor of commands on the server.
ADMINISTRATOR = "(administrator)"


def record(
    db: Connection,
    actor: str,
    action: str,
    target: str = "",
    *,
    space: Held | None = None,
    space_id: int | None = None,
    space_name: str = "",
    **facts: Any,
) -> None:
    """Append an entry, in the transaction of what it is about."""
    db.execute(
        """
        INSERT INTO anamnesis.audit (actor, action, space, space_name, target, facts)
        VALUES (%(actor)s, %(action)s, %(space)s, %(space_name)s, %(target)s, %(facts)s)
        """,
        {
            "actor": actor,
            "action": action,
            "space": space.id if space else space_id,
            "space_name": space.name if space else space_name,
            "target": target,
            "facts": Jsonb(facts),
        },
    )


def entries(
    db: Connection,
    *,
    space: int | None = None,
    actor: str | None = None,
    before: int | None = None,
    limit: int = 100,
    caller: Caller | None = None,
) -> list[dict[str, Any]]:
    """The newest entries first; `before` is the number of the last one seen.

    A `caller` sees those of the spaces that the caller keeps, and what the caller did; an administrator sees all.
    """
    kept = [held.id for held in caller.spaces.values() if not caller.refusal(held, "keeper")] if caller else None
    rows = db.execute(
        """
        SELECT id, at, actor, action, space_name AS space, target, facts FROM anamnesis.audit
        WHERE (%(space)s::bigint IS NULL OR space = %(space)s) AND (%(actor)s::text IS NULL OR actor = %(actor)s)
            AND (%(before)s::bigint IS NULL OR id < %(before)s)
            AND (%(kept)s::bigint[] IS NULL OR space = ANY (%(kept)s::bigint[]) OR actor = %(caller)s)
        ORDER BY id DESC LIMIT %(limit)s
        """,
        {
            "space": space,
            "actor": actor,
            "before": before,
            "limit": limit,
            "kept": kept,
            "caller": caller.name if caller else None,
        },
    ).fetchall()
    return [{**row, "at": row["at"].isoformat(timespec="seconds")} for row in rows]
