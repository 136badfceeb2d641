"""What each user has accepted of texts that others wrote; see `notes.acceptance`. No user sees those of another."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from anamnesis.hub.database import Connection, one
from anamnesis.hub.tenancy import Caller
from anamnesis.notes import Memory, parse, render
from anamnesis.notes.acceptance import ACCEPTED, DECISIONS, OWN, Decision, Decisions, Text, decided, mark, text_of
from anamnesis.notes.foreign import CLAUDE_CODE, REVIEWED, SOURCE, TO_REVIEW, as_held


def decisions(db: Connection, caller: Caller, notes: Iterable[str] | None = None) -> dict[Text, Decision]:
    """The caller's decisions, all or about some notes."""
    rows = db.execute(
        """
        SELECT note, digest, number, place FROM anamnesis.acceptances
        WHERE member = %(member)s AND (%(notes)s::text[] IS NULL OR note = ANY (%(notes)s))
        """,
        {"member": caller.id, "notes": None if notes is None else [*notes]},
    )
    return {Text(row["note"], row["digest"]): Decision(row["number"], row["place"]) for row in rows}


def fingerprint(db: Connection, caller: Caller) -> str:
    """What `notes.acceptance.fingerprint` says of the caller's decisions."""
    query = "SELECT coalesce(sum(mark), 0)::text AS sum FROM anamnesis.acceptances WHERE member = %(member)s"
    return str((one(db, query, {"member": caller.id}) or {})["sum"])


def decide(db: Connection, caller: Caller, notes: Iterable[Memory], decision: str) -> None:
    """Record a decision of the caller about the present texts of these notes."""
    texts = [text_of(note) for note in notes]
    add(db, caller.id, decided(decisions(db, caller, (text.note for text in texts)), texts, decision))


def add(db: Connection, member: int, new: Decisions) -> None:
    """Record decisions of a user where they are newer, or more cautious, than those that are known."""
    rows = [{**text._asdict(), **each._asdict(), "mark": mark(text, each)} for text, each in sorted(new.items())]
    db.execute(
        """
        INSERT INTO anamnesis.acceptances AS a (member, note, digest, number, place, mark)
        SELECT %(member)s, note, digest, number, place, mark FROM json_to_recordset(%(rows)s::json)
            AS r (note text, digest text, number integer, place smallint, mark bigint)
        ON CONFLICT (member, note, digest) DO UPDATE
        SET number = excluded.number, place = excluded.place, mark = excluded.mark
        WHERE (excluded.number, excluded.place) > (a.number, a.place)
        """,
        {"member": member, "rows": json.dumps(rows)},
    )


def carry_over(db: Connection) -> None:
    """Record once what the tags of earlier releases said to everybody, and mark the notes that waited for a review.

    A note that somebody reviewed stays reviewed for all who have its space, and Claude Code's own memory its author's.
    """
    rows = db.execute(
        """
        SELECT n.space, n.id, n.version, v.text, v.author FROM anamnesis.notes n
        JOIN anamnesis.versions v ON v.space = n.space AND v.id = n.id AND v.version = n.version
        WHERE NOT n.deleted AND n.tags && %(tags)s
        """,
        {"tags": [REVIEWED, TO_REVIEW, CLAUDE_CODE]},
    ).fetchall()
    for row in rows:
        note = parse(row["text"])
        if (held := as_held(note)) != note:
            _hold(db, row, held)
        elif note.prov_source == SOURCE:
            is_reviewed = REVIEWED in note.tags
            names = None if is_reviewed else [row["author"]]
            place = DECISIONS.index(ACCEPTED if is_reviewed else OWN)
            for member in _holders(db, row["space"], names):
                add(db, member, {text_of(note): Decision(1, place)})


def fill_digests(db: Connection) -> None:
    """Record the digests of the texts of all notes that supersede others."""
    rows = db.execute(
        """
        SELECT DISTINCT n.space, n.id, v.text FROM anamnesis.supersessions s
        JOIN anamnesis.notes n USING (space, id) JOIN anamnesis.versions v USING (space, id, version)
        """
    )
    digests = [
        {"space": row["space"], "id": row["id"], "digest": text_of(parse(row["text"])).digest}
        for row in rows
        if row["text"] is not None
    ]
    db.execute(
        """
        UPDATE anamnesis.supersessions s SET digest = r.digest
        FROM json_to_recordset(%(rows)s::json) AS r (space bigint, id text, digest text)
        WHERE s.space = r.space AND s.id = r.id
        """,
        {"rows": json.dumps(digests)},
    )


def _holders(db: Connection, space: int, names: list[str] | None) -> list[int]:
    """The users who have a space, all or those of some names."""
    rows = db.execute(
        """
        SELECT id FROM anamnesis.users WHERE (%(names)s::text[] IS NULL OR name = ANY (%(names)s)) AND (
            id IN (SELECT member FROM anamnesis.members WHERE space = %(space)s)
            OR id = (SELECT personal_of FROM anamnesis.spaces WHERE id = %(space)s)
        )
        """,
        {"space": space, "names": names},
    )
    return [row["id"] for row in rows]


def _hold(db: Connection, row: dict[str, Any], held: Memory) -> None:
    """Write the version of a note that has the mark of a hold."""
    query = "UPDATE anamnesis.spaces SET seq = seq + 1 WHERE id = %(space)s RETURNING seq"
    version = (one(db, query, row) or {})["seq"]
    values = {**row, "new": version, "text": render(held)}
    db.execute(
        """
        INSERT INTO anamnesis.versions (space, id, version, text, author, machine)
        VALUES (%(space)s, %(id)s, %(new)s, %(text)s, %(author)s, 'hub')
        """,
        values,
    )
    query = "UPDATE anamnesis.notes SET version = %(new)s, held = true WHERE space = %(space)s AND id = %(id)s"
    db.execute(query, values)
