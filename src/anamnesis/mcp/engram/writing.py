"""The `mem_*` tools that change the memory."""

from __future__ import annotations

import sqlite3

from anamnesis.engram import observations, passive, projects, prompts, sessions, topics
from anamnesis.engram.database import writing
from anamnesis.engram.gotext import quote
from anamnesis.engram.normal import MOST_BYTES
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.strings import byte_length, shorten, trim_space
from anamnesis.mcp.engram.reading import required_id
from anamnesis.mcp.engram.tool import Arguments, Memory, TextTool, Unusable, number, text, yes_or_no

_FIELDS = ("type", "title", "content", "project", "scope", "topic_key")


def mem_save(memory: Memory, given: Arguments) -> str:
    """Keep something that a later session will need. Do it at once and unasked, after a decision, a fixed bug, a new
    convention, a change of configuration, a discovery or a trap.

    Give a short title that can be searched for, such as "JWT auth middleware", and a content in four parts:
    **What** was done, **Why**, **Where** (files and paths), **Learned** (traps and edge cases, if any).

    With a topic_key, the memory of that topic in the project is replaced and its revision counted. Without one, the
    same content within 15 minutes is counted as a repetition."""
    raw = memory.raw_project(given)
    project = projects.normalise(raw)
    new = NewObservation(
        session_id=given.text("session_id") or sessions.default_session(project),
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
        sessions.create(db, new.session_id, project)
        observations.add(db, new)
    return "\n".join(lines)


def _similar(db: sqlite3.Connection, project: str) -> list[str]:
    """A warning that a project without memories is called almost like another one."""
    if not project or projects.count(db, project):
        return []
    return [
        f"⚠️ Project {quote(project)} has no memories. Similar project found: {quote(best)}"
        f" ({projects.count(db, best)} memories). Consider using that name instead."
        for best in projects.similar(db, project)[:1]
    ]


def _cut(content: str) -> list[str]:
    """A warning that a content is longer than what is kept of it."""
    length = byte_length(content)
    if length <= MOST_BYTES:
        return []
    return [
        f"⚠ WARNING: Content was truncated from {length} to {MOST_BYTES} chars."
        " Consider splitting into smaller observations."
    ]


def mem_update(memory: Memory, given: Arguments) -> str:
    """Correct a memory by its id. What is not given stays as it is; the revision is counted."""
    id = required_id(given, "id")
    changes = {name: given.optional(name) for name in _FIELDS}
    if all(value is None for value in changes.values()):
        raise Unusable("provide at least one field to update")
    with memory.database() as db:
        changed = observations.update(db, id, changes)
    first = f"Memory updated: #{changed.id} {quote(changed.title)} ({changed.type}, scope={changed.scope})"
    return "\n".join([first, *_cut(given.text("content"))])


def mem_delete(memory: Memory, given: Arguments) -> str:
    """Delete a memory by its id: hidden at first, and gone for good only with hard_delete."""
    id = required_id(given, "id")
    hard = given.flag("hard_delete")
    with memory.database() as db:
        observations.delete(db, id, hard, strict=memory.strict)
    return f"Memory #{id} {'permanently deleted' if hard else 'soft-deleted'}"


def mem_save_prompt(memory: Memory, given: Arguments) -> str:
    """Keep what the user asked for, so that a later session knows what the work was about."""
    project = memory.project(given)
    content = given.text("content")
    session = given.text("session_id") or sessions.default_session(project)
    with memory.database() as db, writing(db):
        sessions.create(db, session, project)
        prompts.add(db, session, content, project)
    return f"Prompt saved: {quote(shorten(content, 80))}"


def mem_session_summary(memory: Memory, given: Arguments) -> str:
    """Sum up a session that ends, for whoever takes up the work. Do it before you say that you are done.

    Write it under these headings, short but with names of files, error messages and decisions: ## Goal (one sentence),
    ## Instructions (how the user wants things done), ## Discoveries (findings and traps: the most valuable part),
    ## Accomplished (what is done, and what is still open), ## Relevant Files (path and role)."""
    project = memory.project(given)
    session = given.text("session_id") or sessions.default_session(project)
    new = NewObservation(
        session_id=session,
        title=f"Session summary: {project}",
        content=given.text("content"),
        type="session_summary",
        project=project,
    )
    with memory.database() as db, writing(db):
        sessions.create(db, session, project)
        observations.add(db, new)
    return f"Session summary saved for project {quote(project)}"


def mem_session_start(memory: Memory, given: Arguments) -> str:
    """Record that a session has begun. Memories can be saved under its id from then on."""
    id = given.text("id")
    if not id:
        raise Unusable("id is required")
    project = memory.project(given)
    with memory.database() as db:
        sessions.create(db, id, project, given.text("directory"))
    return f"Session {quote(id)} started for project {quote(project)}"


def mem_session_end(memory: Memory, given: Arguments) -> str:
    """Record that a session is over, with a summary if there is one."""
    id = given.text("id")
    with memory.database() as db:
        sessions.end(db, id, given.text("summary"))
    return f"Session {quote(id)} completed"


def mem_capture_passive(memory: Memory, given: Arguments) -> str:
    """Take the learnings out of a text and keep each as a memory of its own: the numbered or bulleted items under a
    heading such as "## Key Learnings:" or "## Aprendizajes Clave:".

    What is kept already is left out, so the same text may be given again."""
    project = memory.project(given)
    content = given.text("content")
    if not content:
        raise Unusable("content is required — include text with a '## Key Learnings:' section")
    session = given.text("session_id")
    with memory.database() as db, writing(db):
        if not session:
            session = sessions.default_session(project)
            sessions.create(db, session, project)
        result = passive.capture(db, session, content, project, given.text("source") or "mcp-passive")
    return f"Passive capture complete: extracted={result.extracted} saved={result.saved} duplicates={result.duplicates}"


def mem_merge_projects(memory: Memory, given: Arguments) -> str:
    """Give everything of some projects the name of another, where one project got several names over time
    (Engram, engram-memory, ENGRAM). It cannot be undone."""
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


_PROJECT = {"project": text("The project's name. Without it: the project that the server was started in.")}
_SESSION = {"session_id": text("The session it belongs to. Without it: manual-save-{project}.")}
_OF_SESSION = {**_PROJECT, **_SESSION}
WRITING = (
    TextTool(
        mem_save,
        "Save Memory",
        "Failed to save: {}",
        {
            "title": text('Short, with the words to search for, such as "Fixed N+1 query in user list".'),
            "content": text("The memory, in the parts **What**, **Why**, **Where** and **Learned**."),
            "type": text(
                "decision, architecture, bugfix, pattern, config, discovery, learning, or manual, which it is without."
            ),
            "scope": text("project, which it is without, or personal."),
            "topic_key": text("The topic whose memory this replaces, such as architecture/auth-model."),
            **_OF_SESSION,
        },
        ("title", "content"),
    ),
    TextTool(
        mem_update,
        "Update Memory",
        "Failed to update memory: {}",
        {
            "id": number("The id of the memory."),
            "title": text("Its new title."),
            "content": text("Its new content."),
            "type": text("Its new type."),
            "project": text("Its new project."),
            "scope": text("Its new scope: project or personal."),
            "topic_key": text("Its new topic key."),
        },
        ("id",),
        deferred=True,
    ),
    TextTool(
        mem_delete,
        "Delete Memory",
        "Failed to delete memory: {}",
        {
            "id": number("The id of the memory."),
            "hard_delete": yes_or_no("Whether to delete it for good."),
        },
        ("id",),
        destructive=True,
        deferred=True,
    ),
    TextTool(
        mem_save_prompt,
        "Save User Prompt",
        "Failed to save prompt: {}",
        {"content": text("What the user wrote."), **_OF_SESSION},
        ("content",),
    ),
    TextTool(
        mem_session_summary,
        "Save Session Summary",
        "Failed to save session summary: {}",
        {"content": text("The summary, under the headings that the description names."), **_OF_SESSION},
        ("content", "project"),
    ),
    TextTool(
        mem_session_start,
        "Start Session",
        "Failed to start session: {}",
        {
            "id": text("The session's id, of your choice."),
            "directory": text("The folder it works in."),
            **_PROJECT,
        },
        ("id", "project"),
        idempotent=True,
        deferred=True,
    ),
    TextTool(
        mem_session_end,
        "End Session",
        "Failed to end session: {}",
        {"id": text("The session's id."), "summary": text("What was done.")},
        ("id",),
        idempotent=True,
        deferred=True,
    ),
    TextTool(
        mem_capture_passive,
        "Capture Learnings",
        "Passive capture failed: {}",
        {
            "content": text("The text with the heading and the items."),
            "source": text("Where it comes from, such as subagent-stop or session-end."),
            **_OF_SESSION,
        },
        ("content",),
        idempotent=True,
        deferred=True,
    ),
    TextTool(
        mem_merge_projects,
        "Merge Projects",
        "Merge failed: {}",
        {
            "from": text("The names to give up, separated by commas."),
            "to": text("The name to keep."),
        },
        ("from", "to"),
        destructive=True,
        idempotent=True,
        deferred=True,
    ),
)
