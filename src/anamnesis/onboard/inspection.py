"""Finds the files of `init` that no longer start us, and why. Changes nothing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import Edit, Launcher, SettingsEdit, launched
from anamnesis.onboard.formats import engine
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.pieces import entries
from anamnesis.onboard.plan import Change, Content, Plan, Refusal
from anamnesis.onboard.program import VERBS, Program, call_in, program_in
from anamnesis.onboard.setup import plan_setup
from anamnesis.plural import listed

# The agents of a machine, declared for a given program.
Declare = Callable[[Program], Sequence[Agent]]
# Whether a command can be run.
Runs = Callable[[tuple[str, ...]], bool]


@dataclass(frozen=True, slots=True)
class Fault:
    """A faulty file, the agents that use it, and our commands that they cannot run because of it.

    Without a `change`, only the owner of the file can fix it.
    """

    file: Path
    reason: str
    agents: tuple[Agent, ...]
    verbs: frozenset[str]
    change: Change | None = None


def inspect(program: Program, declare: Declare, ledger: Ledger, runs: Runs) -> list[Fault]:
    """The faults in the files of the agents that were set up.

    A file that starts another installation of ours is valid if that one runs; `program` is the one `init` would write.
    """
    mine = _set_up(declare(program), ledger)
    agents = {agent.name: agent for agent in mine}
    plan = _plan(mine, ledger)
    named = {words for change in plan.changes for words in _programs(change)}
    others = [other for other in _candidates(program, named, plan.changes) if runs(other.runs or other.words)]
    plans = (_plan(_set_up(declare(other), ledger), ledger) for other in others)
    outdated = [{change.target for change in each.changes} for each in plans]
    faults = [
        Fault(change.file, reason, _of(change.agents, agents), frozenset(verbs), change)
        for change in plan.changes
        if all(change.target in each for each in outdated)
        for reason, verbs in (_cause(change, agents, runs),)
    ]
    return faults + [_refused(refusal, _of(refusal.agents, agents)) for refusal in plan.refusals]


def _refused(refusal: Refusal, agents: tuple[Agent, ...]) -> Fault:
    edits = [edit for agent in agents for edit in agent.edits if edit.file == refusal.file]
    return Fault(refusal.file, f"{refusal.reason.rstrip('.')}.", agents, frozenset(_verbs(edits)))


def _set_up(agents: Iterable[Agent], ledger: Ledger) -> list[Agent]:
    """The agents that were set up."""
    known = ledger.agents()
    return [agent for agent in agents if agent.name in known]


def _plan(agents: Sequence[Agent], ledger: Ledger) -> Plan:
    """What `init` would change now for these agents."""
    instructed = [agent for agent in agents if agent.instructions and _has_instructions(agent, ledger)]
    return plan_setup(agents, instructed)


def _has_instructions(agent: Agent, ledger: Ledger) -> bool:
    target = Path(os.path.realpath(agent.instructions.file)) if agent.instructions else Path()
    return any(agent.name in record.agents for record in ledger.records(target))


def _candidates(program: Program, named: set[tuple[str, ...]], changes: Sequence[Change]) -> Iterator[Program]:
    """The programs that files name, and the one that the launcher starts now."""
    for words in sorted(named - {program.words}):
        yield replace(program, words=words, runs=launched(_text(_read(words[0]))))
    for change in changes:
        if any(isinstance(edit, Launcher) for edit in change.edits) and (words := launched(_text(change.old))):
            yield replace(program, runs=words)


def _programs(change: Change) -> set[tuple[str, ...]]:
    """Our programs that the entries in a file start."""
    return {words for edit in change.edits for entry in _entries(edit, change.old) if (words := program_in(entry))}


def _entries(edit: Edit, content: Content) -> Iterator[dict[str, object]]:
    if isinstance(edit, SettingsEdit):
        document = engine(edit.format).read(_text(content))
        yield from (dict(entry) for piece in edit.pieces for entry in entries(piece, document))


def _cause(change: Change, agents: dict[str, Agent], runs: Runs) -> tuple[str, set[str]]:
    """What is wrong with a file, in a sentence, and our commands that cannot run because of it."""
    wanted = _verbs(change.edits)
    owners = _of(change.agents, agents)
    whose = listed(agent.title for agent in owners)
    if change.old is None:
        return (
            f"It is missing. {whose} {'need it for their' if len(owners) > 1 else 'needs it for its'} memory.",
            wanted,
        )
    started = [launched(_text(change.old))] if any(isinstance(edit, Launcher) for edit in change.edits) else []
    gone = [words for words in (*_programs(change), *started) if words and not runs(words)]
    if gone:
        return f"It makes {whose} start {shlex.join(gone[0])}, which does not run.", wanted
    calls = (call_in(entry) for edit in change.edits for entry in _entries(edit, change.old))
    missing = _verbs(edit for edit in change.edits if isinstance(edit, SettingsEdit)) - {
        call.verb for call in calls if call
    }
    if missing:
        return f"It lacks {_parts(missing)} of {whose}.", missing
    return f"It was changed since it was written for {whose}, or an older version wrote it.", set()


def _verbs(edits: Iterable[Edit]) -> set[str]:
    """Our commands that the edits make agents run; a launcher runs all of them."""
    return {verb for edit in edits for verb in (VERBS if isinstance(edit, Launcher) else edit.verbs)}


def _parts(verbs: set[str]) -> str:
    """The missing server and hooks, by name."""
    hooks = sorted(verbs - {"serve"})
    named = f"the hook{'s' if len(hooks) > 1 else ''} {listed(hooks)}" if hooks else ""
    return " and ".join(filter(None, ["the MCP server" if "serve" in verbs else "", named]))


def _of(names: Sequence[str], agents: dict[str, Agent]) -> tuple[Agent, ...]:
    return tuple(agents[name] for name in names if name in agents)


def _read(path: str) -> Content:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


def _text(content: Content) -> str:
    return (content or b"").decode("utf-8", "replace")
