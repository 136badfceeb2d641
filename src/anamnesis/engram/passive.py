"""Extracts the learnings that an agent wrote at the end of its work, and saves each as an observation."""

from __future__ import annotations

import re
import sqlite3

from anamnesis.engram import normal, observations, projects
from anamnesis.engram.database import Refused, writing
from anamnesis.engram.record import PassiveResult
from anamnesis.engram.strings import byte_length, cut, fields, valid

_LEAST_BYTES = 20
_LEAST_WORDS = 4
_TITLE_BYTES = 60

# Go's \s and \d.
_S, _D = r"[\t\n\f\r ]", "[0-9]"
_HEADER = re.compile(
    rf"^#{{2,3}}{_S}+(?:Aprendizajes(?:{_S}+Clave)?|Key{_S}+Learnings?|Learnings?):?{_S}*$",
    re.ASCII | re.IGNORECASE | re.MULTILINE,
)
_NEXT_HEADER = re.compile(r"\n#{1,3} ")
# Engram's patterns begin with ^\s*, which also matches the blank lines before an item: no difference for the item,
# but quadratic time.
_NUMBERED = re.compile(rf"^[\t\f\r ]*{_D}+[.)]{_S}+(.+)", re.MULTILINE)
_BULLET = re.compile(rf"^[\t\f\r ]*[-*]{_S}+(.+)", re.MULTILINE)
_MARKS = (re.compile(r"\*\*([^*]+)\*\*"), re.compile("`([^`]+)`"), re.compile(r"\*([^*]+)\*"))


def extract(text: str) -> list[str]:
    """The learnings of the last section that has any: its numbered items, else its bullets."""
    end = len(text)
    for header in reversed([*_HEADER.finditer(text)]):
        # A section may extend beyond the next header of learnings, but that part has been searched already.
        following = _NEXT_HEADER.search(text, header.end(), end)
        section = text[header.end() : following.start() if following else end]
        if learnings := _items(_NUMBERED, section) or _items(_BULLET, section):
            return learnings
        end = header.start()
    return []


def capture(
    db: sqlite3.Connection, session_id: str, content: str, project: str = "", source: str = ""
) -> PassiveResult:
    """Save the learnings of a text, except those that a live observation of the project already contains."""
    learnings = extract(valid(content))
    saved = 0
    with writing(db):
        for learning in learnings:
            if _is_known(db, learning, project):
                continue
            try:
                observations.add(db, _observation(session_id, learning, project, source))
            except Refused as refused:
                raise Refused(f"passive capture save: {refused.message}") from refused
            saved += 1
    return PassiveResult(len(learnings), saved, len(learnings) - saved)


def _items(pattern: re.Pattern[str], section: str) -> list[str]:
    cleaned = map(_clean, pattern.findall(section))
    return [item for item in cleaned if byte_length(item) >= _LEAST_BYTES and len(fields(item)) >= _LEAST_WORDS]


def _clean(item: str) -> str:
    """The item without markdown marks and with single spaces."""
    for mark in _MARKS:
        item = mark.sub(r"\1", item)
    return " ".join(fields(item))


def _is_known(db: sqlite3.Connection, learning: str, project: str) -> bool:
    name = projects.normalise(project)
    row = db.execute(
        "SELECT 1 FROM observations INDEXED BY idx_obs_dedupe WHERE normalized_hash = :hash"
        f" AND {observations.of_same_project(name)} AND deleted_at IS NULL LIMIT 1",
        {"hash": normal.content_hash(learning), "project": name},
    ).fetchone()
    return row is not None


def _observation(session_id: str, learning: str, project: str, source: str) -> observations.NewObservation:
    title = learning if byte_length(learning) <= _TITLE_BYTES else cut(learning, _TITLE_BYTES) + "..."
    return observations.NewObservation(
        session_id=session_id, title=title, content=learning, type="passive", tool_name=source, project=project
    )
