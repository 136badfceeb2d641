"""The store of notes: markdown files as the truth, a derived index for recall."""

from anamnesis.notes import Memory, MemoryType, Scope
from anamnesis.store.files import NoteFile, Trashed
from anamnesis.store.queries import Problem, StoreStats
from anamnesis.store.refresh import Changes
from anamnesis.store.store import CHANGEABLE, Hit, MemoryStore

__all__ = [
    "CHANGEABLE",
    "Changes",
    "Hit",
    "Memory",
    "MemoryStore",
    "MemoryType",
    "NoteFile",
    "Problem",
    "Scope",
    "StoreStats",
    "Trashed",
]
