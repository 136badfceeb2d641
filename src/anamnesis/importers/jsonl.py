"""Notes that `anamnesis export jsonl` wrote: here, on another machine, or by somebody else."""

from __future__ import annotations

import json
from pathlib import Path

from anamnesis.errors import InvalidNote
from anamnesis.importers.frame import Importer
from anamnesis.importers.machine import Machine
from anamnesis.importers.reading import lines_in
from anamnesis.importers.record import Broken, Reading, Record
from anamnesis.notes.lines import from_value


def _find(_: Machine) -> list[Path]:
    return []


def _read(place: Path, _: Machine) -> Reading:
    for found in lines_in(place):
        if isinstance(found, Broken):
            yield found
            continue
        number, line = found
        try:
            note = from_value(json.loads(line))
        except (ValueError, RecursionError, InvalidNote) as error:
            yield Broken(f"{place}, line {number:,}", str(error))
        else:
            yield Record(note.id, note.title, note.body, project=note.project, whole=note)


IMPORTER = Importer("jsonl", "Notes that were exported as JSON lines", _find, _read)
