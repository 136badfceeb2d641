"""Merges the changes of two sides: files are matched by the note they hold, and notes are merged by field.

Pure. The result does not depend on which side is called ours, so that all machines get the same files.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from anamnesis.errors import InvalidNote
from anamnesis.notes import Memory, check_readable, decode, named_ids, parse, render
from anamnesis.notes.acceptance import read_decisions, written
from anamnesis.notes.line_merge import merge_lines
from anamnesis.notes.marks import HELD, marks_of, with_mark
from anamnesis.notes.merge import merge
from anamnesis.notes.spaces import OWN, is_shared, space_of, with_space
from anamnesis.store.files import ACCEPTED

_TAKEN_OUT = "It was taken out of a team's space on one machine and changed on another."


@dataclass(frozen=True, slots=True)
class File:
    """A file of one side: its content, and its blob if git has one."""

    path: str
    data: bytes
    blob: object = None

    @property
    def note_id(self) -> str:
        """The id in the front matter, read without parsing it; "" if there is none."""
        return next(iter(named_ids(self.data)), "") if self.path.endswith(".md") else ""

    @property
    def memory(self) -> Memory | None:
        """The note in the file; None if it holds none."""
        try:
            memory = parse(decode(self.data), scope="portable")
            check_readable(memory)
        except InvalidNote:
            return None
        return memory


@dataclass(frozen=True, slots=True)
class Side:
    """The files that one side changed, before and after."""

    before: list[File]
    after: list[File]


@dataclass(slots=True)
class Integration:
    """The result for our files: those to remove, those to write, and whether both sides changed the same text.

    `decided` has a sentence for each other field that both sides changed.
    """

    folders: set[str] = field(default_factory=set)  # paths that no file can have
    removed: set[str] = field(default_factory=set)
    files: dict[str, File] = field(default_factory=dict)
    conflicted: bool = False
    decided: list[str] = field(default_factory=list)

    def put(self, file: File) -> None:
        """Add a file; under another name if its path is taken."""
        path = file.path
        if path in self.folders or self.files.get(path, file).data != file.data:
            path = _beside(path, "", file.data)
        self.files[path] = File(path, file.data, file.blob)


@dataclass(slots=True)
class _Change:
    """The change of one note, or of one file that holds none, by one side."""

    before: File | None = None
    after: File | None = None


_UNCHANGED = _Change()


def integrate(ours: Side, theirs: Side, purged: Collection[str] = ()) -> Integration:
    """Merge both sides' changes into our files. A note that was purged here does not come back."""
    ambiguous = _ambiguous(ours, theirs)
    mine, other = _by_note(ours, ambiguous), _by_note(theirs, ambiguous)
    after = [*ours.after, *theirs.after]
    result = Integration(folders={str(folder) for file in after for folder in PurePosixPath(file.path).parents})
    # First what only one side changed: it keeps its path.
    for key in sorted({*mine, *other}, key=lambda key: (key in mine and key in other, key)):
        one, two = mine.get(key, _UNCHANGED), other.get(key, _UNCHANGED)
        result.removed |= {file.path for file in (one.before, one.after, two.before, two.after) if file}
        if purged and two.after and two.after.note_id in purged and _is_gone(one, two):
            continue
        if _UNCHANGED in (one, two):
            _put_all(result, [one.after or two.after])
        else:
            _put_all(result, _merged(result, one.before or two.before, one.after, two.after))
    result.removed -= result.files.keys()
    return result


def _is_gone(ours: _Change, theirs: _Change) -> bool:
    """Whether they have a file of a note and we do not: we removed it, or they added it."""
    return ours.after is None and (ours.before is not None or theirs.before is None)


def _put_all(result: Integration, files: Iterable[File | None]) -> None:
    for file in files:
        if file:
            result.put(file)


def _merged(result: Integration, base: File | None, one: File | None, two: File | None) -> list[File | None]:
    """Merge both sides' versions of a note. A change wins over a removal, but brings no note back to a team."""
    if one is None or two is None:
        left = one or two
        if left and (note := left.memory) and is_shared(space_of(note)):
            # It may be another member's, as only an exchange knows, so it waits for a review.
            note = with_mark(with_space(note, OWN), HELD, marks_of(note).get(HELD) or _TAKEN_OUT)
            left = File(left.path, render(note).encode("utf-8"))
        return [left]
    if (one.path, one.data) == (two.path, two.data):
        return [one]
    before = base.memory if base else None
    first, second = one.memory, two.memory
    if first and second and first.id == second.id:
        merged = merge(before if before and before.id == first.id else None, first, second)
        path = _path(merged.note, base, (one, first), (two, second))
        files = [_as_file(path, merged.note, ((one, first), (two, second)))]
        if merged.other:
            aside = PurePosixPath(path).with_name(f"{merged.other.id}.md")
            files.append(File(str(aside), render(merged.other).encode("utf-8")))
        if all(file.memory for file in files):  # a foreign line may refer to a line of ours (a YAML alias)
            result.conflicted |= len(files) > 1
            result.decided += merged.decided
            return [*files]
    return _merged_texts(result, base, one, two)


def _path(note: Memory, base: File | None, *versions: tuple[File, Memory]) -> str:
    """The path of the merged note: that of the side that moved it."""
    fitting = [file.path for file, memory in versions if memory.type == note.type] or [versions[0][0].path]
    moved = [path for path in fitting if not base or path != base.path]
    return min(moved or fitting)


def _as_file(path: str, note: Memory, versions: Iterable[tuple[File, Memory]]) -> File:
    """A merged note as a file; if it equals one side's note, with the exact text of that side."""
    same = [file for file, memory in versions if memory == note]
    if same:
        chosen = min(same, key=lambda file: file.data)
        return File(path, chosen.data, chosen.blob)
    return File(path, render(note).encode("utf-8"))


def _merged_texts(result: Integration, base: File | None, one: File, two: File) -> list[File | None]:
    """Merge files that do not hold the same note by lines; or keep both. The user's decisions are united."""
    if one.path == two.path == ACCEPTED:
        decisions = read_decisions(*(file.data.decode("utf-8", "replace") for file in (one, two)))
        return [File(ACCEPTED, written(decisions).encode("utf-8"))]
    yielding, prevailing = sorted((one, two), key=lambda file: (file.memory is not None, file.data))
    path = min(one.path, two.path)
    text = None if prevailing.memory else _merged_text(base, yielding, prevailing)
    if text is not None:
        return [File(path, text)]
    result.conflicted = True
    aside = _beside(path, ".conflict", yielding.data)
    return [File(path, prevailing.data, prevailing.blob), File(aside, yielding.data, yielding.blob)]


def _beside(path: str, word: str, data: bytes) -> str:
    """Another name for a file, unique and the same on every machine: it has a digest of the content."""
    digest = hashlib.blake2b(data, digest_size=4).hexdigest()
    return str(PurePosixPath(path).with_stem(f"{PurePosixPath(path).stem}{word}-{digest}"))


def _merged_text(base: File | None, yielding: File, prevailing: File) -> bytes | None:
    """Merge both sides' changes of a text; None if they overlap or it is no text."""
    if yielding.data == prevailing.data:
        return prevailing.data
    try:
        before = base.data.decode("utf-8") if base else None
        text, overlaps = merge_lines(before, yielding.data.decode("utf-8"), prevailing.data.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    return None if overlaps else text.encode("utf-8")


def _by_note(side: Side, ambiguous: set[str]) -> dict[str, _Change]:
    """The changes of a side by note; by path where a file holds none or shares its id with another file."""
    changes: dict[str, _Change] = {}
    for file in side.before:
        changes.setdefault(_key(file, ambiguous), _Change()).before = file
    for file in side.after:
        changes.setdefault(_key(file, ambiguous), _Change()).after = file
    return changes


def _key(file: File, ambiguous: set[str]) -> str:
    plain = not file.note_id or file.note_id in ambiguous
    return f"path:{file.path}" if plain else f"note:{file.note_id}"


def _ambiguous(ours: Side, theirs: Side) -> set[str]:
    """Ids that several files of one tree have."""
    before = {(file.note_id, file.path) for file in (*ours.before, *theirs.before)}
    groups = [[note_id for note_id, _ in before]]
    for side in (ours, theirs):
        touched = {file.path for file in side.before}
        untouched = [note_id for note_id, path in before if path not in touched]
        groups.append([*(file.note_id for file in side.after), *untouched])
    return {note_id for group in groups for note_id, count in Counter(group).items() if count > 1}
