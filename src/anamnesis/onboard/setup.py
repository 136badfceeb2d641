"""Sets up agents: plans which files change, and changes them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.apply import apply
from anamnesis.onboard.edits import Edit
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.plan import Change, Content, Plan, add_file, by_target, decode


def plan_setup(agents: Iterable[Agent], instructed: Iterable[Agent] = ()) -> Plan:
    """Plan the setup of agents, with a line in the instructions of some."""
    edits = [(agent.name, edit) for agent in agents for edit in agent.edits]
    edits += [(agent.name, agent.instructions) for agent in instructed if agent.instructions]
    plan = Plan()
    for target, file_edits in by_target(edits).items():
        lines = (_installed(file_edits.edits, None) or b"").decode()
        add_file(plan, target, file_edits, partial(_installed, file_edits.edits), lines)
    return plan


def set_up(plan: Plan, ledger: Ledger) -> Plan:
    """Apply a setup, recording each change first; returns the changed and the refused files."""

    def keep(change: Change) -> None:
        missing = [folder for folder in change.target.parents if not folder.exists()]
        traces = [edit.trace() for edit in change.edits]
        ledger.add(change.target, change.old, change.new, agents=change.agents, traces=traces, folders=missing)

    return apply(plan, keep)


def _installed(edits: Iterable[Edit], content: Content) -> Content:
    text = decode(content)
    for edit in edits:
        text = edit.install(text)
    return text.encode()
