"""The change log of index.db: the last change of each note, in order, and how far each follower has read it.

Triggers fill it on every write to the index. A rebuilt index has no followers: each starts again from all notes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from anamnesis.store.files import NoteFile
from anamnesis.store.index import Connection, Index

_BATCH = 200


class NoteChange(NamedTuple):
    """The last change of a note. The hash is None if the note was deleted: no readable file holds it."""

    seq: int
    note_id: str
    hash: bytes | None


class Pending(NamedTuple):
    """What a follower has not processed yet: changes after its cursor, oldest first."""

    cursor: tuple[bytes, int]
    changes: Sequence[NoteChange]


# No changes, and a cursor that no follower has.
NOTHING = Pending((b"", 0), ())


class Written(NamedTuple):
    """The notes that one operation wrote, with their files as written; None for a note that it removed.

    `before` and `last` are the sequence numbers of the log around its changes. `superseding` maps those of the notes
    that are superseded to the notes that supersede them.
    """

    files: Mapping[str, NoteFile | None]
    before: int
    last: int
    superseding: Mapping[str, str]


class ChangeLog:
    """The log of a store. A follower is a name with a cursor; `refresh` brings the index up to date before a read."""

    def __init__(self, index: Index, refresh: Callable[[], object]) -> None:
        self._index = index
        self._refresh = refresh

    def follow(
        self,
        follower: str,
        process: Callable[[Sequence[NoteChange]], None],
        identity: str = "",
        *,
        batch: int = _BATCH,
        stop: Callable[[], bool] = bool,
    ) -> int:
        """Pass all pending changes to `process`, in batches, until `stop`; returns how many were passed.

        If `process` raises, its batch stays pending.
        """
        done = 0
        self.subscribe(follower, identity)
        while not stop() and (pending := self.pending(follower, identity, batch)) and pending.changes:
            process(pending.changes)
            self.advance(follower, pending)
            done += len(pending.changes)
        return done

    def subscribe(self, follower: str, identity: str = "") -> bool:
        """Register a follower; returns whether it starts from all notes, because it is new or has another identity.

        A follower that starts again gets no changes for notes that were deleted before.
        """
        if self._index.read(lambda db: _cursor(db, follower, identity)) is not None:
            return False
        self._index.write(lambda db: _start(db, follower, identity))
        return True

    def restart(self, follower: str) -> None:
        """Restart a follower from all notes."""
        query = "UPDATE followers SET start = randomblob(8), cursor = 0 WHERE name = :name"
        self._index.write(lambda db: db.execute(query, {"name": follower}))

    def pending(self, follower: str, identity: str | None = None, limit: int = -1) -> Pending | None:
        """The changes after the cursor of a follower; None if it has to `subscribe` first, with this identity."""
        self._refresh()
        found = self._index.read(lambda db: _pending(db, follower, identity, limit))
        if found and self._index.is_private:
            return Pending(NOTHING.cursor, found.changes)  # an in-memory index has numbers of its own
        return found

    def count(self, follower: str) -> int:
        """How many changes a follower has not processed yet."""
        found = self.pending(follower)
        return len(found.changes) if found else 0

    def last(self) -> int:
        """The sequence number of the last change."""
        return self._index.read(last_seq)

    def advance(self, follower: str, done: Pending) -> None:
        """Move the cursor of a follower past the changes that it processed, unless it has been moved since."""
        if done.changes:
            start, cursor = done.cursor
            values = {"name": follower, "start": start, "cursor": cursor, "last": done.changes[-1].seq}
            query = "UPDATE followers SET cursor = :last WHERE name = :name AND start = :start AND cursor = :cursor"
            self._index.write(lambda db: db.execute(query, values))

    def skip(self, follower: str, written: Written) -> bool:
        """Move the cursor of a follower past what was written, unless earlier changes are pending.

        Returns whether it moved.
        """
        return self._index.write(lambda db: skip(db, follower, written.before, written.last))


def last_seq(db: Connection) -> int:
    """The sequence number of the last change."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()
    return int(row[0]) if row else 0


def notes_after(db: Connection, seq: int) -> set[str]:
    """The notes that have changes after this sequence number."""
    return {id for (id,) in db.execute("SELECT memory_id FROM changes WHERE seq > :seq", {"seq": seq})}


def skip(db: Connection, follower: str, before: int, last: int) -> bool:
    """Move a cursor past the changes after `before` up to `last`, unless an earlier change is pending."""
    moved = db.execute(
        "UPDATE followers SET cursor = max(cursor, :last) WHERE name = :name"
        " AND NOT EXISTS (SELECT 1 FROM changes WHERE seq > followers.cursor AND seq <= :before)",
        {"name": follower, "before": before, "last": last},
    )
    return moved.rowcount > 0


def _start(db: Connection, follower: str, identity: str) -> None:
    db.execute(
        "INSERT OR REPLACE INTO followers (name, identity, start, cursor) VALUES (:name, :identity, randomblob(8), 0)",
        {"name": follower, "identity": identity},
    )


def _cursor(db: Connection, follower: str, identity: str | None) -> tuple[bytes, int] | None:
    query = "SELECT identity, start, cursor FROM followers WHERE name = :name"
    row = db.execute(query, {"name": follower}).fetchone()
    return (row[1], row[2]) if row and identity in (None, row[0]) else None


def _pending(db: Connection, follower: str, identity: str | None, limit: int) -> Pending | None:
    cursor = _cursor(db, follower, identity)
    return Pending(cursor, _changes_after(db, cursor[1], limit)) if cursor else None


def _changes_after(db: Connection, cursor: int, limit: int) -> list[NoteChange]:
    """The changes after a cursor, without notes that have an unread file: reading it adds another change."""
    rows = db.execute(
        "SELECT seq, memory_id, (SELECT hash FROM standing_files WHERE memory_id = changes.memory_id) FROM changes"
        " WHERE seq > :cursor AND NOT EXISTS (SELECT 1 FROM files WHERE memory_id = changes.memory_id AND hash = x'')"
        " ORDER BY seq LIMIT :limit",
        {"cursor": cursor, "limit": limit},
    )
    return [NoteChange(*row) for row in rows.fetchall()]
