"""A person's changes to notes, for every surface: the edited text of a note, and its tags."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from anamnesis.errors import AnamnesisError, InvalidArgument, InvalidNote, NoteConflict
from anamnesis.notes import Memory, parse, render
from anamnesis.notes.acceptance import ACCEPTED, text_of
from anamnesis.notes.authorship import as_edited
from anamnesis.notes.line_merge import MINE, THEIRS, has_marks, merge_marked
from anamnesis.notes.merge import merge
from anamnesis.plural import listed
from anamnesis.store import CHANGEABLE, MemoryStore
from anamnesis.store.ids import changed_at
from anamnesis.store.lookup import named
from anamnesis.store.recording import record

# Returns the changed fields of a note.
Change = Callable[[Memory], dict[str, Any]]
# The fields of which a merge has only one version, and that users edit.
_SINGLE = ("type", "title", "project", "scope", "confidence")
_DECIDE = f"Keep what is right of the lines between `{MINE}` and `{THEIRS}`, and remove the marks."


class EditConflict(NoteConflict):
    """The same lines of a note were changed while it was edited: `text` has both versions, to be edited again."""

    def __init__(self, now: Memory, text: str) -> None:
        super().__init__(f"The note {now.id} has changed since you opened it, in the same lines.", _DECIDE)
        self.now = now
        self.text = text


class SavedEdit(NamedTuple):
    """A saved note; if it also has changes that were saved while it was edited, a sentence about both."""

    note: Memory
    merged: str


def save_text(store: MemoryStore, before: Memory, text: str) -> SavedEdit:
    """Save the whole edited text of the note `before`, merged with the changes since; raises if both changed a line."""
    typed = parse_edited(before.id, text)
    typed = replace(typed, supersedes=[_full_id(store, before, each) for each in typed.superseded])
    now = store.get(before.id)
    both = merged_edit(before, typed, now)
    if _is_undecided(now, both):
        raise EditConflict(now, render(both))
    after = as_edited(now, both)
    note = store.update(now.id, expected=now, **{name: getattr(after, name) for name in CHANGEABLE})
    record_edit(store, now, note)
    _accept(store, now, note)
    return SavedEdit(note, _merged(before, typed, now))


def apply_change(store: MemoryStore, note: Memory, changes: dict[str, Any], *, edits: bool = True) -> Memory:
    """Change fields of a note; raises if it has changed since. `edits`: the change makes it the caller's own note."""
    if edits:
        changes = {**changes, "extra": as_edited(note, replace(note, **changes)).extra}
    changed = store.update(note.id, expected=note, **changes)
    if edits:
        record_edit(store, note, changed)
    is_typed = edits and (changed.title, changed.body) != (note.title, note.body)
    if is_typed or (text_of(changed) != text_of(note) and store.accepted.of([note])):
        _accept(store, note, changed)
    return changed


def _accept(store: MemoryStore, before: Memory, note: Memory) -> None:
    """Accept the text that a person has written into a note of others; the user's own memory elsewhere stays that."""
    store.decide([note], store.accepted.of([before]).get(note.id, ACCEPTED))


@contextmanager
def saved_on_error(text: str) -> Iterator[None]:
    """If the block fails, save the typed text to a temporary file, and name that file in the error."""
    try:
        yield
    except AnamnesisError as error:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".md", delete=False) as file:
            file.write(text)
        error.hint = f"{error.hint} Your text is in {file.name}.".strip()
        raise


def record_edit(store: MemoryStore, before: Memory, note: Memory) -> None:
    """Record that a person has changed a note, and which notes it newly supersedes."""
    if note != before:
        record(store.root, "edited", [note.id])
        record(store.root, "superseded", [id for id in note.superseded if id not in before.superseded])


def _full_id(store: MemoryStore, before: Memory, given: str) -> str:
    """The id of a note that an edit supersedes, given by a part of it; raises if it names none or several."""
    if given in before.superseded:  # its note may have been removed since
        return given
    found = [each.id for each in named(store, given) if given.upper() in each.id.upper()]
    if len(found) == 1:
        return found[0]
    what = f"several notes: {', '.join(found)}" if found else "no note"
    raise InvalidNote(f"supersedes {given!r} names {what}.", "`anamnesis list` shows the ids.", field="supersedes")


def parse_edited(note_id: str, text: str) -> Memory:
    """Parse an edited text; its id must not change."""
    after = parse(text)
    if after.id != note_id:
        raise InvalidNote(f"The id was changed from {note_id} to {after.id}.", "Restore the id: it never changes.")
    return after


def merged_edit(base: Memory, mine: Memory, theirs: Memory) -> Memory:
    """An edit of `base` and the current note in one; where both changed the same lines, both versions between marks.

    Of other fields that both changed, it has the edit's. Raises if the edit has the marks of an earlier merge.
    """
    if _is_undecided(base, mine):
        raise InvalidNote("The text still has two versions of some lines, between marks.", _DECIDE, field="body")
    if theirs == base:
        return mine
    title = theirs.title if mine.title == base.title else mine.title
    newer = replace(mine, title=title, updated_at=changed_at(base, theirs))
    merged = merge(base, newer, replace(theirs, title=title)).note
    return replace(merged, body=merge_marked(base.body, mine.body, theirs.body))


def _merged(base: Memory, mine: Memory, theirs: Memory) -> str:
    """What became of the changes of others, for the user; "" if there are none."""
    if all(getattr(base, name) == getattr(theirs, name) for name in (*_SINGLE, "body", "tags", "supersedes", "extra")):
        return ""
    own = listed(chosen(base, mine, theirs))
    said = "The note has changed since you opened it: it has your changes and the others."
    return f"{said} Of its {own}, it has yours; its history has the others." if own else said


def chosen(base: Memory, mine: Memory, theirs: Memory) -> list[str]:
    """The fields that both sides changed, and of which a merge has those of `mine`."""
    changed = [name for name in _SINGLE if getattr(base, name) not in (getattr(mine, name), getattr(theirs, name))]
    return [name for name in changed if getattr(mine, name) != getattr(theirs, name)]


def _is_undecided(before: Memory, after: Memory) -> bool:
    return has_marks(after.body) and not has_marks(before.body)


def with_tags(tags: Iterable[str]) -> Change:
    """Add tags to a note. Tags that differ only in case are the same."""
    new: dict[str, str] = {}
    for tag in _checked(tags):
        new.setdefault(tag.lower(), tag)

    def change(note: Memory) -> dict[str, Any]:
        known = {tag.lower() for tag in note.tags}
        return {"tags": [*note.tags, *(tag for lower, tag in new.items() if lower not in known)]}

    return change


def without_tags(tags: Iterable[str]) -> Change:
    """Remove tags from a note, ignoring case."""
    gone = {tag.lower() for tag in _checked(tags)}
    return lambda note: {"tags": [tag for tag in note.tags if tag.lower() not in gone]}


def _checked(tags: Iterable[str]) -> list[str]:
    bare = [tag.strip().removeprefix("#").strip() for tag in tags]
    if not all(bare):
        raise InvalidArgument("A tag is empty.", "Give a word, with or without #.")
    return bare
