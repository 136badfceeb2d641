"""What an agent is to us: how to find it, what to change for it, and what then remains for its user to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anamnesis.onboard.edits import Block, Edit, Whole
from anamnesis.onboard.place import Place


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent on one machine. `signs` are files and folders that it leaves where it is installed."""

    name: str
    title: str
    programs: tuple[str, ...]
    signs: tuple[Path, ...]
    edits: tuple[Edit, ...]
    # For an agent that cannot be told anything by hooks: a line in the text that it reads at every start.
    instructions: Block | Whole | None = None
    # What stands in a file that it shares with another agent, and comes to nothing with this one.
    unheard: tuple[str, ...] = ()
    remark: str = ""

    @property
    def verbs(self) -> set[str]:
        """What it will run of ours to some effect."""
        return {verb for edit in self.edits for verb in edit.verbs} - set(self.unheard)

    @property
    def all_edits(self) -> tuple[Edit, ...]:
        """What may be changed for it, with its instructions."""
        return (*self.edits, *((self.instructions,) if self.instructions else ()))

    def is_installed(self, place: Place) -> bool:
        """Whether the agent is on this machine."""
        return any(map(place.program, self.programs)) or any(sign.exists() for sign in self.signs)
