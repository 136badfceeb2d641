"""The events at which hosts run us, and hooks in Claude Code's form, which most hosts use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from anamnesis.onboard.pieces import Item
from anamnesis.onboard.program import Program


@dataclass(frozen=True, slots=True)
class HookEvent:
    """Runs one of our commands at an event, with a timeout in seconds."""

    event: str
    verb: str
    seconds: int
    matcher: str = ""
    options: tuple[str, ...] = ()

    def line(self, program: Program, host: str) -> str:
        """The call as a shell command, with the host's name, because each host expects its own output."""
        return program.line(self.verb, *self.options, f"--host={host}")


# Few hosts can run a hook in the background; for the others, `inject` starts the sync.
START = HookEvent("SessionStart", "inject", 15, "startup|resume|clear|compact", ("--sync",))
START_ALONE = replace(START, options=())
PULL = HookEvent("SessionStart", "sync", 120, "startup|resume")
PROMPT = HookEvent("UserPromptSubmit", "recall", 10)
COMPACT = HookEvent("PreCompact", "capture", 60, options=("--source", "precompact", "--no-sync"))
END = HookEvent("SessionEnd", "capture", 120)
# For hosts that report the end of a turn but not of a session: each turn updates the note, and another hook syncs.
TURN = HookEvent("Stop", "capture", 60, options=("--no-sync",))


def grouped(program: Program, host: str, *events: HookEvent, unit: int = 1) -> tuple[Item, ...]:
    """Hooks in Claude Code's form; `unit` is the host's value for one second."""
    return tuple(
        group(on, {"type": "command", "command": on.line(program, host), "timeout": on.seconds * unit}) for on in events
    )


def group(on: HookEvent, handler: dict[str, Any]) -> Item:
    """A handler in its own group under its event."""
    matcher = {"matcher": on.matcher} if on.matcher else {}
    return Item(("hooks", on.event), on.verb, {**matcher, "hooks": [handler]})
