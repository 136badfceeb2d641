"""Notes that `anamnesis export jsonl` wrote: here, on another machine, or by somebody else."""

from __future__ import annotations

import json
from pathlib import Path

from anamnesis.capture.entries import read_lines
from anamnesis.errors import InvalidNote
from anamnesis.importers.frame import Importer
from anamnesis.importers.machine import Machine
from anamnesis.importers.record import Broken, Reading, Record
from anamnesis.notes.lines import from_value


def _find(_: Machine) -> list[Path]:
    return []


def _read(place: Path, _: Machine) -> Reading:
    for number, line in enumerate(read_lines(str(place)), start=1):
        if not line.strip():
            continue
        try:
            note = from_value(json.loads(line))
        except (ValueError, RecursionError, InvalidNote) as error:
            yield Broken(f"{place}, line {number:,}", str(error))
        else:
            yield Record(note.id, note.title, note.body, project=note.project, whole=note)


IMPORTER = Importer("jsonl", "Notes that were exported as JSON lines", _find, _read)
