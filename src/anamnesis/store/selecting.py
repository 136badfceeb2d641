"""The notes that a filter selects, all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anamnesis.store.projects import by_any_name

if TYPE_CHECKING:
    from anamnesis.store.index import Connection
    from anamnesis.store.queries import Filter
    from anamnesis.store.store import MemoryStore


def selected_ids(store: MemoryStore, wanted: Filter) -> list[str]:
    """The ids of the notes, in the order of their creation."""

    def read(db: Connection) -> list[str]:
        chosen = by_any_name(db, wanted)
        query = f"SELECT m.id FROM memories AS m WHERE {chosen.sql} ORDER BY m.created_at, m.id"
        return [id for (id,) in db.execute(query, chosen.values)]

    return store._catalogue.ask(read)
