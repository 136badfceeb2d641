"""The sessions that notes come from, and the notes of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anamnesis.store.recording import session_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anamnesis.notes import Memory
    from anamnesis.store.store import MemoryStore


def notes_of(store: MemoryStore, session: str) -> list[Memory]:
    """The notes that come from a session."""
    query = "SELECT id FROM memories WHERE prov_session = ? AND deleted_at IS NULL"
    ids = store._catalogue.ask(lambda db: [id for (id,) in db.execute(query, (session,))])
    return store.whole(ids)


def known_sessions(store: MemoryStore) -> list[str]:
    """The sessions that notes come from."""
    query = "SELECT DISTINCT prov_session FROM memories WHERE prov_session <> '' AND deleted_at IS NULL"
    return store._catalogue.ask(lambda db: [session for (session,) in db.execute(query)])


def named(sessions: Iterable[str], given: str) -> str:
    """The session with this name, or with this hash, which the record of use has; else the given name."""
    return next((each for each in sessions if given in (each, session_hash(each))), given)
