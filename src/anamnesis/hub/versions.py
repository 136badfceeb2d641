"""The versions of a note: the current one, an earlier one, and the list of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from anamnesis.hub.database import Connection, one
from anamnesis.hub.refusal import NotAllowed, NotFound
from anamnesis.hub.tenancy import Caller, Held
from anamnesis.notes import Memory, parse

# Whether the caller may read the text of a version `v`. Once somebody has taken the note out of the space, nobody reads
# the texts of before, except who wrote them, or took it out.
READABLE = """
    (v.author = %(caller)s OR NOT EXISTS (
        SELECT FROM anamnesis.versions later WHERE later.space = v.space AND later.id = v.id
            AND later.version > v.version AND later.text IS NULL AND later.author <> %(caller)s
    ))
"""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a note, as clients get it. Version 0 is a note that the hub has never had."""

    id: str
    version: int = 0
    text: str | None = None
    author: str = ""
    machine: str = ""
    at: str = ""
    erased: bool = False

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Version:
        names = ("id", "version", "text", "author", "machine", "erased")
        return cls(**{name: row[name] for name in names}, at=moment(row["at"]))

    def shown(self) -> dict[str, Any]:
        """JSON of it; `erased` only where it is so."""
        fields = asdict(self)
        return fields if self.erased else {name: value for name, value in fields.items() if name != "erased"}


def current_versions(db: Connection, notes: Sequence[tuple[int, str]]) -> dict[tuple[int, str], Version]:
    """The current versions of notes, given by space and id, of those that the hub has."""
    if not notes:
        return {}
    rows = db.execute(
        """
        SELECT v.space, v.id, v.version, v.text, v.author, v.machine, v.at, v.erased
        FROM unnest(%(spaces)s::bigint[], %(ids)s::text[]) AS given (space, id)
        JOIN anamnesis.notes n ON n.space = given.space AND n.id = given.id
        JOIN anamnesis.versions v ON v.space = n.space AND v.id = n.id AND v.version = n.version
        """,
        {"spaces": [space for space, _ in notes], "ids": [id for _, id in notes]},
    )
    return {(row["space"], row["id"]): Version.of(row) for row in rows}


def current_version(db: Connection, held: Held, id: str) -> Version:
    found = current_versions(db, [(held.id, id)]).get((held.id, id))
    if found is None:
        raise NotFound(f"There is no note {id!r} in {held.name!r}.")
    return found


def past_version(db: Connection, caller: Caller, held: Held, id: str, version: int) -> Version:
    query = f"""
        SELECT id, version, text, author, machine, at, erased, {READABLE} AS readable FROM anamnesis.versions v
        WHERE space = %(space)s AND id = %(id)s AND version = %(version)s
    """
    row = one(db, query, {"space": held.id, "id": id, "version": version, "caller": caller.name})
    if row is None:
        raise NotFound(f"There is no version {version} of note {id!r} in {held.name!r}.")
    if not row["readable"]:
        raise NotAllowed(
            f"The note {id!r} was taken out of {held.name!r} after version {version}.",
            "Only who wrote a version, or took the note out, can read it then.",
        )
    return Version.of(row)


def list_versions(db: Connection, caller: Caller, held: Held, id: str, limit: int = 1000) -> list[dict[str, Any]]:
    """The versions of a note without their texts, the newest first; `closed` are those that the caller cannot read."""
    query = f"""
        SELECT version, author, machine, at, text IS NULL AS deleted, redacted, erased, NOT {READABLE} AS closed
        FROM anamnesis.versions v
        WHERE space = %(space)s AND id = %(id)s ORDER BY version DESC LIMIT %(limit)s
    """
    values = {"space": held.id, "id": id, "limit": limit, "caller": caller.name}
    rows = db.execute(query.encode(), values).fetchall()
    if not rows:
        raise NotFound(f"There is no note {id!r} in {held.name!r}.")
    return [{**row, "at": moment(row["at"])} for row in rows]


def authors_of(db: Connection, held: Held, ids: Sequence[str]) -> dict[str, list[str]]:
    """The authors of the versions of each of these notes, the last one first; none for a note that is not there."""
    rows = db.execute(
        """
        SELECT id, array_agg(author ORDER BY last DESC) AS authors FROM (
            SELECT id, author, max(version) AS last FROM anamnesis.versions
            WHERE space = %(space)s AND id = ANY (%(ids)s) AND author <> '' GROUP BY id, author
        ) AS written GROUP BY id
        """,
        {"space": held.id, "ids": [*ids]},
    )
    return {row["id"]: row["authors"] for row in rows}


def version_texts(db: Connection, caller: Caller, held: Held, id: str, limit: int) -> dict[int, str | None]:
    """The texts of the last versions of a note, by version; None if it was deleted or the caller cannot read it."""
    query = f"""
        SELECT version, CASE WHEN {READABLE} THEN text END AS text FROM anamnesis.versions v
        WHERE space = %(space)s AND id = %(id)s ORDER BY version DESC LIMIT %(limit)s
    """
    rows = db.execute(query.encode(), {"space": held.id, "id": id, "limit": limit, "caller": caller.name})
    return {row["version"]: row["text"] for row in rows}


def version_notes(db: Connection, held: Held, id: str, limit: int) -> list[tuple[Memory, int]]:
    """The last versions of a note, the oldest first, each with the nanosecond at which the hub got it."""
    rows = db.execute(
        """
        SELECT text, at FROM anamnesis.versions
        WHERE space = %(space)s AND id = %(id)s AND text IS NOT NULL ORDER BY version DESC LIMIT %(limit)s
        """,
        {"space": held.id, "id": id, "limit": limit},
    ).fetchall()
    return [(parse(row["text"]), int(row["at"].timestamp() * 1e9)) for row in reversed(rows)]


def written_lately(db: Connection, held: Held, author: str, machine: str, most: int) -> int:
    """How many of the last `most` changes of a space an author made on a machine within a minute."""
    rows = db.execute(
        """
        SELECT count(*) AS notes FROM anamnesis.notes n
        JOIN anamnesis.versions v ON v.space = n.space AND v.id = n.id AND v.version = n.version
        WHERE n.space = %(space)s AND n.version > (SELECT seq FROM anamnesis.spaces WHERE id = %(space)s) - %(most)s
            AND v.author = %(author)s AND v.machine = %(machine)s AND v.at > now() - interval '1 minute'
        """,
        {"space": held.id, "author": author, "machine": machine, "most": most},
    )
    return int((rows.fetchone() or {})["notes"])


def moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
