"""The functions of the `mem_*` tools that change the memory; `declared` has their descriptions."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from anamnesis.engram import observations, passive, projects, prompts, sessions, topics
from anamnesis.engram.database import writing
from anamnesis.engram.gotext import quote
from anamnesis.engram.normal import MOST_BYTES
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.strings import byte_length, shorten, trim_space
from anamnesis.mcp.engram.reading import required_id
from anamnesis.mcp.engram.tool import Arguments, EngramMemory, Structured, Unusable

_FIELDS = ("type", "title", "content", "project", "scope", "topic_key")


def mem_save(memory: EngramMemory, given: Arguments) -> str | Structured:
    raw = memory.raw_project(given)
    project = projects.normalise(raw)
    new = NewObservation(
        session_id="",
        title=given.text("title"),
        content=given.text("content"),
        type=given.text("type") or "manual",
        project=project,
        scope=given.text("scope"),
        topic_key=given.text("topic_key"),
    )
    lines = [f"Memory saved: {quote(new.title)} ({new.type})"]
    if not new.topic_key:
        lines.append(f"Suggested topic_key: {topics.suggest(new.type, new.title, new.content)}")
    lines += _cut(new.content)
    if project != raw:
        lines.append(f"⚠️ Project name normalized: {quote(raw)} → {quote(project)}")
    with memory.database() as db, writing(db):
        lines += _similar(db, project)
        session = memory.begin(db, project, given.text("session_id"))
        saved = observations.add(db, replace(new, session_id=session))
    if memory.strict:
        return "\n".join(lines)
    lines.insert(1, f"Saved as #{saved.id}")
    return Structured("\n".join(lines), {"id": saved.id})


def _similar(db: sqlite3.Connection, project: str) -> list[str]:
    """A warning that the name of a project without memories is similar to another project's."""
    if not project or projects.count(db, project):
        return []
    return [
        f"⚠️ Project {quote(project)} has no memories. Similar project found: {quote(best)}"
        f" ({projects.count(db, best)} memories). Consider using that name instead."
        for best in projects.similar(db, project)[:1]
    ]


def _cut(content: str) -> list[str]:
    """A warning that the content was truncated."""
    length = byte_length(content)
    if length <= MOST_BYTES:
        return []
    return [
        f"⚠ WARNING: Content was truncated from {length} to {MOST_BYTES} chars."
        " Consider splitting into smaller observations."
    ]


def mem_update(memory: EngramMemory, given: Arguments) -> str:
    id = required_id(given, "id")
    changes = {name: given.optional(name) for name in _FIELDS}
    if all(value is None for value in changes.values()):
        raise Unusable("provide at least one field to update")
    with memory.database() as db:
        (changed,) = memory.shown(db, [observations.update(db, id, changes, given.cleaning.also)])
    memory.used("edited", [id])
    first = f"Memory updated: #{changed.id} {quote(changed.title)} ({changed.type}, scope={changed.scope})"
    return "\n".join([first, *_cut(given.text("content"))])


def mem_delete(memory: EngramMemory, given: Arguments) -> str:
    id = required_id(given, "id")
    hard = given.flag("hard_delete")
    with memory.database() as db:
        observations.delete(db, id, hard, strict=memory.strict)
    return f"Memory #{id} {'permanently deleted' if hard else 'soft-deleted'}"


def mem_save_prompt(memory: EngramMemory, given: Arguments) -> str:
    project = memory.project(given)
    content = given.text("content")
    with memory.database() as db, writing(db):
        session = memory.begin(db, project, given.text("session_id"))
        prompts.add(db, session, content, project)
    return f"Prompt saved: {quote(shorten(content, 80))}"


def mem_session_summary(memory: EngramMemory, given: Arguments) -> str:
    project = memory.project(given)
    new = NewObservation(
        session_id="",
        title=f"Session summary: {project}",
        content=given.text("content"),
        type="session_summary",
        project=project,
    )
    with memory.database() as db, writing(db):
        session = memory.begin(db, project, given.text("session_id"))
        observations.add(db, replace(new, session_id=session))
        if given.text("session_id") and not memory.strict:
            sessions.summarise(db, session, new.content)
    return f"Session summary saved for project {quote(project)}"


def mem_session_start(memory: EngramMemory, given: Arguments) -> str:
    id = given.text("id")
    if not id:
        raise Unusable("id is required")
    project = memory.project(given)
    with memory.database() as db:
        sessions.create(db, id, project, given.text("directory"))
    return f"Session {quote(id)} started for project {quote(project)}"


def mem_session_end(memory: EngramMemory, given: Arguments) -> str:
    id = given.text("id")
    with memory.database() as db:
        sessions.end(db, id, given.text("summary"))
    return f"Session {quote(id)} completed"


def mem_capture_passive(memory: EngramMemory, given: Arguments) -> str:
    project = memory.project(given)
    content = given.text("content")
    if not content:
        raise Unusable("content is required — include text with a '## Key Learnings:' section")
    session = given.text("session_id")
    with memory.database() as db, writing(db):
        if not session:
            session = memory.begin(db, project, "")
        result = passive.capture(db, session, content, project, given.text("source") or "mcp-passive")
    return f"Passive capture complete: extracted={result.extracted} saved={result.saved} duplicates={result.duplicates}"


def mem_merge_projects(memory: EngramMemory, given: Arguments) -> str:
    sources, target = given.as_sent("from"), given.text("to")
    if not sources or not target:
        raise Unusable("both 'from' and 'to' are required")
    names = [name for each in sources.split(",") if (name := trim_space(each))]
    if not names:
        raise Unusable("at least one source project name is required in 'from'")
    with memory.database() as db:
        merged = projects.merge(db, names, target)
    return (
        f"Merged {len(merged.sources_merged)} source(s) into {quote(merged.canonical)}:\n"
        f"  Observations moved: {merged.observations_updated}\n"
        f"  Sessions moved:     {merged.sessions_updated}\n"
        f"  Prompts moved:      {merged.prompts_updated}\n"
    )
