"""Proposes to move notes to the key of their project: notes under another name of it, and global notes about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from anamnesis.dream.checkout import Checkout
from anamnesis.dream.proposal import Proposal
from anamnesis.dream.references import PATH, references
from anamnesis.errors import AnamnesisError
from anamnesis.log import log
from anamnesis.notes import Memory
from anamnesis.project import GLOBAL
from anamnesis.store.projects import names_of, one_each

if TYPE_CHECKING:
    from anamnesis.dream.phases import Look

KIND = "place"
# Proposals per project and cycle: a person who rejects these should not get a thousand more.
_MOST = 20
_NOTES = 500
_MOST_GLOBAL = 1_000
# Engram's clients only know the short name. The author of another note may have had a reason for its name, and a folder
# may have become the working copy of another project.
_FROM_ENGRAM, _SHORT_NAME, _FORMER_KEY = 0.85, 0.7, 0.6
_NAMES_KEY, _NAMES_PATHS = 0.6, 0.5


def misplaced(look: Look, projects: Iterable[str]) -> Iterator[Proposal]:
    """Propose to move notes of the projects that changed to the project's key, and global notes to theirs."""
    known, changed = look.store.projects(), {*projects}
    for name, key in sorted(other_names(known, changed, look.renamed).items()):
        look.stop()
        notes = (note for note in _read(look, look.store.ids_of(name)) if note.project == name)
        yield from islice((_named_otherwise(note, key, name in look.renamed) for note in notes), _MOST)
    if GLOBAL in changed:
        newest = sorted(look.store.ids_of(GLOBAL), reverse=True)[:_MOST_GLOBAL]
        yield from islice(_about_one(look, [*_read(look, newest)], known), _MOST)


def other_names(known: Sequence[str], changed: set[str], renamed: Mapping[str, str]) -> dict[str, str]:
    """Maps other names of projects that changed to the key: short names of a single key, and former keys."""
    found = {
        old: new
        for old, new in renamed.items()
        if old in known and new in known and {old, new} & changed and "/" in new
    }
    for project in changed - {GLOBAL}:
        names = names_of(project, known)
        keys = [name for name in one_each(names) if "/" in name]
        if len(keys) == 1:
            found |= {name: keys[0] for name in names if "/" not in name}
    return found


def _named_otherwise(note: Memory, key: str, is_former: bool) -> Proposal:
    if is_former:
        return _moved(note, key, f"The working copy of {note.project} now belongs to {key}.", _FORMER_KEY)
    sure = _FROM_ENGRAM if note.engram else _SHORT_NAME
    return _moved(note, key, f"{note.project} is a short name of {key}.", sure)


def _about_one(look: Look, notes: Sequence[Memory], known: Sequence[str]) -> Iterator[Proposal]:
    """Propose a project for global notes that name its key, or files that no other project has."""
    keys = [key for key in one_each(known) if "/" in key]
    checkouts: dict[str, Checkout] | None = None
    for note in notes:
        text = f"{note.title}\n{note.body}".lower()
        named = [key for key in keys if key.lower() in text]
        if len(named) == 1:
            yield _moved(note, named[0], f"A global note names only {named[0]}.", _NAMES_KEY)
        elif not named and (
            paths := [each.name for each in references(note) if each.kind == PATH and "/" in each.name]
        ):
            checkouts = _checkouts(look) if checkouts is None else checkouts
            having = [key for key, checkout in checkouts.items() if any(map(checkout.is_at_head, paths))]
            if len(having) == 1 and all(map(checkouts[having[0]].is_at_head, paths)):
                yield _moved(note, having[0], f"Only {having[0]} has {', '.join(paths[:3])}.", _NAMES_PATHS)


def _checkouts(look: Look) -> dict[str, Checkout]:
    """The working copies whose files can be listed."""
    found = {}
    for key, folder in look.folders.items():
        look.stop()
        try:
            checkout = Checkout(folder, look.stop)
            if checkout.files:
                found[key] = checkout
        except AnamnesisError as error:
            log(look.store.root, "working copy not read", project=key, reason=error.message)
    return found


def _moved(note: Memory, key: str, reason: str, sure: float) -> Proposal:
    return Proposal(KIND, (note.id,), reason, sure, (replace(note, project=key),), {"from": note.project, "to": key})


def _read(look: Look, ids: Sequence[str]) -> Iterator[Memory]:
    for start in range(0, len(ids), _NOTES):
        look.stop()
        yield from look.store.live(ids[start : start + _NOTES])
