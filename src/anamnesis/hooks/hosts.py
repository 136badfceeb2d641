"""The hosts that run hooks: each has its own names for events and its own form of answers.

Internally an event has Claude Code's names: `session_id`, `transcript_path`, `cwd`, `hook_event_name`, `source`,
`prompt`; and `host`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from anamnesis.hooks.event import Event, text_of

CLAUDE = "claude"
# Hosts that ignore the output of a hook at the start of a session: `recall` injects at the first prompt.
# Gemini CLI puts it before the prompt of a run without a terminal, and drops such a prompt when it resumes the session.
STARTS_AT_PROMPT = ("cline", "gemini", "kimi")
# The hosts' names for each field. Of a list of folders or text parts, the first is used.
_WORDS = {
    "session_id": ("session_id", "sessionId", "conversation_id", "conversationId", "trajectory_id"),
    "transcript_path": ("transcript_path", "transcriptPath"),
    "cwd": ("cwd", "working_dir", "workspace_roots", "workspacePaths"),
    "hook_event_name": ("hook_event_name", "hookEventName", "event", "agent_action_name"),
    "source": ("source",),
    "prompt": ("prompt", "message"),
}
# Variables that name the project's folder if the event does not.
_FOLDERS = {"devin": "DEVIN_PROJECT_DIR"}
# Gemini CLI escapes the tags in the text between these.
_ADDED = ("<hook_context>", "</hook_context>")
_EVENT_OF = {"inject": "SessionStart", "recall": "UserPromptSubmit"}


def recognise(event: Event, variables: Mapping[str, str]) -> str:
    """The host that sent an event. Several hosts run the hooks of Claude Code."""
    if "cursor_version" in event or "CURSOR_VERSION" in variables:
        return "cursor"
    if "DEVIN_PROJECT_DIR" in variables:
        return "devin"
    if "conversationId" in event:
        return "antigravity"
    if "workspaceRoot" in event:
        return "grok"
    if "sessionId" in event:
        return "copilot"
    # Claude Code's events have no timestamp; those of hosts that expect JSON have one.
    return "vscode" if "timestamp" in event else CLAUDE


def normalise(event: Event, host: str, variables: Mapping[str, str]) -> Event:
    """The event with Claude Code's names. Other fields stay."""
    inner = event.get("tool_info")
    fields = {**inner, **event} if isinstance(inner, dict) else event
    known = {name: value for name, words in _WORDS.items() if (value := _first(fields, words))}
    if "prompt" in known:
        known["prompt"] = _without_context(known["prompt"])
    if "cwd" not in known and (folder := variables.get(_FOLDERS.get(host, ""))):
        known["cwd"] = folder
    if "hook_event_name" in known:
        known["hook_event_name"] = known["hook_event_name"][0].upper() + known["hook_event_name"][1:]
    return {**event, **known, "host": host}


def _without_context(prompt: str) -> str:
    """The prompt without the context that hooks added: Gemini CLI puts the notes of the session's start before it."""
    return prompt.partition(_ADDED[1])[2].lstrip() if prompt.startswith(_ADDED[0]) else prompt


def is_due(event: Event, host: str, hook: str) -> bool:
    """Whether a hook applies: Antigravity runs `inject` before every model call, Grok runs all hooks for subagents."""
    if "subagentType" in event:
        return False
    return host != "antigravity" or hook != "inject" or event.get("invocationNum") == 0


def answer(text: str, host: str, hook: str, event: Event) -> str:
    """The output for the host. Some accept only a JSON object, even an empty one."""
    shape = _SHAPES.get(host)
    if shape is None or (not text and host not in _ALWAYS_JSON):
        return text
    name = text_of(event, "hook_event_name") or _EVENT_OF.get(hook, "")
    return json.dumps(shape(text, name) if text else {})


def _nested(text: str, name: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}


_SHAPES: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "gemini": _nested,
    "qwen": _nested,
    "vscode": _nested,
    "devin": _nested,
    "copilot": lambda text, name: {"additionalContext": text, **_nested(text, name)},
    "cursor": lambda text, _: {"additional_context": text},
    "antigravity": lambda text, _: {"injectSteps": [{"ephemeralMessage": text}]},
}
# These treat empty output as an error; Antigravity then stops its model.
_ALWAYS_JSON = ("cursor", "antigravity")


def _first(fields: Event, words: tuple[str, ...]) -> str:
    for word in words:
        value = fields.get(word)
        for each in value if isinstance(value, list) else [value]:
            text = each.get("text") if isinstance(each, dict) else each
            if isinstance(text, str) and text:
                return text
    return ""
