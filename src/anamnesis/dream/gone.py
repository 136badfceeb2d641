"""Proposes to mark notes whose references are gone from their project's working copy, and to unmark them on return.

A record of a session describes the past, so later changes do not make it stale.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from anamnesis.dream.checkout import Checkout
from anamnesis.dream.losses import Loss, NoteLosses, NoteReferences, find_losses
from anamnesis.dream.proposal import Proposal
from anamnesis.dream.references import SYMBOL, VERSION, Reference, references
from anamnesis.errors import AnamnesisError
from anamnesis.light import lazy_pattern
from anamnesis.log import log
from anamnesis.notes import Memory
from anamnesis.notes.marks import GONE, STALE, marks_of, with_mark, with_tag
from anamnesis.store.priors import seconds_of
from anamnesis.store.projects import names_of

if TYPE_CHECKING:
    from anamnesis.dream.phases import Look

KIND = "stale"
_NOTES = 5_000
# With more names than this, all notes of the project are examined instead of looking up the names.
_MOST_NAMES = 3_000
# Renamed files that are saved for a working copy.
_MOST_RENAMED = 1_000
# The most losses that a mark lists.
_MOST_LISTED = 5
_REMOVED = lazy_pattern(r" was removed in ([0-9a-f]{7,64}) \(\d{4}-\d\d-\d\d\)")
# The confidence that a note is stale if all its references are gone, if one in its title is, and if some others are.
_ALL, _TITLE, _PART = 0.95, 0.9, 0.75
# Subtracted if only symbols are gone: a symbol may be meant as an ordinary word.
_OF_SYMBOLS = 0.05
_BACK, _BACK_ELSEWHERE = 0.95, 0.6


class CopyState(NamedTuple):
    """The saved state of a working copy: its HEAD, and the renamed files that notes refer to, with their new paths."""

    head: str
    renamed: dict[str, str]


def find_in_changed(look: Look) -> Iterator[Proposal]:
    """Examine the notes that changed, in working copies that were examined before."""
    keys = _keys(look)
    by_key: dict[str, list[Memory]] = {}
    for note in look.notes.values():
        key = keys.get(note.project)
        if key and look.state(key) and (references(note) or STALE in marks_of(note)):
            by_key.setdefault(key, []).append(note)
    for key, notes in by_key.items():
        yield from _reading(look, key, partial(_in_notes, look, key, notes))


def find_in_copies(look: Look) -> Iterator[Proposal]:
    """Examine the notes that refer to changes since the last HEAD of a working copy; the first time, all notes."""
    for key in dict.fromkeys(_keys(look).values()):
        look.stop()
        yield from _reading(look, key, partial(_in_copy, look, key))


def _keys(look: Look) -> dict[str, str]:
    """Maps the names of projects with a working copy to the key of the copy."""
    known = look.store.projects() if look.folders else []
    return {name: key for key in look.folders for name in names_of(key, known)}


def _reading(look: Look, key: str, find: Callable[[Checkout], Iterator[Proposal]]) -> Iterator[Proposal]:
    try:
        yield from find(Checkout(look.folders[key], look.stop))
    except AnamnesisError as error:
        log(look.store.root, "working copy not read", project=key, reason=error.message)


def _in_notes(look: Look, key: str, notes: Sequence[Memory], checkout: Checkout) -> Iterator[Proposal]:
    state = _state(look, key)
    yield from _judge(key, notes, checkout, state.renamed)
    _remember(look, key, state)


def _in_copy(look: Look, key: str, checkout: Checkout) -> Iterator[Proposal]:
    before = _state(look, key)
    if before.head == checkout.head:
        return
    now = CopyState(checkout.head, {**before.renamed})
    _remember(look, key, now)  # first, because if git fails from here on, it would fail again
    open = look.open(KIND)
    for ids, after in _touched(look, key, checkout, before, open):
        for start in range(0, len(ids), _NOTES):
            look.stop()
            notes = look.store.live(ids[start : start + _NOTES])
            found = [*_judge(key, notes, checkout, now.renamed, after)]
            yield from found
            holding = {proposal.key for proposal in found}
            look.withdrawn.update({_key(note) for note in notes if note.id in open} - holding)
    _remember(look, key, now)


def _touched(
    look: Look, key: str, checkout: Checkout, before: CopyState, open: set[str]
) -> Iterator[tuple[Sequence[str], str]]:
    """The notes to examine, with the commit after which to look for removals; "" for since the note was written.

    They refer to something that was removed, or are marked and refer to something that was added.
    """
    changed = checkout.changed_names(before.head) if before.head else None
    if changed is None or len(changed.removed) > _MOST_NAMES:
        yield look.store.ids_of(key), ""
        return
    removed, added = changed
    former = {old.rpartition("/")[2] for old, new in before.renamed.items() if new.rpartition("/")[2] in removed}
    projects = {*names_of(key, look.store.projects())}
    marked = [note for note in look.store.live({*look.store.tagged(GONE), *open}) if note.project in projects]
    yield _naming(look, key, former), ""
    yield _naming(look, key, removed), before.head
    yield [note.id for note in marked if _names(note) & added], before.head


def _naming(look: Look, key: str, names: set[str]) -> list[str]:
    """The notes of a project that refer to one of the names."""
    held = look.store.live(look.store.ids_of(key, sorted(names))) if names else ()
    return [note.id for note in held if _names(note) & names]


def _names(note: Memory) -> set[str]:
    return {reference.word for reference in references(note)}


def _state(look: Look, key: str) -> CopyState:
    try:
        held = json.loads(look.states.get(key) or look.state(key))
        return CopyState(str(held["head"]), dict(held["renamed"]))
    except (ValueError, TypeError, KeyError):
        return CopyState("", {})


def _remember(look: Look, key: str, state: CopyState) -> None:
    renamed = dict([*state.renamed.items()][-_MOST_RENAMED:])
    look.states[key] = json.dumps({"head": state.head, "renamed": renamed})


def _judge(
    key: str, notes: Iterable[Memory], checkout: Checkout, renamed: dict[str, str], after: str = ""
) -> Iterator[Proposal]:
    """Propose to mark or unmark notes; with `after`, only because of removals by later commits.

    Adds the new paths of files that notes refer to to `renamed`.
    """
    durable = [(note, at) for note in notes if note.type != "episodic" and (at := seconds_of(note.updated_at))]
    said = {note.id: NoteReferences(named, at) for note, at in durable if (named := references(note))}
    losses = find_losses(checkout, said, after)
    for note, at in durable:
        found = losses.get(note.id, NoteLosses([], {}))
        renamed |= found.renamed
        known = said[note.id].references if note.id in said else ()
        mark = marks_of(note).get(STALE, "")
        gone = [loss for loss in found.gone if not checkout.has(renamed.get(loss.reference.name, ""))]
        new = [loss for loss in gone if f"{loss.reference.text} was removed in" not in mark]
        if new:
            evidence = {"project": key, "head": checkout.head, **_evidence(gone, found.renamed)}
            yield replace(_marked(note, mark, new, known), evidence=evidence)
        elif mark and (proposal := _unmarked(note, at, mark, known, checkout)):
            yield proposal


def _marked(note: Memory, mark: str, losses: Sequence[Loss], known: Sequence[Reference]) -> Proposal:
    said = "; ".join(map(_removal, losses[:_MOST_LISTED]))
    after = with_tag(with_mark(note, STALE, f"{mark}; {said}" if mark else said), GONE)
    return Proposal(KIND, (note.id,), f"{said}.", _sureness(losses, known), (after,))


def _unmarked(note: Memory, at: float, mark: str, known: Sequence[Reference], checkout: Checkout) -> Proposal | None:
    """Propose to remove a mark if the removed things are back, or if the note no longer refers to them."""
    ids = _REMOVED.findall(mark)
    named = {reference for reference in known if f"{reference.text} was removed in" in mark}
    commits = [checkout.find(id) for id in ids]
    if not ids or None in commits:  # not a mark of ours, or about a commit that this copy does not have yet
        return None
    if not named:
        reason, confidence = "The note no longer names what is gone.", _BACK
    elif all(commit and commit[0].at < at for commit in commits):
        reason, confidence = "The note was changed since.", _BACK
    elif checkout.present(named) == named:
        is_after = all(commit and commit[1] for commit in commits)
        listed = ", ".join(sorted(reference.text for reference in named))
        reason, confidence = f"There again: {listed}.", _BACK if is_after else _BACK_ELSEWHERE
    else:
        return None
    after = with_mark(replace(note, tags=[tag for tag in note.tags if tag != GONE]), STALE, "")
    return Proposal(KIND, (note.id,), reason, confidence, (after,))


def _sureness(losses: Sequence[Loss], known: Sequence[Reference]) -> float:
    gone = {loss.reference for loss in losses}
    counted = [each for each in known if each.kind != VERSION or each in gone]
    if len(gone) >= len(counted):
        sure = _ALL
    elif any(each.in_title for each in gone):
        sure = _TITLE
    else:
        sure = _PART * (0.6 + 0.4 * len(gone) / len(counted))
    return sure - _OF_SYMBOLS * all(each.kind == SYMBOL for each in gone)


def _evidence(losses: Iterable[Loss], renamed: dict[str, str]) -> dict[str, object]:
    gone = [
        {"reference": loss.reference.text, "kind": loss.reference.kind, "commit": loss.commit.id, "date": _day(loss)}
        for loss in losses
    ]
    return {"gone": gone, "renamed": renamed}


def _removal(loss: Loss) -> str:
    return f"{loss.reference.text} was removed in {loss.commit.id[:10]} ({_day(loss)})"


def _day(loss: Loss) -> str:
    return datetime.fromtimestamp(loss.commit.at, UTC).date().isoformat()


def _key(note: Memory) -> str:
    return Proposal(KIND, (note.id,), "", 0.0).key
