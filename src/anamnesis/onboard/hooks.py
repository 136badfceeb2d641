"""At which events hosts run us, and the shape that Claude Code gave to hooks, which most others took over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from anamnesis.onboard.pieces import Item
from anamnesis.onboard.program import Program


@dataclass(frozen=True, slots=True)
class On:
    """At an event, one of our verbs runs, for so many seconds at the most."""

    event: str
    verb: str
    seconds: int
    matcher: str = ""
    options: tuple[str, ...] = ()

    def line(self, program: Program, host: str) -> str:
        """The call as a line for the system's shell; the host is named, as each wants its own answer."""
        return program.line(self.verb, *self.options, f"--host={host}")


# Few hosts can run a hook that they do not wait for: elsewhere the notes of other machines come by the first one.
START = On("SessionStart", "inject", 15, "startup|resume|clear|compact", ("--sync",))
START_ALONE = replace(START, options=())
PULL = On("SessionStart", "sync", 120, "startup|resume")
PROMPT = On("UserPromptSubmit", "recall", 10)
COMPACT = On("PreCompact", "capture", 60, options=("--source", "precompact", "--no-sync"))
END = On("SessionEnd", "capture", 120)
# For hosts that say when a turn ends and not when a session does: the note grows, and travels at another time.
TURN = On("Stop", "capture", 60, options=("--no-sync",))


def grouped(program: Program, host: str, *moments: On, unit: int = 1) -> tuple[Item, ...]:
    """Hooks in Claude Code's shape; `unit` is what a second counts for the host."""
    return tuple(
        group(on, {"type": "command", "command": on.line(program, host), "timeout": on.seconds * unit})
        for on in moments
    )


def group(on: On, handler: dict[str, Any]) -> Item:
    """A handler in a group of its own, under its event."""
    matcher = {"matcher": on.matcher} if on.matcher else {}
    return Item(("hooks", on.event), on.verb, {**matcher, "hooks": [handler]})
