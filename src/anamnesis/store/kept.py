"""kept.db: the replaced versions of notes, and the ids of notes without front matter. It is neither derived nor synced.

A version is saved before the index transaction that replaces it commits. So nothing is lost: after a kill the version
is saved again, and if it cannot be saved, the index is not changed either.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from anamnesis.errors import StoreUnavailable
from anamnesis.notes import Memory, derived_id, file_time, parse, render
from anamnesis.store.machine_database import DAMAGED, MachineDatabase
from anamnesis.store.tombstones import is_purged

# A note's versions have at most this many characters in total, times the number of versions that may be kept.
_CHARACTERS_EACH = 20_000

_INSERT = """
    INSERT INTO versions (note_id, at, text) SELECT :note_id, :at, :text
    WHERE NOT EXISTS (SELECT 1 FROM versions WHERE note_id = :note_id AND at = :at AND text = :text)
"""
_PRUNE = """
    DELETE FROM versions WHERE number IN (
        SELECT number FROM (
            SELECT number, row_number() OVER newest AS place, sum(length(text)) OVER newest AS size
            FROM versions WHERE note_id = :note_id WINDOW newest AS (ORDER BY at DESC, number DESC)
        ) WHERE place > :most OR size > :size
    )
"""


class ReplacedVersion(NamedTuple):
    """A replaced version of a note, and the time of its file in nanoseconds."""

    note: Memory
    at: int


class KeptVersions(MachineDatabase):
    """The kept.db of a store."""

    schema = Path(__file__).with_name("kept.sql")
    holds = "The earlier versions"

    def __init__(self, root: Path, most: int) -> None:
        super().__init__(root / "kept.db")
        self._root = root
        self.most = most

    def keep(self, replaced: Sequence[ReplacedVersion]) -> None:
        """Save versions, and prune each note's to the number and the total length that the setting allows."""
        longest = self.most * _CHARACTERS_EACH
        wanted = [
            each for each in replaced if len(each.note.body) <= longest and not is_purged(self._root, each.note.id)
        ]
        if wanted and self.most:
            from anamnesis.store.placing import without_secrets

            clean = [(render(without_secrets(note)), note.id, at) for note, at in wanted]
            self.change(lambda db: _keep(db, clean, self.most, longest))

    def versions(self, note_id: str) -> list[ReplacedVersion]:
        """The replaced versions of a note, the oldest first."""
        query = "SELECT text, at FROM versions WHERE note_id = :id ORDER BY at, number"
        rows = self.read(lambda db: db.execute(query, {"id": note_id}).fetchall())
        return [ReplacedVersion(parse(text), at) for text, at in rows or ()]

    def id_of(self, path: str, hash: bytes, mtime_ns: int, exists: Callable[[str], bool]) -> str:
        """The id of the note in a file without front matter, recorded unless the disk cannot be written.

        It is the id recorded for the path, or for the content if the file was renamed. A new id is derived from the
        file's time and content, so that it is the same again if the record is lost.
        """
        query = "SELECT path, hash, note_id FROM bare_files WHERE path = :path OR hash = :hash"
        known = self.read(lambda db: db.execute(query, {"path": path, "hash": hash}).fetchall()) or []
        here = [each for each in known if each[0] == path]
        gone = [each for each in known if each[0] != path and not exists(each[0])]
        found = next(iter([*here, *gone]), None)
        if found and found[:2] == (path, hash):
            return str(found[2])
        moment = file_time(mtime_ns)
        new = derived_id(moment, f"file:{hash.hex()}")
        if any(each[2] == new for each in known):  # a copy with the time of its original
            new = derived_id(moment, f"file:{hash.hex()}:{path}")
        note_id = str(found[2]) if found else new
        with contextlib.suppress(StoreUnavailable):
            self.record(path, hash, note_id, former=found[0] if found else path)
        return note_id

    def ids_at(self, paths: Iterable[str]) -> dict[str, str]:
        """The ids that are recorded for these paths."""
        query = "SELECT path, note_id FROM bare_files WHERE path IN (SELECT value FROM json_each(:paths))"
        values = {"paths": json.dumps([*paths])}
        return dict(self.read(lambda db: db.execute(query, values).fetchall()) or ())

    def record(self, path: str, hash: bytes, note_id: str, *, former: str = "") -> None:
        """Record the note of a file without front matter, and remove the record of its `former` path."""
        values = {"path": path, "hash": hash, "id": note_id, "former": former}
        self.change(lambda db: _record(db, values))

    def forget(self, ids: Iterable[str]) -> None:
        """Remove everything about purged notes."""
        self.path.with_name(self.path.name + DAMAGED).unlink(missing_ok=True)
        if self.path.exists():
            self.change(lambda db: _forget(db, [*ids]))


def _keep(db: sqlite3.Connection, versions: Iterable[tuple[str, str, int]], most: int, size: int) -> None:
    for text, note_id, at in versions:
        db.execute(_INSERT, {"note_id": note_id, "at": at, "text": text})
        db.execute(_PRUNE, {"note_id": note_id, "most": most, "size": size})


def _record(db: sqlite3.Connection, values: Mapping[str, object]) -> None:
    db.execute("DELETE FROM bare_files WHERE path = :former", values)
    db.execute("INSERT OR REPLACE INTO bare_files (path, hash, note_id) VALUES (:path, :hash, :id)", values)


def _forget(db: sqlite3.Connection, ids: Sequence[str]) -> None:
    from anamnesis.erasure import overwriting

    with overwriting(db):
        db.executemany("DELETE FROM bare_files WHERE note_id = ?", [(id,) for id in ids])
        db.executemany("DELETE FROM versions WHERE note_id = ?", [(id,) for id in ids])
