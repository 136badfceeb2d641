"""The ids of notes that are made from other tools' records."""

from __future__ import annotations

from anamnesis.notes import derived_id, ending_of
from anamnesis.store import queries
from anamnesis.store.store import MemoryStore
from anamnesis.store.tombstones import purged_ids


def id_of_record(store: MemoryStore, name: str, moment: str) -> str:
    """The id of the note of a record: of the note that it has, even a deleted or purged one, else a new one.

    A new id has the record's time, and the ending is derived from its name alone: it is found when the time changes.
    """
    new = derived_id(moment, name)
    live = store._catalogue.ask(lambda db: queries.ids_ending(db, ending_of(new)))
    deleted = (each.id for each in store.trashed())
    return next((id for id in (*live, *deleted, *purged_ids(store.root)) if ending_of(id) == ending_of(new)), new)
