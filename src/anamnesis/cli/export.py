"""`anamnesis export`: writes notes for other programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json, filters, open_store
from anamnesis.cli.output import print_json
from anamnesis.disk import write_atomically
from anamnesis.errors import Unwritable
from anamnesis.exporters import chosen
from anamnesis.notes import Memory
from anamnesis.plural import counted

_FORMATS = ("jsonl", "obsidian", "portable-ai-memory", "engram")


@click.command()
@click.argument("form", type=click.Choice(_FORMATS), metavar="FORMAT")
@click.argument("path", type=click.Path(path_type=Path), metavar="PATH")
@filters
@as_json
def command(form: str, path: Path, as_json: bool, **wanted: Any) -> None:
    """Export all notes, or those that match the filters, to a file, or to a folder for Obsidian.

    \b
    jsonl               every field of each note, a note per line; `anamnesis import jsonl` reads it
    obsidian            a folder: file names from titles, working links. `anamnesis import markdown PATH`
                        imports the edits that were made there; an edited file is not overwritten
    portable-ai-memory  its interchange format, version 1.0
    engram              the format of `engram import`. It has no scope, so machine-local notes are left out

    JSON: {"exported", "path", "left_out" if any}; for obsidian {"written", "unchanged", "edited", "path"}
    """
    with open_store(only_to_read=form != "obsidian") as store:
        notes = chosen(store, **wanted)
        try:
            if form == "obsidian":
                from anamnesis.exporters.obsidian import export_obsidian

                counts = asdict(export_obsidian(store.root, notes, path))
            else:
                whole = [*notes]
                kept = [note for note in whole if form != "engram" or note.scope == "portable"]
                left_out = len(whole) - len(kept)
                counts = {"exported": _write(form, kept, path), **({"left_out": left_out} if left_out else {})}
        except OSError as error:
            raise Unwritable(f"{path} cannot be written: {error.strerror or error}.") from error
    if as_json:
        print_json({**counts, "path": str(path)})
    elif form == "obsidian":
        click.echo(
            f"{counts['written']} written, {counts['unchanged']} unchanged, {counts['edited']} not overwritten, as they"
            " were edited there."
        )
    else:
        click.echo(f"Exported {counted(counts['exported'], 'note')} to {path}.")
    if "left_out" in counts:
        click.echo(f"Left out, as machine-local: {counted(counts['left_out'], 'note')}.", err=True)


def _write(form: str, notes: list[Memory], path: Path) -> int:
    """Write one file atomically; a pipe or a device is written directly."""
    data = _data(form, notes)
    if path.exists() and not path.is_file():
        path.write_bytes(data)
    else:
        write_atomically(path.resolve(), data, mode=0o600)
    return len(notes)


def _data(form: str, notes: list[Memory]) -> bytes:
    from anamnesis.store.ids import utcnow

    if form == "engram":
        from anamnesis.exporters.engram import engram_export

        return engram_export(notes, utcnow())
    if form == "portable-ai-memory":
        from anamnesis.exporters.portable import portable_store

        document = portable_store(notes, settings().user, utcnow())
        return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")
    from anamnesis.notes.lines import as_line

    return "".join(f"{as_line(note)}\n" for note in notes).encode("utf-8", "replace")
