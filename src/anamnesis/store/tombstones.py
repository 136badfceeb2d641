"""Tombstones of purged notes: an empty file named by the id, so that no automatic write brings the note back."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from anamnesis.disk import sync_folder

_FOLDER = "purged"
# Exists while free pages or logs of the databases may still hold purged text. No note has such an id.
_DUE = ".erase"


def bury(root: Path, note_id: str) -> None:
    """Record durably that a note is purged, and that purged text has to be erased from the databases."""
    folder = root / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in (note_id, _DUE):
        (folder / name).touch(mode=0o600)
    sync_folder(folder)
    sync_folder(root)


def exhume(root: Path, ids: Iterable[str]) -> None:
    """Remove the tombstones of notes that were written again."""
    folder = f"{root}/{_FOLDER}"
    if os.path.isdir(folder):
        for note_id in ids:
            Path(folder, note_id).unlink(missing_ok=True)


def is_purged(root: Path, note_id: str) -> bool:
    return (root / _FOLDER / note_id).exists()


def purged_ids(root: Path) -> set[str]:
    try:
        return {*os.listdir(root / _FOLDER)} - {_DUE}
    except FileNotFoundError:
        return set()


def is_erasure_due(root: Path) -> bool:
    return (root / _FOLDER / _DUE).exists()


def finish_erasure(root: Path) -> None:
    (root / _FOLDER / _DUE).unlink(missing_ok=True)
