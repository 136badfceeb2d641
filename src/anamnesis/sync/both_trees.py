"""Settles notes that a sync left in both trees: made machine-local here, and changed on another machine."""

from __future__ import annotations

from anamnesis.notes import Memory
from anamnesis.store import MemoryStore
from anamnesis.store.files import TREES
from anamnesis.store.second_files import says_the_same, settle
from anamnesis.sync.integrate import File
from anamnesis.sync.repository import Repository

_PORTABLE = f"{TREES['portable']}/"


def settle_both_trees(store: MemoryStore) -> bool:
    """Leave the portable file; keep the other text as a machine-local note unless the portable one was made from it.

    Returns whether there is such a note: nothing that was written on this machine alone gets into the portable tree.
    """
    repository = Repository(store.memory_dir, "")

    def is_included(local: Memory, path: str) -> bool:
        former = repository.versions_before(path.removeprefix(_PORTABLE))
        return any(note and says_the_same(local, note) for data in former if (note := File(path, data).memory))

    found = [each for each in store.problems() if each.owner and _tree(each.path) != _tree(each.owner)]
    asides = [settle(store, each, is_included) for each in found]
    return any(asides)


def _tree(path: str) -> str:
    return path.partition("/")[0]
