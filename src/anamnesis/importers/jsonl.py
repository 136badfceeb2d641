"""Notes in the format of `anamnesis export jsonl`, from any machine or person."""

from __future__ import annotations

import json
from pathlib import Path

from anamnesis.errors import InvalidNote
from anamnesis.importers.foreign_files import lines_in
from anamnesis.importers.foreign_record import ImportItems, Record, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.pipeline import Importer
from anamnesis.notes.lines import from_value


def _find(_: Machine) -> list[Path]:
    return []


def _read(place: Path, _: Machine) -> ImportItems:
    for found in lines_in(place):
        if isinstance(found, Unreadable):
            yield found
            continue
        number, line = found
        try:
            note = from_value(json.loads(line))
        except (ValueError, RecursionError, InvalidNote) as error:
            yield Unreadable(f"{place}, line {number:,}", str(error))
        else:
            yield Record(note.id, note.title, note.body, project=note.project, whole=note)


IMPORTER = Importer("jsonl", "Notes that were exported as JSON lines", _find, _read)
