"""Plans changes: for each file, its content now and afterwards. Reads, never writes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from anamnesis.errors import AnamnesisError
from anamnesis.onboard.edits import Edit, RefusedEdit

Content = bytes | None


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a file: its path for the agent, its target behind links, its old and new content (None: no file).

    `make` computes the new content again if the file changes before it is written.
    """

    file: Path
    target: Path
    old: Content
    new: Content
    make: Callable[[Content], Content]
    agents: tuple[str, ...]
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that is left unchanged: the reason, and the lines that its owner can add by hand."""

    file: Path
    target: Path
    agents: tuple[str, ...]
    reason: str
    by_hand: str = ""


@dataclass(slots=True)
class Plan:
    """The changes, the refused files, and those that start another memory, with its folder ("" for the default)."""

    changes: list[Change] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    others: dict[Path, str] = field(default_factory=dict)


@dataclass(slots=True)
class FileEdits:
    """All edits of one file, and the agents they are for."""

    file: Path
    agents: list[str] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    def add(self, agent: str, edit: Edit) -> None:
        """Add an edit; agents may share one."""
        if agent not in self.agents:
            self.agents.append(agent)
        if edit not in self.edits:
            self.edits.append(edit)


def by_target(edits: Iterable[tuple[str, Edit]]) -> dict[Path, FileEdits]:
    """The edits of agents, grouped by the file behind all links."""
    found: dict[Path, FileEdits] = {}
    for agent, edit in edits:
        target = Path(os.path.realpath(edit.file))
        found.setdefault(target, FileEdits(edit.file)).add(agent, edit)
    return found


def add_file(
    plan: Plan, target: Path, file_edits: FileEdits, make: Callable[[Content], Content], by_hand: str = ""
) -> None:
    """Plan one file: a change, a refusal, or nothing."""
    agents = tuple(file_edits.agents)
    try:
        old = read(target)
        new = make(old)
        if new != old:
            check_writable(file_edits.file, target)
            plan.changes.append(Change(file_edits.file, target, old, new, make, agents, tuple(file_edits.edits)))
    except AnamnesisError as error:
        plan.refusals.append(Refusal(file_edits.file, target, agents, str(error), by_hand))


def decode(content: Content) -> str:
    """The text of a file with its line ends and byte order mark."""
    try:
        return (content or b"").decode()
    except UnicodeDecodeError as error:
        raise RefusedEdit("It is not UTF-8 text") from error


def read(target: Path) -> Content:
    """The content of a file; None if there is none."""
    try:
        return target.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RefusedEdit(f"It cannot be read: {error.strerror}") from error


def check_writable(file: Path, target: Path) -> None:
    """Refuse a file that its owner has made read-only, even if we could replace it."""
    if not target.exists():
        if file.is_symlink() and not target.parent.is_dir():
            raise RefusedEdit(f"It is a link to {target}, and that folder does not exist")
        return
    if not stat.S_IMODE(target.stat().st_mode) & stat.S_IWUSR or not os.access(target, os.W_OK):
        raise RefusedEdit("It is read-only" if file == target else f"It is a link to {target}, which is read-only")


def diff(change: Change) -> str:
    """The unified diff of a change, redacted: lines around ours may contain another server's key."""
    import difflib

    from anamnesis.notes.redaction import redact

    old = (change.old or b"").decode("utf-8", "replace").splitlines()
    new = (change.new or b"").decode("utf-8", "replace").splitlines()
    before = str(change.file) if change.old is not None else "/dev/null"
    after = str(change.file) if change.new is not None else "/dev/null"
    lines = difflib.unified_diff(old, new, before, after, lineterm="")
    return "".join(f"{line if line.startswith(('---', '+++', '@@')) else redact(line)}\n" for line in lines)
