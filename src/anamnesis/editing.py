"""A person's changes to notes, as every surface makes them: the edited text of a note, and its tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from anamnesis.errors import InvalidArgument, InvalidNote
from anamnesis.notes import Memory, parse
from anamnesis.notes.authorship import as_edited
from anamnesis.notes.foreign import as_reviewed
from anamnesis.notes.merge import Merged, merge
from anamnesis.store import CHANGEABLE, MemoryStore
from anamnesis.store.ids import utcnow
from anamnesis.store.recording import record

# The fields of a note that change.
Change = Callable[[Memory], dict[str, Any]]


def save_text(store: MemoryStore, before: Memory, text: str) -> Memory:
    """Save the text of a note, front matter and all, that was edited from `before`; refuses if that has changed."""
    after = as_edited(before, as_reviewed(parse_edited(before.id, text)))
    note = store.update(before.id, expected=before, **{name: getattr(after, name) for name in CHANGEABLE})
    record_edit(store, before, note)
    store.shared.accept([note.id])
    return note


def apply_change(store: MemoryStore, note: Memory, changes: dict[str, Any], *, edits: bool = True) -> Memory:
    """Change fields of a note; refuses if it has changed. What `edits` a note makes it the person's who calls this."""
    if edits:
        changes = {**changes, "extra": as_edited(note, replace(note, **changes)).extra}
    changed = store.update(note.id, expected=note, **changes)
    if edits:
        record_edit(store, note, changed)
    return changed


def record_edit(store: MemoryStore, before: Memory, note: Memory) -> None:
    """Record that a person has changed a note, and which notes it supersedes since."""
    if note != before:
        record(store.root, "edited", [note.id])
        record(store.root, "superseded", [id for id in note.superseded if id not in before.superseded])


def parse_edited(note_id: str, text: str) -> Memory:
    """The note of an edited text; its id stays."""
    after = parse(text)
    if after.id != note_id:
        raise InvalidNote(f"The id was changed from {note_id} to {after.id}.", "An id stays for good.")
    return after


def merged_edit(base: Memory, mine: Memory, theirs: Memory) -> Merged:
    """Merge an edit of `base` with the current note; the edit counts as the newer version."""
    return merge(base, replace(mine, updated_at=utcnow()), theirs)


def with_tags(tags: Iterable[str]) -> Change:
    """Add tags to a note, except those that it has in any case."""
    new: dict[str, str] = {}
    for tag in _checked(tags):
        new.setdefault(tag.lower(), tag)

    def change(note: Memory) -> dict[str, Any]:
        known = {tag.lower() for tag in note.tags}
        return {"tags": [*note.tags, *(tag for lower, tag in new.items() if lower not in known)]}

    return change


def without_tags(tags: Iterable[str]) -> Change:
    """Remove tags from a note, in any case."""
    gone = {tag.lower() for tag in _checked(tags)}
    return lambda note: {"tags": [tag for tag in note.tags if tag.lower() not in gone]}


def _checked(tags: Iterable[str]) -> list[str]:
    bare = [tag.strip().removeprefix("#").strip() for tag in tags]
    if not all(bare):
        raise InvalidArgument("A tag is empty.", "Give a word, with or without #.")
    return bare
