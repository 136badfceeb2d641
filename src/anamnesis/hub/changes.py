"""The exchange: what changed in which space since when, and changes on top of known versions.

A space's sequence is incremented under its row's lock, which is held until the commit: versions become visible in
order, and whoever has read up to one has missed none before it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from anamnesis.hub.database import UNSTORABLE, Connection, first_line
from anamnesis.hub.incoming import Incoming
from anamnesis.hub.tenancy import Caller, Held
from anamnesis.hub.versions import Version, current_versions, moment
from anamnesis.hub.words import document
from anamnesis.notes.acceptance import text_of
from anamnesis.notes.marks import HELD, marks_of
from anamnesis.notes.merge import conflict_of

MOST_PULLED = 500
# The texts of one answer, in bytes; one note may exceed it.
_MOST_BYTES = 4_000_000
_ABSENT = "There is no space {!r} that you may see."
_REPLACED = "The space {!r} is not the one with the id {} any more."
_TAKEN = "{} took this note out of {!r}. Keep it as a note of your own, or move that into the space."


def changes_since(db: Connection, caller: Caller, cursors: Mapping[str, int], limit: int) -> dict[str, dict[str, Any]]:
    """Of each space that the caller may see, the current versions after its cursor, in order.

    The sequences were read first, so a change that commits after that comes with the next sync. A cursor beyond the
    sequence belongs to a history that this database does not have: everything is sent.
    """
    answer: dict[str, dict[str, Any]] = {name: {"gone": True} for name in cursors if name not in caller.spaces}
    room, budget = min(limit, MOST_PULLED), _MOST_BYTES
    for held in caller.spaces.values():
        cursor = cursors.get(held.name, 0)
        is_reset = cursor > held.seq
        found: list[Version] = []
        more = False
        if is_reset or cursor < held.seq:
            found, more = _after(db, held, 0 if is_reset else cursor, room, budget)
        room -= len(found)
        budget -= sum(len(each.text or "") for each in found)
        answer[held.name] = {
            "id": held.id,
            "role": held.role,
            "projects": held.projects,
            "seq": held.seq,
            "changes": [each.shown() for each in found],
            "more": more,
        }
        if is_reset:
            answer[held.name]["reset"] = True
    return answer


def _after(db: Connection, held: Held, cursor: int, room: int, budget: int) -> tuple[list[Version], bool]:
    """The versions after a cursor, up to the caller's sequence, and whether there are more than there is room for."""
    if room <= 0 or budget <= 0:
        return [], True
    rows = db.execute(
        """
        SELECT * FROM (
            SELECT n.id, n.version, v.text, v.author, v.machine, v.at, v.erased,
                sum(coalesce(octet_length(v.text), 0)) OVER before AS bytes
            FROM (
                SELECT id, version FROM anamnesis.notes
                WHERE space = %(space)s AND version > %(cursor)s AND version <= %(seq)s ORDER BY version LIMIT %(limit)s
            ) AS n
            JOIN anamnesis.versions v ON v.space = %(space)s AND v.id = n.id AND v.version = n.version
            WINDOW before AS (ORDER BY n.version ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        ) AS found WHERE coalesce(bytes, 0) < %(budget)s ORDER BY version
        """,
        {"space": held.id, "cursor": cursor, "seq": held.seq, "limit": room + 1, "budget": budget},
    ).fetchall()
    found = [Version.of(row) for row in rows[:room]]
    if len(rows) > room:
        return found, True
    last = {"space": held.id, "cursor": found[-1].version if found else cursor, "seq": held.seq}
    query = """
        SELECT EXISTS (
            SELECT FROM anamnesis.notes WHERE space = %(space)s AND version > %(cursor)s AND version <= %(seq)s
        ) AS more
    """
    return found, bool((db.execute(query, last).fetchone() or {})["more"])


def accept(db: Connection, caller: Caller, machine: str, changes: Sequence[Incoming]) -> list[dict[str, Any]]:
    """Apply changes, each if the version it was made on is the current one; returns the result of each, in order.

    A change that the hub already has, because its answer was lost, is accepted with the version it got. One that the
    database does not accept is refused by itself: the others are applied in halves.
    """
    try:
        with db.transaction():
            return _accepted(db, caller, machine, changes)
    except UNSTORABLE as error:
        if len(changes) == 1:
            reason = f"The hub's database cannot store it: {first_line(error)}."
            return [{"id": changes[0].id, "space": changes[0].space, "refused": reason}]
    spaces = _writable(caller)
    lock_spaces(db, {spaces[each.space].id for each in changes if each.space in spaces})  # both halves', in one order
    middle = len(changes) // 2
    return [*accept(db, caller, machine, changes[:middle]), *accept(db, caller, machine, changes[middle:])]


def _writable(caller: Caller) -> dict[str, Held]:
    return {name: held for name, held in caller.spaces.items() if not caller.refusal(held, "writer")}


def _accepted(db: Connection, caller: Caller, machine: str, changes: Sequence[Incoming]) -> list[dict[str, Any]]:
    spaces = _writable(caller)
    wanted = [each for each in changes if not each.refused and each.space in spaces]
    seqs = lock_spaces(db, {spaces[each.space].id for each in wanted})
    current = current_versions(db, [(spaces[each.space].id, each.id) for each in wanted])
    at = moment(datetime.now(UTC))
    results, new = [], []
    for each in changes:
        result: dict[str, Any] = {"id": each.id, "space": each.space}
        results.append(result)
        if reason := each.refused or _refusal(caller, each.space, seqs):
            result["refused"] = reason
            continue
        space = spaces[each.space].id
        if each.space_id not in (None, space):
            result |= {"refused": _REPLACED.format(each.space, each.space_id), "space_id": space}
            continue
        known = current.get((space, each.id)) or Version(each.id)
        if each.text == known.text:
            result["version"] = known.version
        elif each.base != known.version:
            result["conflict"] = known.shown()
            continue
        elif (taker := _taker(caller, each, known)) and not each.anew:
            result |= {"refused": _TAKEN.format(taker, each.space), "taken_by": taker}
            continue
        else:
            seqs[space] += 1
            result["version"] = seqs[space]
            current[space, each.id] = Version(each.id, seqs[space], each.text, caller.name, machine, at)
            new.append((space, seqs[space], each))
        if each.redacted:
            result["text"] = each.text
    if new:
        _store(db, caller, machine, new, seqs)
    return results


def _taker(caller: Caller, change: Incoming, known: Version) -> str:
    """The other member who took a note out of the shared space into which a change would bring it back; "" if none."""
    is_gone = known.version and known.text is None and change.space != caller.personal
    return known.author if is_gone and known.author != caller.name else ""


def _refusal(caller: Caller, space: str, seqs: Mapping[int, int]) -> str:
    held = caller.spaces.get(space)
    if held is None:
        return _ABSENT.format(space)
    return caller.refusal(held, "writer") or ("" if held.id in seqs else _ABSENT.format(space))


def lock_spaces(db: Connection, spaces: set[int]) -> dict[int, int]:
    """Lock the spaces until the commit, in one order, so that no two requests wait for each other; their sequences."""
    if not spaces:
        return {}
    rows = db.execute(
        "SELECT id, seq FROM anamnesis.spaces WHERE id = ANY (%(spaces)s) ORDER BY id FOR UPDATE",
        {"spaces": sorted(spaces)},
    )
    return {row["id"]: row["seq"] for row in rows}


def _store(
    db: Connection, caller: Caller, machine: str, new: Sequence[tuple[int, int, Incoming]], seqs: Mapping[int, int]
) -> None:
    """Write new versions and the sequences. Three statements and one round trip, however many versions there are."""
    versions = [
        {"space": space, "id": each.id, "version": version, "text": each.text, "redacted": each.redacted}
        for space, version, each in new
    ]
    notes = {(space, each.id): _row(space, version, each) for space, version, each in new}  # the last of each
    replaced = [
        {"space": space, "id": each.id, "superseded": id, "digest": text_of(each.note).digest}
        for space, version, each in new
        # The other version of a conflict, which may be another member's text, hides nothing.
        if each.note and notes[space, each.id]["version"] == version and not conflict_of(each.note)
        for id in each.note.superseded
    ]
    with db.pipeline():
        db.execute(_ADD_VERSIONS, {"rows": _json(versions), "author": caller.name, "machine": machine})
        db.execute(_PUT_NOTES, {"rows": _json([*notes.values()])})
        db.execute(_REMOVE_SUPERSESSIONS, {"spaces": [key[0] for key in notes], "ids": [key[1] for key in notes]})
        if replaced:
            db.execute(_ADD_SUPERSESSIONS, {"rows": _json(replaced)})
        changed = {space for space, _, _ in new}
        values = {"spaces": [*changed], "seqs": [seqs[space] for space in changed]}
        db.execute(_MOVE_SEQUENCES, values)


_ADD_VERSIONS = """
INSERT INTO anamnesis.versions (space, id, version, text, author, machine, redacted)
SELECT space, id, version, text, %(author)s, %(machine)s, redacted
FROM json_to_recordset(%(rows)s::json) AS r (space bigint, id text, version bigint, text text, redacted boolean)
"""
# The columns of `notes` that come as they are, with their types.
_COLUMNS = {
    "space": "bigint",
    "id": "text",
    "version": "bigint",
    "deleted": "boolean",
    "hidden": "boolean",
    "held": "boolean",
    **dict.fromkeys(("type", "title", "project", "machine_id", "source", "created_at", "updated_at"), "text"),
    "tags": "text[]",
    "words": "integer",
}
_PUT_NOTES = f"""
INSERT INTO anamnesis.notes ({", ".join(_COLUMNS)}, tsv)
SELECT {", ".join(_COLUMNS)}, anamnesis.document(space, heading, body) FROM json_to_recordset(%(rows)s::json)
    AS r ({", ".join(f"{name} {type}" for name, type in _COLUMNS.items())}, heading text, body text)
ON CONFLICT (space, id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in [*_COLUMNS, "tsv"][2:])}
"""
_REMOVE_SUPERSESSIONS = """
DELETE FROM anamnesis.supersessions s USING unnest(%(spaces)s::bigint[], %(ids)s::text[]) AS given (space, id)
WHERE s.space = given.space AND s.id = given.id
"""
_ADD_SUPERSESSIONS = """
INSERT INTO anamnesis.supersessions (space, superseded, id, digest)
SELECT space, superseded, id, digest
FROM json_to_recordset(%(rows)s::json) AS r (space bigint, superseded text, id text, digest text)
ON CONFLICT DO NOTHING
"""
_MOVE_SEQUENCES = """
UPDATE anamnesis.spaces s SET seq = given.seq FROM unnest(%(spaces)s::bigint[], %(seqs)s::bigint[]) AS given (id, seq)
WHERE s.id = given.id
"""


def _row(space: int, version: int, change: Incoming) -> dict[str, Any]:
    """What lists and searches need of a note. A tombstone has no fields, and a note that Engram hides no words."""
    note = change.note
    row = {"space": space, "id": change.id, "version": version, "deleted": note is None, "hidden": False}
    if note is None:
        return _EMPTY | row
    row |= {name: getattr(note, name) for name in ("type", "title", "project", "machine_id", "tags")}
    row |= {name: getattr(note, name)[:_LONGEST_TIME] for name in _TIMES}
    row |= {"source": note.prov_source, "hidden": note.is_hidden, "held": HELD in marks_of(note)}
    return _EMPTY | row | ({} if note.is_hidden else document(note)._asdict())


_TIMES = ("created_at", "updated_at")
# A time is a key of an index, and a text that is none can be of any length.
_LONGEST_TIME = 64
_EMPTY: dict[str, Any] = {
    **dict.fromkeys(("type", "title", "project", "machine_id", "source", *_TIMES, "heading", "body"), ""),
    "tags": [],
    "held": False,
    "words": 0,
}


def _json(rows: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(rows, ensure_ascii=False)
