"""The store of notes: markdown files as the truth, a derived index for recall."""

from anamnesis.notes import Memory, MemoryType, Scope
from anamnesis.store.files import NoteFile, Trashed
from anamnesis.store.note_reader import Hit
from anamnesis.store.queries import StoreStats
from anamnesis.store.refresh import RefreshCounts
from anamnesis.store.store import CHANGEABLE, MemoryStore

__all__ = [
    "CHANGEABLE",
    "Hit",
    "Memory",
    "MemoryStore",
    "MemoryType",
    "NoteFile",
    "RefreshCounts",
    "Scope",
    "StoreStats",
    "Trashed",
]
