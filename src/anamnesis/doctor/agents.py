"""Checks the agents of this machine: which of them are set up, and whether the entries of `init` still work."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from anamnesis.config import Settings
from anamnesis.disk import locked
from anamnesis.doctor.finding import Finding
from anamnesis.onboard import machine
from anamnesis.onboard.agent import FEATURES, Agent
from anamnesis.onboard.codex_hooks import find_untrusted
from anamnesis.onboard.engram_installation import NAME as ENGRAM
from anamnesis.onboard.inspection import Fault, inspect
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.plan import Change, Plan
from anamnesis.onboard.program import HOOKS, Program
from anamnesis.onboard.setup import set_up
from anamnesis.vault import find_engram

# The states of an agent's MCP server or hook; ABSENT if the agent has no such feature.
WORKS, BROKEN, MISSING, ABSENT = "works", "broken", "not set up", "none"
# Receives the refusals when a file is rewritten.
OnRefusal = Callable[[Plan], object]


@dataclass(frozen=True, slots=True)
class AgentCheck:
    """An agent that is installed here, whether it is set up, its faults, and the commands of ours it cannot run."""

    agent: Agent
    is_set_up: bool
    findings: tuple[Finding, ...] = ()
    broken: frozenset[str] = frozenset()

    @property
    def states(self) -> dict[str, str]:
        """The state of its MCP server and of each of its hooks."""
        return {name: self._state(verb) for name, verb in FEATURES.items()}

    @property
    def command(self) -> str:
        """The command that sets it up or repairs it; "" if there is none, or nothing to be done."""
        if not self.is_set_up:
            return f"anamnesis init --agent {self.agent.name}"
        return "anamnesis doctor --fix" if any(finding.repair for finding in self.findings) else ""

    def _state(self, verb: str) -> str:
        if self.agent.plugin:
            return WORKS
        if verb not in self.agent.verbs:
            return ABSENT
        if not self.is_set_up:
            return MISSING
        return BROKEN if verb in self.broken else WORKS


class _AgentFault(NamedTuple):
    """A fault, the agents it is about, and the commands of ours that they cannot run because of it."""

    finding: Finding
    agents: frozenset[str]
    verbs: frozenset[str]


class AgentReport(NamedTuple):
    """The faults in files that `init` wrote, and the installed agents, those that are set up first."""

    findings: list[Finding]
    agents: list[AgentCheck]


def examine_agents(settings: Settings, on_refusal: OnRefusal = bool) -> AgentReport:
    """Check what `init` wrote for agents that are still on this machine. May take seconds, as it starts programs."""
    ledger = Ledger(settings.home)
    faults = [*_faults(settings, ledger, on_refusal)]
    findings = [*_unreadable(ledger), *(each.finding for each in faults)]
    place = machine.place(settings)
    installed = [agent for agent in machine.agents(settings) if agent.is_installed(place)]
    checked = [_checked(agent, ledger, [each for each in faults if agent.name in each.agents]) for agent in installed]
    return AgentReport(findings, sorted(checked, key=lambda each: not each.is_set_up))


def _checked(agent: Agent, ledger: Ledger, faults: Sequence[_AgentFault]) -> AgentCheck:
    broken = frozenset(verb for each in faults for verb in each.verbs)
    is_set_up = agent.name in ledger.agents() or bool(agent.plugin)
    return AgentCheck(agent, is_set_up, tuple(each.finding for each in faults), broken)


def _unreadable(ledger: Ledger) -> Iterator[Finding]:
    if not ledger.is_readable:
        fault = "It cannot be read, so the agents' files are not checked."
        yield Finding(str(ledger.path), fault, "Run `anamnesis init` again.")


def _faults(settings: Settings, ledger: Ledger, on_refusal: OnRefusal) -> Iterator[_AgentFault]:
    if not ledger.agents():
        return
    place, database = machine.place(settings), find_engram(settings)

    def declare(program: Program) -> list[Agent]:
        everybody = machine.agents_and_engram(settings, database, program)
        return [agent for agent in everybody if agent.name == ENGRAM or agent.is_installed(place)]

    runs = functools.cache(machine.can_run)
    for fault in inspect(machine.program(settings), declare, ledger, runs):
        names = frozenset(agent.name for agent in fault.agents)
        yield _AgentFault(_finding(settings, fault, on_refusal), names, fault.verbs)
    yield from _left_to_the_user(settings, ledger.agents())


def _finding(settings: Settings, fault: Fault, on_refusal: OnRefusal) -> Finding:
    if fault.change is None:
        return Finding(str(fault.file), fault.reason, "Correct it, then run `anamnesis doctor --fix`.")
    remarks = [agent.remark for agent in fault.agents if agent.remark]
    fix = " ".join(["Write it again: anamnesis doctor --fix", *remarks])
    return Finding(str(fault.file), fault.reason, fix, partial(_renew, settings, fault.change, on_refusal))


def _renew(settings: Settings, change: Change, on_refusal: OnRefusal) -> None:
    with locked(settings.home / "onboard.lock"):
        on_refusal(set_up(Plan([change]), Ledger(settings.home)))


def _left_to_the_user(settings: Settings, names: set[str]) -> Iterator[_AgentFault]:
    """Faults of set-up agents that only the user can resolve."""
    agents = [agent for agent in machine.agents(settings) if agent.name in names]
    for agent in agents:
        if agent.plugin:
            twice = "`anamnesis init` and the plugin anamnesis both set it up: each tool is offered twice."
            commands = f"`anamnesis uninstall --agent {agent.name}`, or `claude plugin uninstall {agent.plugin}`"
            finding = Finding(agent.title, twice, f"Keep one: {commands}.")
            yield _AgentFault(finding, frozenset([agent.name]), frozenset())
    untrusted = find_untrusted(agents, machine.place(settings))
    if untrusted and untrusted.hooks:
        fix = "Run `anamnesis init --agent codex --yes`, or start codex, type /hooks and trust those of anamnesis."
        finding = Finding(str(untrusted.file), "Codex does not run its hooks, because they are not trusted.", fix)
        yield _AgentFault(finding, frozenset([untrusted.agent.name]), frozenset(HOOKS))
