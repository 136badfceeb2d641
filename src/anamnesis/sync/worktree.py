"""The files that a sync brings up to date. One that somebody has changed meanwhile is left, and named."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from anamnesis.disk import create_beside, fill, locked, put_in_place, sync_files, sync_folder
from anamnesis.errors import StoreUnavailable
from anamnesis.store.files import trash_place
from anamnesis.sync.integrate import File

# What no note is called and no repository may make us write: git's own folder in all its spellings, and ways out.
_UNSAFE = re.compile(r"(?:^|/)(?:|\.{1,2}|\.git[ .]*|git~\d+)(?:/|$)|[\\:\0]", re.IGNORECASE)
_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


@dataclass(frozen=True, slots=True)
class Replacement:
    """A file as it is expected to be and as it is to be; None where there is none."""

    path: str
    before: bytes | None
    after: bytes | None


def replace_files(folder: Path, replacements: Iterable[Replacement]) -> list[str]:
    """Bring files up to date; the paths of those that are not as expected, which are left as they are."""
    wanted = [each for each in replacements if not _UNSAFE.search(each.path)]
    prepared: list[tuple[Replacement, Path | None]] = []
    try:
        prepared.extend((each, _prepare(folder / each.path, each.after)) for each in wanted)
        sync_files([temporary for _, temporary in prepared if temporary])
        kept = {File(each.path, each.after).note_id for each in wanted if each.after}
        with locked(folder.parent / "store.lock"):
            left = [each.path for each, temporary in prepared if not _replace(folder, each, temporary, kept)]
        for parent in {(folder / each.path).parent for each in wanted}:
            if parent.is_dir():
                sync_folder(parent)
        return left
    except OSError as error:
        raise StoreUnavailable(f"Cannot write {error.filename or folder}: {error.strerror}.") from error
    finally:
        for _, temporary in prepared:
            if temporary:
                temporary.unlink(missing_ok=True)


def _prepare(target: Path, data: bytes | None) -> Path | None:
    if data is None:
        return None
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = create_beside(target)
    fill(descriptor, temporary, data, durable=False)
    return temporary


def _replace(folder: Path, wanted: Replacement, temporary: Path | None, kept: Collection[str]) -> bool:
    """Whether the file is now as wanted."""
    target = folder / wanted.path
    if target.parent.resolve() != (folder.resolve() / wanted.path).parent:
        return True  # a link leads away from here: nothing is written through it
    found = _read(target)
    if found == wanted.after:
        return True
    if found != wanted.before:
        return False
    if temporary:
        put_in_place(temporary, target)
    else:
        _remove(folder, wanted, kept)
    return True


def _remove(folder: Path, gone: Replacement, kept: Collection[str]) -> None:
    """A note that was deleted elsewhere goes to the trash here: it can be restored, and nothing writes it anew."""
    target = folder / gone.path
    note = File(gone.path, gone.before or b"").memory
    if note and note.id not in kept:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        os.replace(target, trash_place(folder.parent, folder.name, note, now))
    else:
        target.unlink()


def _read(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, _READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
