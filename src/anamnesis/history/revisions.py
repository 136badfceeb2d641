"""The revisions of a note: from git, the journal, the trash, kept.db and the current file, in one order."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from heapq import merge
from itertools import accumulate, takewhile
from pathlib import Path

from anamnesis.bridge import journal
from anamnesis.bridge.journal import Twin
from anamnesis.bridge.keys import Keys
from anamnesis.bridge.mapping import fitting, note_id_of, noted, observed, says_the_same, sync_id_of
from anamnesis.engram import database
from anamnesis.engram.record import Observation
from anamnesis.errors import InvalidNote, NoteNotFound
from anamnesis.history.commits import committed, with_writers
from anamnesis.history.observation import ObservationState, has_journal, states
from anamnesis.history.version import Revision, Version, numbered
from anamnesis.notes import Memory, check_id, decode, file_time, parse, utc_time, writable
from anamnesis.notes.foreign import Origin
from anamnesis.store import MemoryStore
from anamnesis.store.files import TREES, NoteFile, Trashed
from anamnesis.store.ids import utcnow
from anamnesis.store.tombstones import is_purged

_PORTABLE = f"{TREES['portable']}/"
_STAMP_LENGTH = 15
# Unlike a ULID, which starts with 0 for thousands of years.
_NUMBER = re.compile("[1-9][0-9]{0,17}")
_NEVER = "9999"
_SECOND = 1_000_000_000


def revisions(
    store: MemoryStore, note_id: str, engram: Path | None = None, user_home: Path | None = None
) -> list[Revision]:
    """Every revision of a note, the oldest first; the last is the current one. Deleted notes have revisions too."""
    file = store.file(check_id(note_id))
    if file is None and is_purged(store.root, note_id):
        hint = f"`anamnesis delete --purge --yes {note_id}` says what git still holds of it."
        raise NoteNotFound(f"The note {note_id} was purged.", hint)
    trash = [each for each in store.trashed() if each.id == note_id]
    versions = _in_files(store, note_id, file, trash)
    if engram:
        versions = _with_journal(store, note_id, file, versions, engram, user_home)
    if file or not _is_broken(store, note_id):
        versions.append(_present(file, versions, trash))
    if store.has_shared:
        versions = with_writers(versions, store.shared.writers(note_id))
    versions = [replace(each, origin=_origin(store, each.note)) if each.note else each for each in versions]
    found = numbered(versions)
    if not found:
        hint = "`anamnesis list` shows the ids."
        if engram:
            hint += " `anamnesis bridge reconcile` makes notes of new observations."
        raise NoteNotFound(f"Nothing is known of a note {note_id}.", hint)
    return found


def _origin(store: MemoryStore, note: Memory) -> Origin | None:
    return store.origins_of_whole({note.id: note}).get(note.id)


def note_of(engram: Path, given: str) -> str | None:
    """The id of the note of an observation, given by its number or sync_id."""
    number = int(given) if _NUMBER.fullmatch(given) else 0
    with closing(database.connect_to_read(engram)) as db, database.reading(db):
        row = db.execute(
            "SELECT id, sync_id, created_at FROM observations WHERE id = :number OR sync_id = :given LIMIT 1",
            {"number": number, "given": writable(given)},
        ).fetchone()
        twins = journal.twins(db, of_rows=[row[0]]) if row and has_journal(db) else []
    if twins:
        return twins[0].note_id
    return note_id_of(row[1] or "", row[2]) if row else None


def _in_files(store: MemoryStore, note_id: str, file: NoteFile | None, trash: Iterable[Trashed]) -> list[Version]:
    """The versions in git, in the trash and in kept.db."""
    path = file.path.removeprefix(_PORTABLE) if file and file.path.startswith(_PORTABLE) else ""
    commits = committed(store.memory_dir, note_id, path)
    is_local = file is not None and not path
    if is_local and commits and commits[-1].note is None:
        del commits[-1]  # not deleted: it became machine-local
    last = {each.text: each.at for each in commits}
    # A version that was committed after it was written counts as git's.
    thrown = [
        found for each in trash if (found := _thrown(store.root, each)) and last.get(found[1].text, "") < found[1].at
    ]
    kept = [(each.at, Version(file_time(each.at), "kept", each.note)) for each in store.kept.versions(note_id)]
    places = accumulate((_commit_place(commit, kept) for commit in commits), max)
    elsewhere = [*commits, *(version for _, version in thrown)]
    thrown += [each for each in kept if not any(_has(other, each[1], kept) for other in elsewhere)]
    in_order = merge(zip(places, commits, strict=True), sorted(thrown, key=_place), key=_place)
    return [version for _, version in in_order]


def _commit_place(commit: Version, kept: Sequence[tuple[int, Version]]) -> int:
    """The time at which a committed version was written, if known; else the end of the second of the commit."""
    written = [at for at, version in kept if _has(commit, version, kept)]
    return max(written, default=_nanoseconds(commit.at) + _SECOND - 1)


def _has(other: Version, version: Version, kept: Iterable[tuple[int, Version]]) -> bool:
    """Whether git or the trash got a kept version before another one replaced it."""
    if other.text != version.text or other.at < version.at:
        return False
    later = min((each.at for _, each in kept if each.at > version.at and each.text != version.text), default=_NEVER)
    return other.at <= later


def _place(each: tuple[int, Version]) -> tuple[int, bool]:
    """By time; at the same time, a deletion comes last."""
    at, version = each
    return at, version.note is None


def _thrown(root: Path, trashed: Trashed) -> tuple[int, Version] | None:
    """A version in the trash, from the time its file was written: a moved file keeps its time."""
    try:
        with (root / trashed.path).open("rb") as file:
            note = parse(decode(file.read()), scope=trashed.scope)
            at = os.fstat(file.fileno()).st_mtime_ns
            return at, Version(file_time(at), "trash", note)
    except (InvalidNote, OSError):
        return None


def _with_journal(
    store: MemoryStore,
    note_id: str,
    file: NoteFile | None,
    versions: list[Version],
    engram: Path,
    user_home: Path | None,
) -> list[Version]:
    """The versions with those of engram.db's journal."""
    with closing(database.connect_to_read(engram)) as db:
        if not has_journal(db):
            return versions
        row_states, agreed = _states(db, note_id)
        over = next((each.note for each in versions if each.note), file.memory if file else None) or agreed
        as_note = partial(
            noted, key_of=partial(Keys(db, store, user_home).of, folders={}), machine_id="unknown", clean=fitting
        )
        return list(_in_order(row_states, versions, over, as_note))


def _states(db: sqlite3.Connection, note_id: str) -> tuple[list[ObservationState], Memory | None]:
    """The states of a note's observation, and the note without its body at the last agreement."""
    twins = journal.twins(db, of_notes=[note_id])
    if twins:
        return _agreed(db, twins[0]), parse(twins[0].front)
    pending = journal.changed(db)
    rows = [row for row in journal.unpaired(db, sync_id_of(note_id)) if row.id not in pending]
    return (states(db, rows[0].id) if rows else []), None


def _agreed(db: sqlite3.Connection, twin: Twin) -> list[ObservationState]:
    """The states of an observation until it last agreed with its note; the later ones are pending."""
    found = states(db, twin.observation_id)
    since = 0 if twin.revision == journal.UNKNOWN else len(journal.versions(db, twin.observation_id, twin))
    if not since or since >= len(found):
        return found
    *before, last = found[:-since]
    return [*before, replace(last, until=None)]


def _in_order(
    row_states: Iterable[ObservationState],
    versions: Iterable[Version],
    over: Memory | None,
    as_note: Callable[[Observation, Memory | None], Memory],
) -> Iterator[Version]:
    """Both by time. Fields that an observation lacks are those of the version before.

    Seconds are too coarse to order them, so a file's version that equals the observation's is placed beside it.
    """
    waiting = list(versions)
    last: Version | None = None
    for state in row_states:
        for version in _due(waiting, state, last):
            last, over = version, version.note or over
            yield version
        last = Version(utc_time(state.since), "journal", as_note(state.observation, over))
        over = last.note or over
        yield last
    yield from waiting


def _due(waiting: list[Version], state: ObservationState, last: Version | None) -> Iterator[Version]:
    """Remove and yield the versions before an observation's state, and those that equal it during that time."""
    row, since, until = state.observation, utc_time(state.since), utc_time(state.until or _NEVER)
    if state.until is None:  # the current state comes last
        same = [place for place, version in enumerate(waiting, 1) if _is_said(row, version.note)]
        yield from waiting[: max(same, default=0)]
        del waiting[: max(same, default=0)]
    while waiting and waiting[0].at < since:
        last = waiting.pop(0)
        yield last
    if last is None or not _is_said(row, last.note):
        meanwhile = takewhile(lambda each: each[1].at <= until, enumerate(waiting))
        place = next((place for place, version in meanwhile if _is_said(row, version.note)), None)
        if place is not None:
            yield waiting.pop(place)
    while waiting and waiting[0].at <= until and _is_said(row, waiting[0].note):
        yield waiting.pop(0)


def _is_said(row: Observation, note: Memory | None) -> bool:
    """Whether a note and an observation say the same."""
    if note is None or row.deleted_at:
        return note is None and row.deleted_at is not None
    return says_the_same(observed(note, row, clean=fitting), row)


def _present(file: NoteFile | None, versions: list[Version], trash: list[Trashed]) -> Version:
    """The current version. A manual edit seldom updates `updated_at`: then the file's time counts."""
    if file is None or file.memory is None:
        return Version(utc_time(trash[0].deleted_at[:_STAMP_LENGTH]) if trash else utcnow(), "now", None)
    is_later = all(each.at < file.memory.updated_at for each in versions)
    return Version(file.memory.updated_at if is_later else file_time(file.mtime_ns), "now", file.memory)


def _nanoseconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp()) * _SECOND


def _is_broken(store: MemoryStore, note_id: str) -> bool:
    """Whether the note has a file that cannot be parsed: it is not deleted, but its content is unknown."""
    try:
        store.find(note_id)
    except InvalidNote:
        return True
    return False
