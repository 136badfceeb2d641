"""Finds references of notes that are gone from a working copy, and the commit that removed each.

A reference is gone if git shows that it was there when the note was last written, that a commit removed it since, and
that it is not there now. Renames of files are followed. A reference that the repository never had cannot be gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from anamnesis.dream.checkout import Checkout, Commit, Move, RemovedDeclaration
from anamnesis.dream.declarations import declared, lines_of, matches
from anamnesis.dream.references import PATH, SYMBOL, Reference

_MOST_RENAMES = 20
# The number of files, oldest first, that are read to see whether they declared something.
_MOST_FILES = 5


class NoteReferences(NamedTuple):
    """The references of a note, and the time of the note in seconds."""

    references: Sequence[Reference]
    at: float


class Loss(NamedTuple):
    """A reference that is gone, and the commit that removed it. `files` had that path, or declared it."""

    reference: Reference
    commit: Commit
    files: Sequence[str]


class NoteLosses(NamedTuple):
    """The references of a note that are gone, and the current paths of renamed files."""

    gone: list[Loss]
    renamed: dict[str, str]


def find_losses(checkout: Checkout, said: Mapping[str, NoteReferences], after: str = "") -> dict[str, NoteLosses]:
    """The lost references of each note; with `after`, only those that later commits removed."""
    commits = checkout.commits(min((each.at for each in said.values()), default=0.0), after) if said else []
    if not commits:
        return {}
    history = _History(checkout, commits, {each for one in said.values() for each in one.references})
    found = {id: history.losses(each) for id, each in said.items()}
    declarations = {loss.reference for each in found.values() for loss in each.gone if loss.reference.kind != PATH}
    present = checkout.present(declarations) if declarations else set()
    for each in found.values():
        each.gone[:] = [loss for loss in each.gone if loss.reference not in present]
    _keep_what_was_there(checkout, said, found, is_whole=not after)
    return found


def _keep_what_was_there(
    checkout: Checkout, said: Mapping[str, NoteReferences], found: Mapping[str, NoteLosses], *, is_whole: bool
) -> None:
    """Drop losses of references that were not there at the time of the note.

    A reference counts as there if the history does not reach back so far. `is_whole` if all commits since the note
    were read, so that all files are known between which a declaration may have moved.
    """
    heads = {id: checkout.at(said[id].at) for id, each in found.items() if each.gone}
    places = [(head, file) for id, head in heads.items() if head for loss in found[id].gone for file in loss.files]
    texts = checkout.texts(places)

    def was_there(loss: Loss, head: Commit | None) -> bool:
        if head is None or head.at >= loss.commit.at:
            return True
        reference = loss.reference
        held = [(file, texts[head, file]) for file in loss.files if (head, file) in texts]
        if reference.kind == PATH:
            return bool(held)
        if any(_declares(file, text, reference) for file, text in held):
            return True
        return reference.kind == SYMBOL and not is_whole and checkout.had(head, reference.name)

    for id, head in heads.items():
        found[id].gone[:] = [loss for loss in found[id].gone if was_there(loss, head)]


class _History:
    """What commits removed and renamed, the newest first."""

    def __init__(self, checkout: Checkout, commits: Sequence[Commit], wanted: Iterable[Reference]) -> None:
        self._checkout = checkout
        self._moves: dict[str, list[tuple[int, Move]]] = {}
        self._removed: dict[tuple[str, str], list[RemovedDeclaration]] = {}
        kinds = {each.kind for each in wanted}
        if PATH in kinds:
            for number, move in enumerate(checkout.moves(commits)):
                self._moves.setdefault(_name(move.old), []).append((number, move))
        if kinds - {PATH}:
            symbols = {each.name for each in wanted if each.kind == SYMBOL}
            for removed in checkout.removed(commits, symbols):
                key = removed.declaration.kind, removed.declaration.name
                self._removed.setdefault(key, []).append(removed)

    def losses(self, said: NoteReferences) -> NoteLosses:
        """The references of a note that commits removed since. Declarations may still exist elsewhere; files do not."""
        found = NoteLosses([], {})
        for reference in said.references:
            if reference.kind == PATH:
                self._follow(reference, said.at, found)
            elif removed := self._removals(reference, said.at):
                files = [*dict.fromkeys(each.file for each in removed)]
                found.gone.append(Loss(reference, removed[0].commit, files[-_MOST_FILES:]))
        return found

    def _removals(self, reference: Reference, since: float) -> list[RemovedDeclaration]:
        known = self._removed.get((reference.kind, reference.name), ())
        return [each for each in known if each.commit.at >= since and matches(reference, each.declaration)]

    def _follow(self, reference: Reference, since: float, found: NoteLosses) -> None:
        """Add the loss of a file, or its new path."""
        path, checkout = reference.name, self._checkout
        if checkout.is_at_head(path):
            return
        moves = [
            (number, move)
            for number, move in self._moves.get(_name(path), ())
            if move.commit.at >= since and f"/{move.old}".endswith(f"/{path}")
        ]
        ends = [(move.old, *self._end(number, move)) for number, move in moves]
        if there := next((place for _, _, place in ends if place), ""):
            found.renamed[path] = there
        elif ends and ends[0][1] and not checkout.is_on_disk(ends[0][0]):
            found.gone.append(Loss(reference, ends[0][1], [old for old, _, _ in ends]))

    def _end(self, number: int, move: Move) -> tuple[Commit | None, str]:
        """The commit that removed a file after all its renames, or its current path; neither if the trail is lost."""
        for _ in range(_MOST_RENAMES):
            if not move.new:
                return move.commit, ""
            if self._checkout.has(move.new):
                return None, move.new
            later = [each for each in self._moves.get(_name(move.new), ()) if each[1].old == move.new]
            number, move = max((each for each in later if each[0] < number), default=(0, None))  # type: ignore[assignment]
            if move is None:
                break
        return None, ""


def _declares(file: str, text: str, reference: Reference) -> bool:
    return any(matches(reference, each) for line in lines_of(file, text) for each in declared(line))


def _name(path: str) -> str:
    return path.rpartition("/")[2]
