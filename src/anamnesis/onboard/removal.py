"""Removes us from agents: restores the old content if only we changed the file, else removes only our part."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from anamnesis.config import DEFAULT_HOME
from anamnesis.errors import AnamnesisError
from anamnesis.onboard.agent import Agent
from anamnesis.onboard.apply import apply
from anamnesis.onboard.edits import Edit, IsOther, Launcher, SettingsEdit, from_trace, is_launcher
from anamnesis.onboard.ledger import Ledger
from anamnesis.onboard.plan import Change, Content, FileEdits, Plan, Refusal, add_file, by_target, decode, read


def plan_removal(agents: Sequence[Agent], leaving: Collection[str], ledger: Ledger, user_home: Path) -> Plan:
    """Plan the removal from some agents; `agents` are all that may have us.

    A ledger that was copied from elsewhere may name files outside `user_home`: these are refused. Entries that name
    another memory of this user stay.
    """
    plan = Plan()
    declared = by_target((agent.name, edit) for agent in agents for edit in agent.all_edits)
    is_other = partial(_is_other, ledger.home, user_home / DEFAULT_HOME)
    plan.others, of_others = _others(declared, leaving, is_other)
    moved = {target: _traced(target, ledger) for target in ledger.targets() if target not in declared}
    for target, file_edits in {**declared, **moved}.items():
        if not set(leaving) & set(file_edits.agents):
            continue
        if target in moved and not target.is_relative_to(user_home.resolve()):
            reason = f"It is outside {user_home}, the home folder of this user"
            plan.refusals.append(Refusal(target, target, tuple(file_edits.agents), reason))
            continue
        is_text_alone = not any(isinstance(edit, SettingsEdit | Launcher) or edit.verbs for edit in file_edits.edits)
        if is_text_alone and not ledger.records(target) and of_others.issuperset(file_edits.agents):
            continue
        staying = set(file_edits.agents) & ledger.agents() - set(leaving)
        shared = [edit for agent in agents if agent.name in staying for edit in agent.all_edits]
        edits = [
            edit for edit in file_edits.edits if edit not in shared and not (staying and isinstance(edit, Launcher))
        ]
        edits += [] if staying else _traced(target, ledger).edits
        file_edits.agents = [name for name in file_edits.agents if name in leaving]
        add_file(plan, target, file_edits, partial(_removed, target, edits, ledger, not staying, is_other))
    return plan


def tear_down(plan: Plan, leaving: Collection[str], ledger: Ledger) -> Plan:
    """Apply a removal; returns the changed and the refused files."""

    def keep(change: Change) -> None:
        if change.old is not None and ledger.home.is_dir() and not ledger.original(change.target, change.old):
            ledger.keep(change.target, change.old)

    done = apply(plan, keep)
    gone = {change.target for change in done.changes if change.new is None}
    restored = {change.target for change in done.changes if ledger.original(change.target, change.old) == (change.new,)}
    _remove_folders(Path(folder) for target in gone for record in ledger.records(target) for folder in record.folders)
    ledger.release(leaving, restored, {refusal.target for refusal in done.refusals})
    return done


def _traced(target: Path, ledger: Ledger) -> FileEdits:
    """The edits of a file that the ledger has records of."""
    file_edits = FileEdits(target)
    for record in ledger.records(target):
        for agent in record.agents:
            for trace in record.traces:
                file_edits.add(agent, from_trace(target, trace))
    return file_edits


def _is_other(home: Path, default: Path, named: str) -> bool:
    """Whether a folder that an entry names is another memory than this one. One that is gone is none."""
    other = Path(named) if named else default
    return other.is_dir() and not (home.exists() and other.samefile(home)) and other != home


def _others(
    declared: Mapping[Path, FileEdits], leaving: Collection[str], is_other: IsOther
) -> tuple[dict[Path, str], set[str]]:
    """The files with entries of another memory, with its folder, and the agents that use it."""
    files: dict[Path, str] = {}
    agents: set[str] = set()
    for target, file_edits in declared.items():
        with contextlib.suppress(AnamnesisError):  # the plan reports it
            text = decode(read(target))
            homes = sorted(home for edit in file_edits.edits for home in edit.homes(text) if is_other(home))
            if homes and set(leaving) & set(file_edits.agents):
                files[file_edits.file] = homes[0]
                agents |= {*file_edits.agents}
    return files, agents


def _removed(
    target: Path, edits: Sequence[Edit], ledger: Ledger, restore: bool, is_other: IsOther, content: Content
) -> Content:
    """A file's content without us. `restore` is false while another agent still uses the file."""
    if content is None:
        return None
    records = ledger.records(target)
    if restore and (original := ledger.original(target, content)):
        (content,) = original
        if content is None:
            return None
    if all(isinstance(edit, Launcher) for edit in edits) and not is_launcher(content.decode("utf-8", "replace")):
        return content  # another program is there now
    text = before = decode(content)
    for edit in edits:
        text = edit.remove(text, is_other)
    made_by_us = any(edit.own for edit in edits) or bool(records and records[0].backup is None)
    is_spent = text != before and made_by_us and all(edit.is_spent(text) for edit in edits)
    return None if is_spent else text.encode()


def _remove_folders(made_by_us: Iterable[Path]) -> None:
    """Remove empty folders, the innermost first."""
    for folder in sorted(made_by_us, key=lambda path: len(path.parts), reverse=True):
        with contextlib.suppress(OSError):
            folder.rmdir()
