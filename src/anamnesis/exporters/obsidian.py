"""Notes in a folder for Obsidian: files named by titles, with links that work. `import markdown` brings edits back.

A file that was edited there is never overwritten, and a file of the user's is never replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from anamnesis.disk import write_atomically
from anamnesis.importers.ledger import Entry, Ledger, record_digest, whole_digest
from anamnesis.importers.markdown import Exported, edited_record, exported_files, with_names
from anamnesis.importers.reading import files_under
from anamnesis.importers.record import Broken
from anamnesis.notes import Memory, render

# What Obsidian or a file system does not allow in the name of a note.
_REFUSED = re.compile(r'[\\/:*?"<>|#^\[\]\x00-\x1f\x7f]+')
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Written:
    """How many files were written, were as they should be, and were left because they were edited there."""

    written: int = 0
    unchanged: int = 0
    edited: int = 0


def export_obsidian(home: Path, notes: Iterable[Memory], folder: Path) -> Written:
    """Write notes into a folder, which is created; `home` remembers which version of each is there."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = [*notes]
    ledger = Ledger(home, folder)
    before = exported_files(folder, ledger.ids)
    edited = {each.id for path, each in before.items() if _is_edited(path, each.id, ledger)}
    paths = _paths(whole, folder, before)
    files = {note.id: Exported(note.id, paths[note.id].stem, note.title) for note in whole}
    names = _names(whole, files)
    counts = {"written": 0, "unchanged": 0, "edited": 0}
    for note in whole:
        path = paths[note.id]
        if note.id in edited:
            counts["edited"] += 1
            continue
        text = render(replace(note, body=with_names(note.body, names))).encode("utf-8", "replace")
        is_there = path.is_file() and not path.is_symlink() and path.read_bytes() == text
        counts["unchanged" if is_there else "written"] += 1
        if not is_there:
            write_atomically(path, text, mode=0o644, durable=False)
        record = edited_record(path, note.id, {})
        if not isinstance(record, Broken):
            ledger.set(note.id, Entry(whole_digest(note), record_digest(record, "")))
    ledger.save()
    return Written(**counts)


def _is_edited(path: Path, note_id: str, ledger: Ledger) -> bool:
    record, entry = edited_record(path, note_id, {}), ledger.get(note_id)
    return isinstance(record, Broken) or entry is None or record_digest(record, "") != entry.record


def _paths(notes: Iterable[Memory], folder: Path, before: dict[Path, Exported]) -> dict[str, Path]:
    """A file for each note: the one that it has, else one named by its title, and by its id where that is taken."""
    paths = {each.id: path for path, each in before.items()}
    taken = {path.stem.casefold() for path in files_under(folder, ".md")}
    for note in notes:
        if note.id in paths:
            continue
        base = _REFUSED.sub(" ", note.title).strip(" .")[:_LONGEST].strip(" .") or note.id
        name = " ".join(base.split())
        if name.casefold() in taken:
            name = f"{name} {note.id[-8:]}"
        if name.casefold() in taken:
            name = note.id
        taken.add(name.casefold())
        paths[note.id] = folder / f"{name}.md"
    return paths


def _names(notes: Iterable[Memory], files: dict[str, Exported]) -> dict[str, str]:
    """The names of files by what links call their notes: title or id, where that is not the name itself."""
    names: dict[str, str] = {}
    for note in notes:
        for called in (note.title, note.id):
            names.setdefault(called, files[note.id].name)
    return {called: name for called, name in names.items() if called != name}
