"""The context for a new session: recent sessions, prompts and observations, in Engram's layout; or, for our plugins,
recent, recurring and personal observations."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import replace

from anamnesis.engram import observations, prompts, sessions
from anamnesis.engram.observations import DEFAULT_RECENT
from anamnesis.engram.record import Marking, Observation, SessionSummary, nothing_waits, unmarked
from anamnesis.engram.strings import shorten

_SESSIONS, _PROMPTS = 5, 10
_SUMMARY, _PROMPT, _CONTENT = 200, 200, 300
DEFAULT_SMART, _MOST_SMART = 15, 100
# The number of newest observations among which recurring ones are searched.
_HORIZON = 500
_OFTEN = 3


def context(
    db: sqlite3.Connection,
    project: str = "",
    scope: str = "",
    limit: int = 0,
    compact: bool = False,
    shown: Callable[[Iterable[int]], object] = bool,
    marking: Marking = unmarked,
    waits: Callable[[str], object] = nothing_waits,
) -> str:
    """The context; empty if there is nothing. Scope and limit apply to the observations, whose ids go to `shown`.

    Summaries of sessions and prompts are left out if `waits` says that they wait for the user's review.
    """
    recent_sessions = sessions.recent(db, project, _SESSIONS)
    recent_sessions = [replace(each, summary=None) if waits(each.summary or "") else each for each in recent_sessions]
    recent_prompts = [each for each in prompts.recent(db, project, _PROMPTS) if not waits(each.content)]
    recent_observations = _recent(db, project, scope, limit if limit > 0 else DEFAULT_RECENT, marking)
    shown(each.id for each in recent_observations)
    asked = (f"{each.created_at}: {shorten(each.content, _PROMPT)}" for each in recent_prompts)
    return _headed(
        _section("Recent Sessions", map(_session_line, recent_sessions)),
        _section("Recent User Prompts", asked),
        _section("Recent Observations", (_observation_line(each, compact) for each in recent_observations)),
    )


def smart_context(db: sqlite3.Connection, project: str, limit: int, marking: Marking = unmarked) -> str:
    """Markdown of 60 % recent, 30 % revised or repeated and 10 % personal observations.

    Recent observations fill the places that the other parts leave.
    """
    limit = min(limit, _MOST_SMART) if limit > 0 else DEFAULT_SMART
    newest = marking(db, observations.recent(db, project, "", _HORIZON, unreflected=True), unasked=True)
    often = [each for each in newest if each.revision_count >= _OFTEN or each.duplicate_count >= _OFTEN]
    often = often[: round(limit * 0.3)]
    known = {each.id for each in often}
    found = marking(db, observations.recent(db, "", "personal", limit), unasked=True)
    personal = [each for each in found if each.id not in known]
    personal = personal[: max(1, round(limit * 0.1))] if limit > len(often) else []
    known |= {each.id for each in personal}
    recent = [each for each in newest if each.id not in known][: limit - len(known)]
    parts = {"Recent": recent, "Keeps coming back": often, "Personal": personal}
    return _headed(*(_section(heading, map(_observation_line, some)) for heading, some in parts.items()))


def _recent(db: sqlite3.Connection, project: str, scope: str, wanted: int, marking: Marking) -> list[Observation]:
    """The newest observations that are told unasked; further ones take the places of those that are left out."""
    most = wanted
    while True:
        found = observations.recent(db, project, scope, most, unreflected=True)
        kept = marking(db, found, unasked=True)
        if len(kept) >= wanted or len(found) < most:
            return kept[:wanted]
        most *= 4


def _headed(*sections: str) -> str:
    text = "".join(sections)
    return f"## Memory from Previous Sessions\n\n{text}" if text else ""


def _section(heading: str, lines: Iterable[str]) -> str:
    items = "".join(f"- {line}\n" for line in lines)
    return f"### {heading}\n{items}\n" if items else ""


def _session_line(session: SessionSummary) -> str:
    summary = "" if session.summary is None else f": {shorten(session.summary, _SUMMARY)}"
    return f"**{session.project}** ({session.started_at}){summary} [{session.observation_count} observations]"


def _observation_line(observation: Observation, compact: bool = False) -> str:
    line = f"[{observation.type}] **{observation.title}**"
    return line if compact else f"{line}: {shorten(observation.content, _CONTENT)}"
