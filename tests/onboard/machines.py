"""A machine to set up agents on: a home folder, a system, the program, and settings of other programs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.agents import AGENTS, all_agents
from anamnesis.onboard.edits import Edit, SettingsEdit
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.place import Place
from anamnesis.onboard.plan import Plan
from anamnesis.onboard.program import Program
from anamnesis.onboard.removal import plan_removal, tear_down
from anamnesis.onboard.setup import plan_setup, set_up

SAMPLES = Path(__file__).parent / "samples"
# A home folder with a space and an apostrophe.
PROGRAM = Program(("/home/kim o'hara/.local/bin/anamnesis",))
NAMES = list(AGENTS)


@dataclass
class Machine:
    home: Path
    system: str = "linux"
    program: Program = PROGRAM
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def store(self) -> Path:
        return self.home / ".anamnesis"

    def agent(self, name: str) -> Agent:
        return AGENTS[name](Place(self.system, self.home, self.variables), self.program)

    def plan(self, *names: str) -> Plan:
        agents = [self.agent(name) for name in names]
        return plan_setup(agents, agents)

    def init(self, *names: str) -> Plan:
        return set_up(self.plan(*names), Ledger(self.store))

    def uninstall(self, *names: str) -> Plan:
        ledger = Ledger(self.store)
        leaving = names or NAMES
        agents = all_agents(Place(self.system, self.home, self.variables), self.program)
        return tear_down(plan_removal(agents, leaving, ledger, self.home), leaving, ledger)

    def settings(self, name: str) -> Iterator[SettingsEdit]:
        return (edit for edit in self.agent(name).edits if isinstance(edit, SettingsEdit))

    def edits(self, name: str) -> tuple[Edit, ...]:
        return self.agent(name).all_edits

    def add_samples(self, name: str) -> None:
        """Create an agent's files with entries of others."""
        shutil.copytree(SAMPLES / name, self.home, dirs_exist_ok=True)

    def files(self) -> dict[str, bytes]:
        """Every file of the home but the store's, by its path."""
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and not path.is_relative_to(self.store)
        }

    def folders(self) -> set[str]:
        return {
            str(path.relative_to(self.home))
            for path in self.home.rglob("*")
            if path.is_dir() and not path.is_relative_to(self.store)
        }
