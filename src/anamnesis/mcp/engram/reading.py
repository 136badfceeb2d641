"""The `mem_*` tools that only read."""

from __future__ import annotations

from anamnesis.engram import context, observations, search, stats, timeline, topics
from anamnesis.engram import text as texts
from anamnesis.engram.strings import trim_space
from anamnesis.mcp.engram.tool import Arguments, Memory, TextTool, Unusable, number, text


def mem_search(memory: Memory, given: Arguments) -> str:
    """Find what earlier sessions kept: decisions, fixes, patterns, discoveries. Every word has to occur.

    Results are previews; read one in full with mem_get_observation. A topic key such as architecture/auth-model
    finds the memory of that topic first."""
    query = given.as_sent("query")
    if not trim_space(query):
        raise Unusable("query is required")
    with memory.database() as db:
        results = search.search(
            db,
            query,
            type=given.text("type"),
            project=memory.project(given),
            scope=given.text("scope"),
            limit=given.number("limit", 10),
        )
    return texts.found(query, results, is_tool=True)


def mem_context(memory: Memory, given: Arguments) -> str:
    """Tell what went on lately in a project: recent sessions, prompts and memories.

    Call it when a session starts, and after the conversation was compacted."""
    with memory.database() as db:
        blob = context.context(db, memory.project(given), given.text("scope"))
        if not blob:
            return texts.NOTHING_YET
        counts = stats.stats(db)
    return (
        f"{blob}\n---\nMemory stats: {counts.total_sessions} sessions, {counts.total_observations} observations"
        f" across projects: {', '.join(counts.projects) or 'none'}"
    )


def mem_get_observation(memory: Memory, given: Arguments) -> str:
    """Read one memory in full, with its metadata, by the id that a search or a timeline shows."""
    id = required_id(given, "id")
    with memory.database() as db:
        found = observations.get(db, id)
    if not found:
        raise Unusable(f"Observation #{id} not found")
    return texts.whole(found)


def mem_timeline(memory: Memory, given: Arguments) -> str:
    """Show what was kept just before and after a memory in the same session, to understand how it came about."""
    id = required_id(given, "observation_id")
    with memory.database() as db:
        return texts.around(timeline.timeline(db, id, given.number("before", 5), given.number("after", 5)))


def mem_stats(memory: Memory, _: Arguments) -> str:
    """Count the sessions, memories and prompts, and name the projects."""
    with memory.database() as db:
        counts = stats.stats(db)
    return (
        f"Memory System Stats:\n- Sessions: {counts.total_sessions}\n- Observations: {counts.total_observations}\n"
        f"- Prompts: {counts.total_prompts}\n- Projects: {', '.join(counts.projects) or 'none yet'}"
    )


def mem_suggest_topic_key(_: Memory, given: Arguments) -> str:
    """Make a topic_key out of a title or a content, always the same one. Saving with it later replaces the memory
    of that topic instead of adding another."""
    title, content = given.text("title"), given.text("content")
    if not trim_space(title) and not trim_space(content):
        raise Unusable("provide title or content to suggest a topic_key")
    return f"Suggested topic_key: {topics.suggest(given.text('type'), title, content)}"


def required_id(given: Arguments, name: str) -> int:
    """An id, which is never zero."""
    if id := given.number(name):
        return id
    raise Unusable(f"{name} is required")


_FILTERS = {
    "project": text("Only of this project. Without it: the project that the server was started in."),
    "scope": text("Only of this scope: project or personal."),
}
READING = (
    TextTool(
        mem_search,
        "Search Memory",
        "Search error: {}. Try simpler keywords.",
        {
            "query": text("The words to look for, or a topic key."),
            "type": text("Only of this type, such as decision, architecture, bugfix, pattern, config, manual."),
            "limit": number("How many results at the most: 10 without it, never more than 20."),
            **_FILTERS,
        },
        ("query",),
        read_only=True,
        idempotent=True,
    ),
    TextTool(
        mem_context,
        "Get Memory Context",
        "Failed to get context: {}",
        {"limit": number("Not used: always the 20 newest memories."), **_FILTERS},
        read_only=True,
        idempotent=True,
    ),
    TextTool(
        mem_get_observation,
        "Get Observation",
        "Failed to read memory: {}",
        {"id": number("The id of the memory.")},
        ("id",),
        read_only=True,
        idempotent=True,
    ),
    TextTool(
        mem_timeline,
        "Memory Timeline",
        "Timeline error: {}",
        {
            "observation_id": number("The id of the memory in the middle."),
            "before": number("How many before it: 5 without it."),
            "after": number("How many after it: 5 without it."),
        },
        ("observation_id",),
        read_only=True,
        idempotent=True,
        deferred=True,
    ),
    TextTool(
        mem_stats,
        "Memory Stats",
        "Failed to get stats: {}",
        read_only=True,
        idempotent=True,
        deferred=True,
    ),
    TextTool(
        mem_suggest_topic_key,
        "Suggest Topic Key",
        properties={
            "type": text("The type that the memory will have."),
            "title": text("Its title: the best to make a key of."),
            "content": text("Its content, used where there is no title."),
        },
        read_only=True,
        idempotent=True,
        deferred=True,
    ),
)
