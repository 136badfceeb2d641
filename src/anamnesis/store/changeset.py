"""Several notes written as one change that can be undone: dreams/ID.json has the text of each file before and after.

The record is written first, as pending.json. If a holder of the store's lock finds that file, a change or an undo was
killed. `recover` then rolls it back or completes it: when a store is opened, and before the next change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from anamnesis.disk import write_atomically
from anamnesis.errors import AnamnesisError, InvalidArgument, NoteConflict
from anamnesis.notes import Memory, parse, render
from anamnesis.notes.record import without_ticking
from anamnesis.store.files import TREES, NoteFile, telling
from anamnesis.store.ids import utcnow
from anamnesis.store.placing import readable, without_secrets
from anamnesis.store.store import DREAMS, MemoryStore
from anamnesis.store.store import PENDING as _PENDING

FOLDER = DREAMS
# The suffix that an unreadable pending record gets.
_DAMAGED = ".damaged"
# Records beyond this many are removed, the oldest first; their changes stay, and can no longer be undone.
_MOST_RECORDS = 500
# The states of a change. An interrupted one was killed and then rolled back.
_BEGUN, DONE, UNDONE, INTERRUPTED = "begun", "done", "undone", "interrupted"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A note's file before and after a change: its text, None where there was none."""

    note: str
    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Changeset:
    """A change of several notes: its reason, the files, and other `facts` that its author records."""

    id: str
    kind: str
    reason: str
    at: str
    state: str
    files: tuple[ChangedFile, ...]
    facts: Mapping[str, Any]


class UndoResult(NamedTuple):
    """The notes that were restored to their state before a change, and those kept because they have changed since."""

    restored: list[str]
    kept: list[str]


def apply(
    store: MemoryStore,
    after: Sequence[Memory],
    *,
    kind: str,
    reason: str,
    facts: Mapping[str, Any] | None = None,
    ready: Callable[[], object] = bool,
    expected: Mapping[str, str] | None = None,
) -> Changeset:
    """Write notes, new ones and changed ones, as one change: all of them, or none if anything fails.

    The notes are written as given, with their times. Nothing is written if a file does not have its `expected` hash (by
    note id; "" for no file), because the note has changed since the change was derived from it. New notes that
    supersede others are written before those are hidden; `ready` is called in between, so that a search finds the new
    ones first.
    """
    with store._catalogue.alone():
        recover(store)
        notes = {note.id: without_secrets(note) for note in after}
        former = store._catalogue.known({**notes, **(expected or {})})
        _refuse_if_changed(store, former, expected or {})
        paths = {id: file.path for id, file in former.items() if readable(file)}
        files = tuple(
            ChangedFile(id, paths.get(id, ""), _text(store, paths.get(id)), render(note)) for id, note in notes.items()
        )
        change = Changeset(_new_id(), kind, reason, utcnow(), _BEGUN, files, facts or {})
        _write(store, _PENDING, change)
        try:
            _put(store, notes, former, ready)
            return _finish(store, replace(change, state=DONE))
        except BaseException:
            _restore(store, change)
            _place(store, _PENDING).unlink(missing_ok=True)
            _place(store, f"{change.id}.json").unlink(missing_ok=True)
            raise


def _refuse_if_changed(store: MemoryStore, found: Mapping[str, NoteFile], expected: Mapping[str, str]) -> None:
    changed = [id for id, hash in expected.items() if (found[id].hash.hex() if id in found else "") != hash]
    if changed:
        store.files(changed)  # indexes an editor's changes, so that the next attempt sees them
        raise NoteConflict(f"The note {changed[0]} has changed since.", "The next dream looks at it again.")


def _put(
    store: MemoryStore, notes: Mapping[str, Memory], former: Mapping[str, NoteFile], ready: Callable[[], object]
) -> None:
    hiding = [replace(note, supersedes="") for id, note in notes.items() if note.supersedes and id not in former]
    if hiding:
        saved = store.put_whole(hiding, {}, follower="").files
        former = {**former, **{file.memory.id: file for file in saved if file.memory}}
        ready()
    store.put_whole(notes.values(), former, follower="")


def undo(store: MemoryStore, change_id: str) -> UndoResult:
    """Restore each file of a change byte for byte; a note that was changed since stays as it is."""
    with store._catalogue.alone():
        recovered = recover(store)
        change = find(store, change_id)
        if recovered and recovered.id == change.id and change.state == UNDONE:
            return _restore(store, change)  # `recover` has just completed an earlier undo
        if change.state != DONE:
            raise InvalidArgument(f"The change {change.id} is {change.state} already.", "There is nothing to undo.")
        os.replace(_place(store, f"{change.id}.json"), _place(store, _PENDING))
        outcome = _restore(store, change)
        _finish(store, replace(change, state=UNDONE))
        return outcome


def recover(store: MemoryStore) -> Changeset | None:
    """Roll back a change that was killed, or complete an undo that was killed; returns its record.

    An unreadable record is renamed; `unreadable` lists it.
    """
    with store._catalogue.alone():
        if not is_pending(store):
            return None
        pending = _place(store, _PENDING)
        change = _read(pending)
        if change is None:
            with telling("write", pending):
                os.replace(pending, pending.with_name(f"{_new_id()}{_DAMAGED}"))
            return None
        _restore(store, change, is_partial=True)
        return _finish(store, replace(change, state=INTERRUPTED if change.state == _BEGUN else UNDONE))


def is_pending(store: MemoryStore) -> bool:
    """Whether a change is being made, or was killed."""
    return _place(store, _PENDING).exists()


def unreadable(store: MemoryStore) -> list[Path]:
    """The records that cannot be read; their changes stay, and cannot be undone."""
    folder = store.root / FOLDER
    damaged = sorted(folder.glob(f"*{_DAMAGED}")) if folder.is_dir() else []
    return [*(path for path in _records(store) if _read(path) is None), *damaged]


def changes(store: MemoryStore) -> Iterator[Changeset]:
    """The changes on record, the newest first."""
    for path in reversed(_records(store)):
        if change := _read(path):
            yield change


def find(store: MemoryStore, change_id: str) -> Changeset:
    """The change with this id, or the only one whose id begins or ends with it."""
    paths = [path for path in _records(store) if path.stem.startswith(change_id) or path.stem.endswith(change_id)]
    exact = [path for path in paths if path.stem == change_id]
    path = (exact or paths)[0] if exact or (len(paths) == 1 and change_id) else None
    if path is None:
        reason = "Several changes have" if len(paths) > 1 and change_id else "No change has"
        raise InvalidArgument(f"{reason} the id {change_id!r}.", "`anamnesis dream log` shows the ids.")
    if (found := _read(path)) is None:
        reason = f"The record {path.relative_to(store.root)} cannot be read, so the change cannot be shown or undone."
        raise InvalidArgument(reason, "Restore it from a backup, or remove it.")
    return found


def forget(store: MemoryStore, ids: Iterable[str]) -> None:
    """Remove purged notes from the records; a change that had one keeps only its id, kind, time and other files."""
    purged = {*ids}
    if not purged or not (store.root / FOLDER).is_dir():
        return
    recover(store)
    for path in [*_records(store), *(store.root / FOLDER).glob(f"*{_DAMAGED}")]:
        with telling("read", path):
            text = path.read_bytes()
        if not any(id.encode() in text for id in purged):
            continue
        path.with_suffix(".md").unlink(missing_ok=True)
        if change := _read(path):
            files = tuple(file for file in change.files if file.note not in purged)
            _write(store, path.name, replace(change, reason="A note of this change was purged.", files=files, facts={}))
        else:
            path.unlink()


def _restore(store: MemoryStore, change: Changeset, *, is_partial: bool = False) -> UndoResult:
    """Give the files of a change their text from before, unless they have changed since.

    A note that the change created is removed after the notes that it superseded are shown again.
    """
    is_restored: dict[str, bool] = {}
    found = store._catalogue.known([file.note for file in change.files])
    for file in sorted(change.files, key=lambda file: not file.path):
        here = found.get(file.note)
        now = _text(store, here and here.path)
        is_moved = bool(here and file.path and file.path != here.path)
        is_before = now == file.before
        if is_before and not (is_moved and is_partial):
            is_restored[file.note] = True
        elif (
            here is None
            or now is None
            or not (is_before or _is_same(now, file.after, is_partial=is_partial))
            or (is_moved and store._files.exists(file.path))  # another note has its path
        ):
            is_restored[file.note] = False
        else:
            is_restored[file.note] = _put_back(store, file, here)
    store.refresh_files([path for file in change.files for path in _paths(file, found.get(file.note))])
    notes = [file.note for file in change.files]
    return UndoResult([id for id in notes if is_restored[id]], [id for id in notes if not is_restored[id]])


def _paths(file: ChangedFile, found: NoteFile | None) -> set[str]:
    return {path for path in (file.path, found and found.path) if path}


def _put_back(store: MemoryStore, file: ChangedFile, found: NoteFile) -> bool:
    """Restore a file's former text, or remove it if there was none; False if it has changed since it was read."""
    seen: tuple[int, int] | None = (found.size, found.mtime_ns)
    if file.path and file.before is not None:
        if found.path != file.path:
            store._files.move(found.path, file.path)
        return store._files.replace(file.path, file.before.encode(), seen) is not None
    if found.memory and found.memory.supersedes:
        shown = render(replace(found.memory, supersedes=""))
        seen = store._files.replace(found.path, shown.encode(), seen)
        store.refresh_files([found.path])
    return seen is not None and store._files.remove_unchanged(found.path, seen)


def _text(store: MemoryStore, path: str | None) -> str | None:
    """The text of a note's file; encoding it gives the same bytes, because only a UTF-8 file holds a note."""
    try:
        return (store.root / path).read_bytes().decode("utf-8", "replace") if path else None
    except FileNotFoundError:
        return None


def _is_same(now: str, after: str | None, *, is_partial: bool) -> bool:
    """Whether a text is the one that was written, apart from Engram's counters.

    In a change that was killed (`is_partial`), the notes may not have superseded others yet.
    """
    if now == after or after is None:
        return now == after
    try:
        notes = [parse(text) for text in (now, after)]
    except AnamnesisError:
        return False
    one, other = (
        replace(note, engram=without_ticking(note.engram), supersedes="" if is_partial else note.supersedes)
        for note in notes
    )
    return one == other


def _finish(store: MemoryStore, change: Changeset) -> Changeset:
    """Write the record of a completed change, and remove the pending one."""
    _write(store, f"{change.id}.json", change)
    _place(store, _PENDING).unlink(missing_ok=True)
    for path in _records(store)[:-_MOST_RECORDS]:
        path.unlink(missing_ok=True)
        path.with_suffix(".md").unlink(missing_ok=True)
    return change


def _new_id() -> str:
    """An id that sorts by time, also within a second."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{os.urandom(2).hex()}"


def _place(store: MemoryStore, name: str) -> Path:
    return store.root / FOLDER / name


def _records(store: MemoryStore) -> list[Path]:
    """The files of the records, the oldest first."""
    folder = store.root / FOLDER
    return sorted(path for path in folder.glob("*.json") if path.name != _PENDING) if folder.is_dir() else []


def _write(store: MemoryStore, name: str, change: Changeset) -> None:
    folder = store.root / FOLDER
    with telling("write", folder / name):
        folder.mkdir(mode=0o700, exist_ok=True)
        write_atomically(folder / name, json.dumps(asdict(change), ensure_ascii=False, indent=1).encode(), mode=0o600)


def _read(path: Path) -> Changeset | None:
    """The change of a record; None if the record is missing or unreadable."""
    try:
        held = json.loads(path.read_bytes())
        change = Changeset(**{**held, "files": tuple(ChangedFile(**file) for file in held["files"])})
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return change if _is_sound(change) else None


def _is_sound(change: Changeset) -> bool:
    """Whether a record is valid: its paths are those of notes, and its other fields have the right types."""
    texts = (change.id, change.kind, change.reason, change.at, change.state)
    return (
        all(isinstance(text, str) for text in texts)
        and isinstance(change.facts, dict)
        and all(
            isinstance(file.note, str)
            and (file.path == "" or _is_of_notes(file.path))
            and all(text is None or isinstance(text, str) for text in (file.before, file.after))
            for file in change.files
        )
    )


def _is_of_notes(path: object) -> bool:
    parts = path.split("/") if isinstance(path, str) else []
    is_inside = len(parts) > 1 and parts[0] in TREES.values() and not {"", ".", ".."} & {*parts}
    return is_inside and parts[-1].endswith(".md")
