"""The context for a new session: recent sessions, prompts and observations, in Engram's layout."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from anamnesis.engram import observations, prompts, sessions
from anamnesis.engram.record import Observation, SessionSummary
from anamnesis.engram.strings import shorten

_SESSIONS, _PROMPTS = 5, 10
_SUMMARY, _PROMPT, _CONTENT = 200, 200, 300


def context(db: sqlite3.Connection, project: str = "", scope: str = "", limit: int = 0, compact: bool = False) -> str:
    """The context; empty if there is nothing. Scope and limit apply to the observations."""
    recent_sessions = sessions.recent(db, project, _SESSIONS)
    recent_prompts = prompts.recent(db, project, _PROMPTS)
    recent_observations = observations.recent(db, project, scope, limit)
    text = (
        _section("Recent Sessions", map(_session_line, recent_sessions))
        + _section(
            "Recent User Prompts", (f"{each.created_at}: {shorten(each.content, _PROMPT)}" for each in recent_prompts)
        )
        + _section("Recent Observations", (_observation_line(each, compact) for each in recent_observations))
    )
    return f"## Memory from Previous Sessions\n\n{text}" if text else ""


def _section(heading: str, lines: Iterable[str]) -> str:
    items = "".join(f"- {line}\n" for line in lines)
    return f"### {heading}\n{items}\n" if items else ""


def _session_line(session: SessionSummary) -> str:
    summary = "" if session.summary is None else f": {shorten(session.summary, _SUMMARY)}"
    return f"**{session.project}** ({session.started_at}){summary} [{session.observation_count} observations]"


def _observation_line(observation: Observation, compact: bool) -> str:
    line = f"[{observation.type}] **{observation.title}**"
    return line if compact else f"{line}: {shorten(observation.content, _CONTENT)}"
