"""Applies planned changes file by file, each with a backup and a check afterwards. A failure stops no other file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from anamnesis.disk import create_beside, fill, put_in_place, remove, sync_folder
from anamnesis.errors import AnamnesisError
from anamnesis.onboard.edits import Launcher, RefusedEdit
from anamnesis.onboard.plan import Change, Plan, Refusal, check_writable, read

# Retries for a file that another program keeps writing, as Claude Code does with its own.
_ATTEMPTS = 5


def apply(plan: Plan, keep: Callable[[Change], None]) -> Plan:
    """Make the changes, calling `keep` before each; returns the changed and the refused files."""
    done = Plan(refusals=list(plan.refusals))
    for change in plan.changes:
        try:
            made = _make(change, keep)
        except AnamnesisError as error:
            done.refusals.append(Refusal(change.file, change.target, change.agents, str(error)))
        except OSError as error:
            reason = f"It cannot be written: {error.strerror}"
            done.refusals.append(Refusal(change.file, change.target, change.agents, reason))
        else:
            done.changes += [made] if made else []
    return done


def _make(change: Change, keep: Callable[[Change], None]) -> Change | None:
    """Bring one file to its planned content; None if it already has it."""
    for _ in range(_ATTEMPTS):
        if (now := read(change.target)) != change.old:
            change = replace(change, old=now, new=change.make(now))
        if change.new == change.old:
            return None
        check_writable(change.file, change.target)
        keep(change)
        if _replace(change) and read(change.target) == change.new:
            return change
    raise RefusedEdit("Another program keeps writing it", f"Close {' and '.join(change.agents)} and try again.")


def _replace(change: Change) -> bool:
    """Put the new content in place, unless the file has changed since it was read."""
    target = change.target
    if change.new is None:
        target.unlink()
        return True
    target.parent.mkdir(parents=True, exist_ok=True)
    is_program = any(isinstance(edit, Launcher) for edit in change.edits)
    temporary = _prepare(target, change.new, 0o755 if is_program else None)
    try:
        if read(target) != change.old:
            return False
        put_in_place(temporary, target)
    finally:
        remove(temporary)
    sync_folder(target.parent)
    return True


def _prepare(target: Path, content: bytes, mode: int | None) -> str:
    """A finished temporary file beside the target, with the target's mode and owner, or `mode` for a new file."""
    descriptor, temporary = create_beside(target, mode)
    try:
        _copy_owner(descriptor, target)
    except BaseException:
        os.close(descriptor)
        remove(temporary)
        raise
    fill(descriptor, temporary, content)
    return temporary


def _copy_owner(descriptor: int, target: Path) -> None:
    if not hasattr(os, "fchown") or not target.exists():  # not on Windows
        return
    before, made = target.stat(), os.fstat(descriptor)
    try:
        if (before.st_uid, before.st_gid) != (made.st_uid, made.st_gid):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    except PermissionError:
        if before.st_uid != made.st_uid:
            raise RefusedEdit("It belongs to another user") from None
    os.fchmod(descriptor, before.st_mode & 0o777)
