"""What an agent without hooks reads at every start: that it has a memory, and when to use it."""

from __future__ import annotations

from pathlib import Path

from anamnesis.onboard.edits import Block, Whole

LINE = (
    "The MCP server `anamnesis` is your long-term memory. At the start of a task, call `memory_search` with what the"
    " task is about; when you have learnt something that will matter later, keep it with `memory_write`."
)


def line_in(file: Path) -> Block:
    """A block in a text that is the user's."""
    return Block(file, LINE)


def own_file(file: Path) -> Whole:
    """A text of its own, in a folder where each is read."""
    return Whole(file, f"{LINE}\n")
