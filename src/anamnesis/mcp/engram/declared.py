"""The declarations of Engram's tools. Separate from the functions, so that listing the tools does not import them."""

from __future__ import annotations

from dataclasses import replace

from anamnesis.mcp.engram.tool import TextTool, number, text, yes_or_no

_FILTERS = {
    "project": text("Only of this project. By default, the project that the server was started in."),
    "scope": text("Only of this scope: project or personal."),
}
_PROJECT = {"project": text("The project's name. By default, the project that the server was started in.")}
_SESSION = {"session_id": text("The session it belongs to. By default, manual-save-{project}.")}
_OF_SESSION = {**_PROJECT, **_SESSION}
TOOLS = (
    TextTool(
        "mem_search",
        "Search Memory",
        """Find memories of earlier sessions: decisions, fixes, patterns, discoveries. Every word has to occur.

        Results are previews; read one in full with mem_get_observation. A topic key such as architecture/auth-model
        finds the memory of that topic first.""",
        "Search error: {}. Try simpler keywords.",
        {
            "query": text("The words to look for, or a topic key."),
            "type": text("Only of this type, such as decision, architecture, bugfix, pattern, config, manual."),
            "limit": number("The most results: 10 by default, never more than 20."),
            **_FILTERS,
        },
        ("query",),
        read_only=True,
        idempotent=True,
    ),
    TextTool(
        "mem_context",
        "Get Memory Context",
        """Return the recent sessions, prompts and memories of a project.

        Call it when a session starts, and after the conversation was compacted.""",
        "Failed to get context: {}",
        {"limit": number("The most memories: by default, the 20 newest."), **_FILTERS},
        read_only=True,
        idempotent=True,
    ),
    TextTool(
        "mem_get_observation",
        "Get Observation",
        "Read one memory in full, with its metadata, by the id that a search or a timeline shows.",
        "Failed to read memory: {}",
        {"id": number("The id of the memory.")},
        ("id",),
        read_only=True,
        idempotent=True,
    ),
    TextTool(
        "mem_timeline",
        "Memory Timeline",
        "Show the memories just before and after a memory in the same session, to understand its context.",
        "Timeline error: {}",
        {
            "observation_id": number("The id of the memory in the middle."),
            "before": number("How many before it: by default, 5."),
            "after": number("How many after it: by default, 5."),
        },
        ("observation_id",),
        read_only=True,
        idempotent=True,
        deferred=True,
    ),
    TextTool(
        "mem_stats",
        "Memory Stats",
        "Count the sessions, memories and prompts, and name the projects.",
        "Failed to get stats: {}",
        read_only=True,
        idempotent=True,
        deferred=True,
    ),
    TextTool(
        "mem_suggest_topic_key",
        "Suggest Topic Key",
        """Make a topic_key from a title or a content, always the same one. Saving with it later replaces the memory
        of that topic instead of adding another.""",
        properties={
            "type": text("The type that the memory will have."),
            "title": text("Its title, the best source of a key."),
            "content": text("Its content, used if there is no title."),
        },
        read_only=True,
        idempotent=True,
        deferred=True,
    ),
    TextTool(
        "mem_save",
        "Save Memory",
        """Save something that a later session will need. Do it at once and unasked, after a decision, a fixed bug, a
        new convention, a change of configuration, a discovery or a trap.

        Give a short title that can be searched for, such as "JWT auth middleware", and a content in four parts:
        **What** was done, **Why**, **Where** (files and paths), **Learned** (traps and edge cases, if any).

        With a topic_key, the memory of that topic in the project is replaced and its revision counted. Without one, the
        same content within 15 minutes is counted as a repetition.""",
        "Failed to save: {}",
        {
            "title": text('Short, with the words to search for, such as "Fixed N+1 query in user list".'),
            "content": text("The memory, in the parts **What**, **Why**, **Where** and **Learned**."),
            "type": text(
                "decision, architecture, bugfix, pattern, config, discovery, learning, or manual, the default."
            ),
            "scope": text("project, the default, or personal."),
            "topic_key": text("The topic whose memory this replaces, such as architecture/auth-model."),
            **_OF_SESSION,
        },
        ("title", "content"),
    ),
    TextTool(
        "mem_update",
        "Update Memory",
        "Correct a memory by its id. Omitted fields are unchanged; the revision is counted.",
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
        "mem_delete",
        "Delete Memory",
        "Delete a memory by its id: it is hidden, and removed permanently only with hard_delete.",
        "Failed to delete memory: {}",
        {
            "id": number("The id of the memory."),
            "hard_delete": yes_or_no("Whether to delete it permanently."),
        },
        ("id",),
        destructive=True,
        deferred=True,
    ),
    TextTool(
        "mem_save_prompt",
        "Save User Prompt",
        "Save the user's request, so that a later session knows the purpose of the work.",
        "Failed to save prompt: {}",
        {"content": text("What the user wrote."), **_OF_SESSION},
        ("content",),
    ),
    TextTool(
        "mem_session_summary",
        "Save Session Summary",
        """Summarise a session that ends, for the next session. Do it before you say that you are done.

        Write it under these headings, short but with names of files, error messages and decisions: ## Goal (one
        sentence), ## Instructions (how the user wants things done), ## Discoveries (findings and traps: the most
        valuable part), ## Accomplished (what is done, and what is still open), ## Relevant Files (path and role).""",
        "Failed to save session summary: {}",
        {"content": text("The summary, under the headings that the description names."), **_OF_SESSION},
        ("content", "project"),
    ),
    TextTool(
        "mem_session_start",
        "Start Session",
        "Record that a session has begun. Memories can be saved under its id from then on.",
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
        "mem_session_end",
        "End Session",
        "Record that a session is over, with a summary if there is one.",
        "Failed to end session: {}",
        {"id": text("The session's id."), "summary": text("What was done.")},
        ("id",),
        idempotent=True,
        deferred=True,
    ),
    TextTool(
        "mem_capture_passive",
        "Capture Learnings",
        """Extract the learnings from a text and save each as a memory of its own: the numbered or bulleted items under
        a heading such as "## Key Learnings:" or "## Aprendizajes Clave:".

        Saved learnings are skipped, so the same text may be sent again.""",
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
        "mem_merge_projects",
        "Merge Projects",
        """Rename projects to another one, if one project got several names over time
        (Engram, engram-memory, ENGRAM). It cannot be undone.""",
        "Merge failed: {}",
        {
            "from": text("The names to replace, separated by commas."),
            "to": text("The name to keep."),
        },
        ("from", "to"),
        destructive=True,
        idempotent=True,
        deferred=True,
    ),
)

_ENGRAMS = {tool.name: tool for tool in TOOLS}
# Reverie's names for Engram's tools, with the same arguments, and Reverie's own tools.
REVERIE = (
    replace(
        _ENGRAMS["mem_search"],
        name="search_memory",
        title="Search memory",
        description="""Find memories of earlier sessions: decisions, fixes, patterns, discoveries. Every word has to
        occur.

        The best come first, each with up to 2,000 characters. A topic key such as architecture/auth-model finds the
        memory of that topic first.""",
        is_reverie=True,
    ),
    TextTool(
        "smart_context",
        "Smart context",
        """Return what matters in a project: six tenths recent memories, three tenths that were revised or repeated
        three times or more, one tenth personal. Call it when a session starts.""",
        "Failed to get context: {}",
        {**_PROJECT, "limit": number("The most memories: 15 by default, never more than 100.")},
        read_only=True,
        idempotent=True,
        is_reverie=True,
    ),
    replace(_ENGRAMS["mem_save"], name="add_observation", title="Add an observation", is_reverie=True),
    replace(
        _ENGRAMS["mem_capture_passive"],
        name="add_observation_passive",
        title="Add observations from a text",
        deferred=False,
        is_reverie=True,
    ),
    TextTool(
        "dream_status",
        "Dream status",
        """Report the last dream, which tidies the memory in the background, how many notes have changed since, and
        how many proposals wait for the next dream or for the user.""",
        "Failed to read the dreams: {}",
        read_only=True,
        idempotent=True,
        is_reverie=True,
    ),
    TextTool(
        "dream_last_report",
        "Report of the last dream",
        "Return the report of the last dream in markdown: what it merged, linked or marked, why, and how to undo it.",
        "Failed to read the dreams: {}",
        read_only=True,
        idempotent=True,
        is_reverie=True,
    ),
)
