"""Checks the files that `init` wrote: which of them no longer start us, and why. Changes nothing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import Edit, Launcher, Settings, launched
from anamnesis.onboard.formats import engine
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.pieces import entries
from anamnesis.onboard.plan import Change, Content, Plan
from anamnesis.onboard.program import Program, call_in, program_in
from anamnesis.onboard.setup import plan_setup

# The agents of a machine, if they start this program.
Declare = Callable[[Program], Sequence[Agent]]
# Whether a command can be run.
Runs = Callable[[tuple[str, ...]], bool]


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that is not as it should be, and the agents that use it. Without a `change`, only its owner can fix it."""

    file: Path
    reason: str
    agents: tuple[Agent, ...]
    change: Change | None = None


def inspect(program: Program, declare: Declare, ledger: Ledger, runs: Runs) -> list[Fault]:
    """The faults in the files of the agents that were set up.

    A file that starts another program of ours is in order if that one runs; `program` is the one that it would get.
    """
    agents = {agent.name: agent for agent in declare(program) if agent.name in ledger.agents()}
    plan = _plan(program, declare, ledger)
    named = {words for change in plan.changes for words in _programs(change)}
    others = [other for other in _candidates(program, named, plan.changes) if runs(other.runs or other.words)]
    outdated = [{change.target for change in _plan(other, declare, ledger).changes} for other in others]
    faults = [
        Fault(change.file, _reason(change, agents, runs), _of(change.agents, agents), change)
        for change in plan.changes
        if all(change.target in each for each in outdated)
    ]
    return faults + [
        Fault(refusal.file, f"{refusal.reason.rstrip('.')}.", _of(refusal.agents, agents)) for refusal in plan.refusals
    ]


def _plan(program: Program, declare: Declare, ledger: Ledger) -> Plan:
    """What `init` would change now for the agents that were set up."""
    agents = [agent for agent in declare(program) if agent.name in ledger.agents()]
    instructed = [agent for agent in agents if agent.instructions and _has_instructions(agent, ledger)]
    return plan_setup(agents, instructed)


def _has_instructions(agent: Agent, ledger: Ledger) -> bool:
    target = Path(os.path.realpath(agent.instructions.file)) if agent.instructions else Path()
    return any(agent.name in record.agents for record in ledger.records(target))


def _candidates(program: Program, named: set[tuple[str, ...]], changes: Sequence[Change]) -> Iterator[Program]:
    """The programs that files name, and that which the launcher starts now."""
    for words in sorted(named - {program.words}):
        yield replace(program, words=words, runs=launched(_text(_read(words[0]))))
    for change in changes:
        if any(isinstance(edit, Launcher) for edit in change.edits) and (words := launched(_text(change.old))):
            yield replace(program, runs=words)


def _programs(change: Change) -> set[tuple[str, ...]]:
    """The programs of ours that the entries in a file start."""
    return {words for edit in change.edits for entry in _entries(edit, change.old) if (words := program_in(entry))}


def _entries(edit: Edit, content: Content) -> Iterator[dict[str, object]]:
    if isinstance(edit, Settings):
        document = engine(edit.format).read(_text(content))
        yield from (dict(entry) for piece in edit.pieces for entry in entries(piece, document))


def _reason(change: Change, agents: dict[str, Agent], runs: Runs) -> str:
    """What is wrong with a file, in a sentence."""
    whose = _joined([agent.title for agent in _of(change.agents, agents)])
    if change.old is None:
        return f"It is missing. {whose} {'need' if ' and ' in whose else 'needs'} it for {_their(whose)} memory."
    started = [launched(_text(change.old))] if any(isinstance(edit, Launcher) for edit in change.edits) else []
    gone = [words for words in (*_programs(change), *started) if words and not runs(words)]
    if gone:
        return f"It makes {whose} start {shlex.join(gone[0])}, which does not run."
    wanted = {verb for edit in change.edits if isinstance(edit, Settings) for verb in edit.verbs}
    calls = (call_in(entry) for edit in change.edits for entry in _entries(edit, change.old))
    missing = wanted - {call.verb for call in calls if call}
    if missing:
        return f"It lacks {_parts(missing)} of {whose}."
    return f"It was changed since it was written for {whose}, or an older version wrote it."


def _parts(verbs: set[str]) -> str:
    """The missing server and hooks, by name."""
    hooks = sorted(verbs - {"serve"})
    named = f"the hook{'s' if len(hooks) > 1 else ''} {_joined(hooks)}" if hooks else ""
    return " and ".join(filter(None, ["the MCP server" if "serve" in verbs else "", named]))


def _joined(names: Sequence[str]) -> str:
    *others, last = names or [""]
    return f"{', '.join(others)} and {last}" if others else last


def _their(whose: str) -> str:
    return "their" if " and " in whose else "its"


def _of(names: Sequence[str], agents: dict[str, Agent]) -> tuple[Agent, ...]:
    return tuple(agents[name] for name in names if name in agents)


def _read(path: str) -> Content:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


def _text(content: Content) -> str:
    return (content or b"").decode("utf-8", "replace")
