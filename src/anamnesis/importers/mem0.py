"""mem0's history of changes: the last change of each memory is its current text."""

from __future__ import annotations

from pathlib import Path

from anamnesis.capture.entries import moment
from anamnesis.importers.databases import Row, open_read_only, rows_of, tables_of
from anamnesis.importers.foreign_files import as_text, first_line
from anamnesis.importers.foreign_record import ImportItems, Record, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.pipeline import Importer

_DATABASE, _TABLE = "history.db", "history"
_KNOWN_FIELDS = ("id", "memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "is_deleted")


def _find(machine: Machine) -> list[Path]:
    path = machine.place("MEM0_DIR", ".mem0") / _DATABASE
    return [path] if path.is_file() else []


def _read(place: Path, _: Machine) -> ImportItems:
    path = place / _DATABASE if place.is_dir() else place
    first: dict[str, Row] = {}
    last: dict[str, Row] = {}
    with open_read_only(path) as db:
        if _TABLE not in tables_of(db):
            yield Unreadable(str(path), "It has no table of mem0's history.")
            return
        for row in rows_of(db, _TABLE):
            if isinstance(row, Unreadable):
                yield row
            elif name := as_text(row.get("memory_id")):
                first.setdefault(name, row)
                last[name] = row  # the rows are in the order in which they were written
            else:
                yield Unreadable(f"the change {as_text(row.get('id'))}", "It has no memory id.")
    for name, row in last.items():
        text = as_text(row.get("new_memory")).strip()
        if row.get("is_deleted") in (1, "1") or as_text(row.get("event")).upper() == "DELETE":
            continue
        if not text:
            yield Unreadable(f"the memory {name}", "It is empty.")
            continue
        time = _time(row, "updated_at") or _time(row, "created_at")
        yield Record(
            key=name,
            title=first_line(text),
            body=text,
            created_at=_time(first[name], "created_at") or time,
            updated_at=time,
            fields={
                key: value for key, value in row.items() if key not in _KNOWN_FIELDS and not isinstance(value, bytes)
            },
        )


def _time(row: Row, name: str) -> str:
    return moment(row.get(name))


IMPORTER = Importer("mem0", "mem0's memories, by their history", _find, _read)
