"""The context of a new session in three parts: recent, recurring and personal observations. Only reads."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from anamnesis.engram import observations
from anamnesis.engram.record import Observation
from anamnesis.engram.strings import shorten

DEFAULT_LIMIT = 15
MOST = 100
# The number of newest observations among which recurring ones are searched.
_HORIZON = 500
_OFTEN = 3
_CONTENT = 300


def smart_context(db: sqlite3.Connection, project: str, limit: int) -> str:
    """Markdown of 60 % recent, 30 % revised or repeated and 10 % personal observations.

    Recent observations fill the places that the other parts leave.
    """
    limit = min(limit, MOST) if limit > 0 else DEFAULT_LIMIT
    newest = observations.recent(db, project, "", _HORIZON)
    often = [each for each in newest if each.revision_count >= _OFTEN or each.duplicate_count >= _OFTEN]
    often = often[: round(limit * 0.3)]
    known = {each.id for each in often}
    personal = [each for each in observations.recent(db, "", "personal", limit) if each.id not in known]
    personal = personal[: max(1, round(limit * 0.1))] if limit > len(often) else []
    known |= {each.id for each in personal}
    recent = [each for each in newest if each.id not in known][: limit - len(known)]
    text = _section("Recent", recent) + _section("Keeps coming back", often) + _section("Personal", personal)
    return f"## Memory from Previous Sessions\n\n{text}" if text else ""


def _section(heading: str, found: Iterable[Observation]) -> str:
    lines = "".join(f"- [{each.type}] **{each.title}**: {shorten(each.content, _CONTENT)}\n" for each in found)
    return f"### {heading}\n{lines}\n" if lines else ""
