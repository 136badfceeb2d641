"""Pairs notes with observations: by the saved twins, or else by their ids."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import PurePosixPath

from anamnesis.bridge import journal
from anamnesis.bridge.decision import Pair
from anamnesis.bridge.journal import Twin
from anamnesis.bridge.mapping import (
    fingerprint,
    fitting,
    is_copy,
    note_id_of,
    observed,
    same_bits_id,
    says_the_same,
    sync_id_in,
    sync_id_of,
)
from anamnesis.engram.record import Observation
from anamnesis.notes import Memory, derived_id, named_ids
from anamnesis.store import MemoryStore
from anamnesis.store.files import NoteFile

_Known = tuple[Observation | None, Twin | None]


def pairs_of(
    db: sqlite3.Connection,
    store: MemoryStore,
    rows: Sequence[int],
    notes: Sequence[str],
    given: Mapping[str, NoteFile | None] | None = None,
) -> tuple[list[Pair], list[int]]:
    """Each of these paired with its twin, as both are now, and the observations whose note's file is unreadable.

    Files that were just written are passed as `given`.
    """
    given = given or {}
    there = journal.observations(db, rows) if rows else {}
    usual = {id: note_id_of(row.sync_id, row.created_at) for id, row in there.items()} | _earlier(store, there)
    twins = journal.twins(db, of_rows=rows, of_notes=[*notes, *usual.values()])
    taken = {twin.observation_id for twin in twins}
    if others := taken - there.keys():
        there |= journal.observations(db, others)
    found: dict[str, _Known] = {twin.note_id: (there.get(twin.observation_id), twin) for twin in twins}
    files = {note_id: file for note_id, file in given.items() if file}
    files |= store.files({*found, *notes} - given.keys())
    for note_id in notes:
        if note_id not in found:
            file = files.get(note_id)
            row = _row_of(db, file.memory, taken) if file and file.memory else None
            found[note_id] = (row, None)
            taken |= {row.id} if row else set()
    for id in sorted(there.keys() - taken):
        note_id, twin = (usual[id], None) if usual[id] not in found else _note_of(db, there[id], found)
        found[note_id] = (there[id], twin)
    # No rescan for files that have just been renamed: these are not overwritten.
    files |= store.files(found.keys() - files.keys() - {*notes} - given.keys(), renamed=False)
    for id in {*rows} - there.keys() - taken:
        for note_id, file, twin in _forgotten(db, store, id):
            if found.get(note_id, (None, None)) == (None, None):
                found[note_id], files[note_id] = (None, twin), file
    unreadable = _unreadable(
        store, [id for id, (_, twin) in found.items() if twin and twin.note_hash is not None and id not in files]
    )
    stuck = [twin.observation_id for id, (_, twin) in found.items() if twin and id in unreadable]
    pairs = []
    for note_id, (row, twin) in found.items():
        if note_id not in unreadable:
            file = files.get(note_id)
            note, hash = (file.memory, file.hash) if file else (None, None)
            is_changed = row and (fingerprint(row) != twin.row_hash if twin else note)
            versions = journal.versions(db, row.id, twin) if row and is_changed else ()
            pairs.append(Pair(note_id, note, hash, row, twin, versions, file))
    return pairs, stuck


def _earlier(store: MemoryStore, rows: Mapping[int, Observation]) -> dict[int, str]:
    """Notes of earlier releases, whose ids are the bits of the sync id even where these give an impossible time."""
    ids = {id: same_bits_id(row.sync_id) for id, row in rows.items()}
    other = {id: own for id, own in ids.items() if own and own != note_id_of(rows[id].sync_id, rows[id].created_at)}
    there = store.files(other.values(), renamed=False) if other else {}
    return {id: own for id, own in other.items() if own in there}


def broken(db: sqlite3.Connection, store: MemoryStore) -> dict[str, int]:
    """Notes with unreadable files, identified by file name, with their observations: both wait until it is fixed."""
    names = {PurePosixPath(problem.path).stem for problem in store.problems() if not problem.owner}
    twins = [twin for twin in journal.twins(db, of_notes=names) if twin.note_hash is not None] if names else []
    readable = store.files([twin.note_id for twin in twins], renamed=False)
    return {twin.note_id: twin.observation_id for twin in twins if twin.note_id not in readable}


def row_of(db: sqlite3.Connection, note_id: str, note: Memory | None) -> int | None:
    """The row id of a note's observation, even if it was removed; None if there was none."""
    for twin in journal.twins(db, of_notes=[note_id]):
        return twin.observation_id
    found = _row_of(db, note, ()) if note else None
    return found.id if found else None


def _row_of(db: sqlite3.Connection, note: Memory, taken: Collection[int]) -> Observation | None:
    """The observation of a note without a twin; of several with one sync id, the likeliest."""
    rows = [row for row in journal.unpaired(db, sync_id_in(note)) if row.id not in taken]
    if is_copy(note):  # the original may not have found its observation yet
        rows = [row for row in rows if note.id in _ids(row)] or journal.unpaired(db, sync_id_of(note.id))
    if len(rows) > 1:
        rows.sort(
            key=lambda row: (
                observed(note, row) != row,
                [id != note.id for id in reversed(_ids(row))],
                bool(row.deleted_at) != note.is_hidden,
                row.id,
            )
        )
    return rows[0] if rows else None


def _note_of(db: sqlite3.Connection, row: Observation, found: dict[str, _Known]) -> tuple[str, Twin | None]:
    """The id for the note of an observation without a twin, and a saved twin of that id whose observation was removed.

    Engram allows several observations with one sync id: from an export that was imported twice.
    """
    others = (derived_id(row.created_at, f"{row.sync_id} {number}") for number in count(row.id + 1))
    for note_id in chain(_ids(row), others):
        if note_id in found:
            other, twin = found[note_id]
        else:
            twin = next(iter(journal.twins(db, of_notes=[note_id])), None)
            other = journal.observations(db, [twin.observation_id]).get(twin.observation_id) if twin else None
        if other is None:
            return note_id, twin
    raise AssertionError


def _forgotten(db: sqlite3.Connection, store: MemoryStore, id: int) -> Iterator[tuple[str, NoteFile, Twin | None]]:
    """The notes that were written for an observation which was removed before their twin was saved.

    Each comes with that twin, unless the note has been changed since.
    """
    versions = [revision.observation for revision in journal.revisions(db, id)]
    ids = {note_id for version in versions for note_id in _ids(version)}
    ids -= {twin.note_id for twin in journal.twins(db, of_notes=ids)}
    for note_id, file in store.files(ids).items():
        if file.memory and {sync_id_in(file.memory), sync_id_of(note_id)} & {version.sync_id for version in versions}:
            is_unchanged = any(says_the_same(observed(file.memory, row, fitting), row) for row in versions)
            yield note_id, file, Twin(id, note_id, b"", file.hash, "", 0) if is_unchanged else None


def _ids(row: Observation) -> tuple[str, str]:
    """The ids that an observation's note can have: the first, or the second if the first is taken."""
    return note_id_of(row.sync_id, row.created_at), derived_id(row.created_at, f"{row.sync_id} {row.id}")


def _unreadable(store: MemoryStore, ids: Iterable[str]) -> set[str]:
    """Those of these notes that are in an unreadable file, identified by its name or by the ids in its text."""
    wanted = {*ids}
    found = set()
    for problem in store.problems() if wanted else ():
        if problem.owner:  # a readable duplicate
            continue
        path = store.root / problem.path
        with contextlib.suppress(OSError):
            found |= {path.stem, *named_ids(path.read_bytes())}
    return wanted & found
