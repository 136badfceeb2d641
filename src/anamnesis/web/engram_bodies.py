"""The bodies of Engram's requests that are no records of the store. Fields have the names that clients send."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NewSession:
    id: str
    project: str
    directory: str


@dataclass(frozen=True, slots=True)
class SessionEnd:
    summary: str


@dataclass(frozen=True, slots=True)
class Changes:
    """New values of an observation's fields; missing ones stay as they are."""

    type: str | None
    title: str | None
    content: str | None
    project: str | None
    scope: str | None
    topic_key: str | None


@dataclass(frozen=True, slots=True)
class Learnings:
    session_id: str
    content: str
    project: str
    source: str


@dataclass(frozen=True, slots=True)
class NewPrompt:
    session_id: str
    content: str
    project: str


@dataclass(frozen=True, slots=True)
class Migration:
    old_project: str
    new_project: str
