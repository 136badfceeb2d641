"""Notes as an Obsidian vault: files named after titles, with working links. `import markdown` imports edits back.

A file that was edited there, or that we did not write, is never overwritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from anamnesis.disk import write_atomically
from anamnesis.importers.foreign_files import files_under
from anamnesis.importers.foreign_record import Unreadable
from anamnesis.importers.import_ledger import ImportLedger, LedgerEntry, record_digest, whole_digest
from anamnesis.importers.markdown import ExportedFile, edited_record, exported_files, with_names
from anamnesis.notes import Memory, render

# Characters that Obsidian or a file system does not allow in a file name.
_REFUSED = re.compile(r'[\\/:*?"<>|#^\[\]\x00-\x1f\x7f]+')
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class ObsidianResult:
    """How many files were written, were up to date, and were skipped because they were edited there."""

    written: int = 0
    unchanged: int = 0
    edited: int = 0


def export_obsidian(home: Path, notes: Iterable[Memory], folder: Path) -> ObsidianResult:
    """Write notes into a folder, creating it; a ledger in `home` records the exported version of each."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = [*notes]
    ledger = ImportLedger(home, folder)
    before = exported_files(folder, ledger.ids)
    edited = {each.id for path, each in before.items() if _is_edited(path, each.id, ledger)}
    paths = _paths(whole, folder, before)
    files = {note.id: ExportedFile(note.id, paths[note.id].stem, note.title) for note in whole}
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
        if not isinstance(record, Unreadable):
            ledger.set(note.id, LedgerEntry(whole_digest(note), record_digest(record, "")))
    ledger.save()
    return ObsidianResult(**counts)


def _is_edited(path: Path, note_id: str, ledger: ImportLedger) -> bool:
    record, entry = edited_record(path, note_id, {}), ledger.get(note_id)
    return isinstance(record, Unreadable) or entry is None or record_digest(record, "") != entry.record


def _paths(notes: Iterable[Memory], folder: Path, before: dict[Path, ExportedFile]) -> dict[str, Path]:
    """A file for each note: its existing one, else one named after its title, with the id if that name is taken."""
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


def _names(notes: Iterable[Memory], files: dict[str, ExportedFile]) -> dict[str, str]:
    """File names by the link targets (titles and ids) that differ from them."""
    names: dict[str, str] = {}
    for note in notes:
        for called in (note.title, note.id):
            names.setdefault(called, files[note.id].name)
    return {called: name for called, name in names.items() if called != name}
