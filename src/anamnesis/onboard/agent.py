"""The declaration of an agent: how to detect it, what to change for it, and what its user has to do afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anamnesis.onboard.edits import Edit, OwnFile, TextBlock
from anamnesis.onboard.place import Place

# The instructions for agents without hooks.
LINE = (
    "The MCP server `anamnesis` is your long-term memory. At the start of a task, call `memory_search` with what the"
    " task is about; when you have learnt something that will matter later, keep it with `memory_write`."
)
# What an agent may use of ours, and the command for it: the server, and the hooks at session start, at a prompt and at
# session end.
FEATURES = {"mcp": "serve", "start": "inject", "prompt": "recall", "end": "capture"}


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent on one machine. `signs` are files and folders that exist where it is installed."""

    name: str
    title: str
    programs: tuple[str, ...]
    signs: tuple[Path, ...]
    edits: tuple[Edit, ...]
    # For an agent whose hooks cannot add context: a line in the instructions that it reads at every start.
    instructions: TextBlock | OwnFile | None = None
    # Commands in a file shared with another agent that have no effect in this one.
    ignored: tuple[str, ...] = ()
    remark: str = ""
    # The name of our plugin, if it is installed in the agent; it replaces the edits.
    plugin: str = ""

    @property
    def verbs(self) -> set[str]:
        """Our commands that it runs with an effect."""
        return {verb for edit in self.edits for verb in edit.verbs} - set(self.ignored)

    @property
    def all_edits(self) -> tuple[Edit, ...]:
        """All edits for it, including its instructions."""
        return (*self.edits, *((self.instructions,) if self.instructions else ()))

    def is_installed(self, place: Place) -> bool:
        """Whether the agent is installed on this machine."""
        return any(map(place.program, self.programs)) or any(sign.exists() for sign in self.signs)


def line_in(file: Path) -> TextBlock:
    """Instructions as a block in the user's text."""
    return TextBlock(file, LINE)


def own_file(file: Path) -> OwnFile:
    """Instructions as a file in a folder whose files are all read."""
    return OwnFile(file, f"{LINE}\n")
