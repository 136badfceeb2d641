"""The audit log: who did what to whom. Append-only; texts of notes are never in it.

What members do to notes is not recorded twice: the rows of `versions` have the author, the machine and the time.
"""

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
    with_notes: bool = False,
) -> list[dict[str, Any]]:
    """The newest entries first; `before` is the number of the last one seen, and `with_notes` is for an administrator.

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
    if with_notes:
        of_notes = db.execute(_OF_NOTES, {"space": space, "actor": actor, "limit": limit})
        rows = sorted([*rows, *of_notes], key=lambda row: row["at"], reverse=True)[:limit]
    return [{**row, "at": row["at"].isoformat(timespec="seconds")} for row in rows]


# A move is a deletion by somebody who had just written the note in another space, where it then was. Erasures are
# entries of their own.
_OF_NOTES = """
SELECT NULL::bigint AS id, v.at, v.author AS actor,
    CASE WHEN v.live THEN 'note write' WHEN moved.space IS NULL THEN 'note delete' ELSE 'note move' END AS action,
    s.name AS space, v.id AS target,
    jsonb_strip_nulls(jsonb_build_object('version', v.version, 'machine', v.machine, 'to', moved.space)) AS facts
FROM (
    SELECT space, id, version, author, machine, at, text IS NOT NULL AS live FROM anamnesis.versions
    WHERE NOT erased AND (%(space)s::bigint IS NULL OR space = %(space)s)
        AND (%(actor)s::text IS NULL OR author = %(actor)s)
    ORDER BY at DESC, version DESC LIMIT %(limit)s
) AS v JOIN anamnesis.spaces s ON s.id = v.space
LEFT JOIN LATERAL (
    SELECT o.name AS space FROM anamnesis.spaces o JOIN anamnesis.versions w ON w.space = o.id AND w.id = v.id
    WHERE NOT v.live AND o.id <> v.space AND w.author = v.author AND w.text IS NOT NULL
        AND w.at BETWEEN v.at - interval '1 day' AND v.at
        AND NOT EXISTS (
            SELECT FROM anamnesis.versions x
            WHERE x.space = w.space AND x.id = w.id AND x.version > w.version AND x.at <= v.at AND x.text IS NULL
        )
    ORDER BY w.at DESC LIMIT 1
) AS moved ON true
ORDER BY v.at DESC, v.version DESC
"""
