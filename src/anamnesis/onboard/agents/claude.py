"""Claude Code: the server at user scope, and hooks as shell commands in a form that some other hosts also run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.hooks import COMPACT, END, PROMPT, PULL, START_ALONE, HookEvent, group
from anamnesis.onboard.pieces import Item, Server
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import Program


def hooks(program: Program) -> tuple[Item, ...]:
    """The hooks. Our plugin contains the same ones."""
    items = []
    for on in (START_ALONE, PULL, PROMPT, COMPACT, END):
        background = {"async": True} if on is PULL else {}
        handler = {"type": "command", **_launch(program, on), "timeout": on.seconds, **background}
        items.append(group(on, handler))
    return tuple(items)


def _launch(program: Program, on: HookEvent) -> dict[str, Any]:
    """The call. On Windows any of three shells with different quoting may run hooks, so no shell is used."""
    command, *args = program.call(on.verb, *on.options)
    return {"command": command, "args": args} if program.windows else {"command": program.line(on.verb, *on.options)}


def claude(place: Place, program: Program) -> Agent:
    folder = place.named("CLAUDE_CONFIG_DIR", ".claude")
    moved = "CLAUDE_CONFIG_DIR" in place.variables
    state = folder / ".claude.json" if moved else place.home / ".claude.json"
    settings = folder / "settings.json"
    agent = Agent(
        name="claude",
        title="Claude Code",
        programs=("claude",),
        signs=(folder, state),
        edits=(
            SettingsEdit(state, "json", (Server(("mcpServers", "anamnesis"), program.server(type="stdio")),)),
            SettingsEdit(settings, "json", hooks(program)),
        ),
    )
    found = re.search(rb'"(anamnesis@[\w.-]+)"\s*:\s*true', settings.read_bytes()) if settings.is_file() else None
    if found:
        remark = "The plugin anamnesis is installed there and does all of this."
        return replace(agent, edits=(), remark=remark, plugin=found[1].decode())
    return agent
