"""The published schemas of agents' settings, for agents whose own program cannot check them.

Each schema covers the fields that matter to us; `source` is where it is published. It rejects unknown fields if the
agent does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
from tests.clients.host import Failed
from tests.clients.stage import Stage

from anamnesis.onboard.formats import engine

Schema = dict[str, Any]
_TEXT, _NUMBER, _FLAG = {"type": "string", "minLength": 1}, {"type": "number"}, {"type": "boolean"}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_VARIABLES = {"type": "object", "additionalProperties": {"type": "string"}}
_COMMAND = {"command": _TEXT, "args": _TEXTS, "env": _VARIABLES}


@dataclass(frozen=True, slots=True)
class Published:
    """The schema of one settings file."""

    file: str
    schema: Schema
    source: str
    format: str = "json"


def _record(fields: Schema, *required: str, is_closed: bool = False) -> Schema:
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": not is_closed}


def _with(key: str, value: Schema) -> Schema:
    """A file with our entry under a key, which must be there."""
    return _record({key: _record({"anamnesis": value}, "anamnesis")}, key)


def _events(handler: Schema, *events: str, is_closed: bool = False) -> Schema:
    """Lists of handlers under the names of events, and no other name."""
    each = {"type": "array", "items": handler, "minItems": 1}
    return _record(dict.fromkeys(events, each), is_closed=is_closed)


_SERVERS = _with("mcpServers", _record(_COMMAND, "command"))
_KIRO_HOOK = _record(
    {
        "name": _TEXT,
        "trigger": {"enum": ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"]},
        "matcher": _TEXT,
        "action": _record({"type": {"const": "command"}, "command": _TEXT}, "type", "command"),
        "timeout": _NUMBER,
        "enabled": _FLAG,
    },
    *("name", "trigger", "action"),
)
_STORAGE = ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"

PUBLISHED: dict[str, tuple[Published, ...]] = {
    "crush": (
        Published(
            ".config/crush/crush.json",
            _with(
                "mcp",
                _record(
                    {
                        **_COMMAND,
                        "type": {"enum": ["stdio", "sse", "http"]},
                        "timeout": {"type": "integer"},
                        "disabled": _FLAG,
                        "disabled_tools": _TEXTS,
                        "enabled_tools": _TEXTS,
                    },
                    "type",
                    is_closed=True,
                ),
            ),
            "schema.json in charmbracelet/crush",
        ),
    ),
    "vscode": (
        Published(
            ".config/Code/User/mcp.json",
            _with(
                "servers",
                _record(
                    {**_COMMAND, "type": {"const": "stdio"}, "cwd": _TEXT, "envFile": _TEXT},
                    "command",
                    is_closed=True,
                ),
            ),
            "mcpStdioServerSchema in microsoft/vscode",
            "jsonc",
        ),
        Published(
            ".copilot/hooks/anamnesis.json",
            _record({"version": {"const": 1}, "hooks": {"type": "object", "minProperties": 1}}, "version", "hooks"),
            "the reference of hooks in github/docs",
        ),
    ),
    "zed": (
        Published(
            ".config/zed/settings.json",
            _with("context_servers", _record({**_COMMAND, "enabled": _FLAG, "timeout": _NUMBER}, "command", "args")),
            "ContextServerSettingsContent in zed-industries/zed",
            "jsonc",
        ),
    ),
    "goose": (
        Published(
            ".config/goose/config.yaml",
            _with(
                "extensions",
                _record(
                    {
                        "name": _TEXT,
                        "description": _TEXT,
                        "cmd": _TEXT,
                        "args": _TEXTS,
                        "envs": _VARIABLES,
                        "type": {"const": "stdio"},
                        "env_keys": _TEXTS,
                        "timeout": {"type": "integer"},
                        "enabled": _FLAG,
                        "bundled": _FLAG,
                        "available_tools": _TEXTS,
                    },
                    *("type", "name", "description", "cmd", "args", "enabled"),
                ),
            ),
            "ExtensionConfig in aaif-goose/goose",
            "yaml",
        ),
    ),
    "roo": (
        Published(
            _STORAGE,
            _with(
                "mcpServers",
                _record({**_COMMAND, "type": {"const": "stdio"}, "disabled": _FLAG, "alwaysAllow": _TEXTS}, "command"),
            ),
            "McpHub.ts in RooCodeInc/Roo-Code",
        ),
    ),
    "cursor": (
        Published(".cursor/mcp.json", _SERVERS, "cursor.com/docs/context/mcp"),
        Published(
            ".cursor/hooks.json",
            _record(
                {
                    "version": {"const": 1},
                    "hooks": _events(
                        _record({"command": _TEXT, "timeout": _NUMBER}, "command", is_closed=True),
                        *("sessionStart", "sessionEnd", "beforeSubmitPrompt", "preCompact", "stop"),
                        is_closed=True,
                    ),
                },
                *("version", "hooks"),
            ),
            "cursor.com/docs/agent/hooks",
        ),
    ),
    "windsurf": (
        Published(".codeium/windsurf/mcp_config.json", _SERVERS, "docs.windsurf.com, Cascade MCP"),
        Published(
            ".codeium/windsurf/hooks.json",
            _record(
                {
                    "hooks": _events(
                        _record(
                            {"command": _TEXT, "powershell": _TEXT, "show_output": _FLAG, "working_directory": _TEXT},
                            "command",
                            is_closed=True,
                        ),
                        *("pre_user_prompt", "post_cascade_response", "post_cascade_response_with_transcript"),
                        is_closed=True,
                    )
                },
                "hooks",
            ),
            "docs.windsurf.com, Cascade Hooks",
        ),
    ),
    "kiro": (
        Published(".kiro/settings/mcp.json", _SERVERS, "kiro.dev/docs/mcp/configuration"),
        Published(
            ".kiro/hooks/anamnesis.json",
            _record({"version": {"const": "v1"}, "hooks": {"type": "array", "items": _KIRO_HOOK}}, "version", "hooks"),
            "kiro.dev/docs/hooks",
        ),
    ),
    "antigravity": (
        Published(".gemini/config/mcp_config.json", _SERVERS, "antigravity.google/docs/mcp"),
        Published(
            ".gemini/config/hooks.json",
            _record(
                {
                    "anamnesis": _events(
                        _record({"type": {"const": "command"}, "command": _TEXT, "timeout": _NUMBER}, "command"),
                        *("PreInvocation", "PostInvocation", "Stop"),
                        is_closed=True,
                    )
                },
                "anamnesis",
            ),
            "antigravity.google/docs/hooks",
        ),
    ),
    "claude-desktop": (
        Published(".config/Claude/claude_desktop_config.json", _SERVERS, "modelcontextprotocol.io/quickstart/user"),
    ),
}


def check(home: Path, name: str) -> str:
    """Check an agent's files against its schemas; returns their sources. Raises `Failed` if one does not fit."""
    for each in PUBLISHED[name]:
        document = engine(each.format).read((home / each.file).read_text("utf-8"))
        try:
            jsonschema.validate(document, each.schema)
        except jsonschema.ValidationError as error:
            raise Failed(f"{each.file} does not fit {each.source}: {error.message}") from error
    return f"anamnesis fits {', '.join(each.source for each in PUBLISHED[name])}"


def fitting(name: str) -> Callable[[Stage], str]:
    """A check of an agent's settings for its module."""
    return lambda stage: check(stage.home, name)
