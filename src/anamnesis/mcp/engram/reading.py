"""The functions of the `mem_*` tools that only read; `declared` has their descriptions."""

from __future__ import annotations

import functools

from anamnesis.engram import context, observations, projects, search, timeline, topics
from anamnesis.engram import text as texts
from anamnesis.engram.record import SearchResult, marked_timeline, nothing_waits
from anamnesis.engram.strings import trim_space
from anamnesis.mcp.engram.tool import Arguments, EngramMemory, Unusable
from anamnesis.notes.orders import why_dangerous

_NOT_ALL_WORDS = "No memory has all of these words. These are found by meaning:"


def mem_search(memory: EngramMemory, given: Arguments) -> str:
    notice, results = find(memory, given)
    return notice + texts.found(given.as_sent("query"), results, is_tool=True)


def find(memory: EngramMemory, given: Arguments) -> tuple[str, list[SearchResult]]:
    """The results of a search, with a notice if they were found by meaning, else ""."""
    query = given.as_sent("query")
    if not trim_space(query):
        raise Unusable("query is required")
    filters: search.Filters = {
        "type": given.text("type"),
        "project": memory.project(given),
        "scope": given.text("scope"),
        "limit": given.number("limit", 10),
    }
    with memory.database() as db:
        results = search.search(db, query, **filters)
        memory.used("found", (each.id for each in results))
        if not results and memory.recall and not memory.strict and (close := memory.recall(db, query, filters)):
            memory.used("found", (each.id for each in close))
            return f"{_NOT_ALL_WORDS}\n\n", memory.shown(db, close)
        return "", memory.shown(db, results)


def mem_context(memory: EngramMemory, given: Arguments) -> str:
    with memory.database() as db:
        limit = 0 if memory.strict else given.number("limit")
        shown = functools.partial(memory.used, "injected")
        project, scope = memory.project(given), given.text("scope")
        waits = nothing_waits if memory.strict else why_dangerous
        blob = context.context(db, project, scope, limit, shown=shown, marking=memory.shown, waits=waits)
        if not blob:
            return texts.NOTHING_YET
        counts = projects.stats(db)
    return (
        f"{blob}\n---\nMemory stats: {counts.total_sessions} sessions, {counts.total_observations} observations"
        f" across projects: {', '.join(counts.projects) or 'none'}"
    )


def mem_get_observation(memory: EngramMemory, given: Arguments) -> str:
    id = required_id(given, "id")
    with memory.database() as db:
        found = observations.get(db, id)
        shown = memory.shown(db, [found]) if found else []
    if not shown:
        raise Unusable(f"Observation #{id} not found")
    memory.used("opened", [id])
    return texts.whole(shown[0])


def mem_timeline(memory: EngramMemory, given: Arguments) -> str:
    id = required_id(given, "observation_id")
    with memory.database() as db:
        found = timeline.timeline(db, id, given.number("before", 5), given.number("after", 5))
        return texts.around(marked_timeline(db, found, memory.shown))


def mem_stats(memory: EngramMemory, _: Arguments) -> str:
    with memory.database() as db:
        counts = projects.stats(db)
    return (
        f"Memory System Stats:\n- Sessions: {counts.total_sessions}\n- Observations: {counts.total_observations}\n"
        f"- Prompts: {counts.total_prompts}\n- Projects: {', '.join(counts.projects) or 'none yet'}"
    )


def mem_suggest_topic_key(_: EngramMemory, given: Arguments) -> str:
    title, content = given.text("title"), given.text("content")
    if not trim_space(title) and not trim_space(content):
        raise Unusable("provide title or content to suggest a topic_key")
    return f"Suggested topic_key: {topics.suggest(given.text('type'), title, content)}"


def required_id(given: Arguments, name: str) -> int:
    """A required id; 0 counts as missing."""
    if id := given.number(name):
        return id
    raise Unusable(f"{name} is required")
