"""Notes as an Engram export, for `engram import` of Engram's own program or ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from anamnesis.bridge.mapping import observed, settled
from anamnesis.engram import VERSION, gojson
from anamnesis.engram.gotext import indented
from anamnesis.engram.record import Export, Session
from anamnesis.notes import Memory


def engram_export(notes: Iterable[Memory], now: str) -> bytes:
    """The document: one observation per note, and the sessions that they name."""
    rows = [replace(observed(settled(note)), id=number) for number, note in enumerate(notes, start=1)]
    sessions: dict[str, Session] = {}
    for row in sorted(rows, key=lambda row: row.created_at):
        sessions.setdefault(row.session_id, Session(row.session_id, row.project or "", "", row.created_at, None, None))
    export = Export(VERSION, now[:19].replace("T", " "), tuple(sessions.values()), tuple(rows), ())
    return indented(gojson.dumps(export))
