"""OpenMemory's backup: a zip with all tables as JSON, and the memories again as JSON lines."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from anamnesis.capture.entries import Entry, decode_line, dict_of, dicts_of, text_of
from anamnesis.importers.archives import LimitedStream, downloads, members, values_in
from anamnesis.importers.foreign_files import as_list, as_text, first_line
from anamnesis.importers.foreign_record import ImportItem, ImportItems, Record, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.pipeline import Importer

_LINES, _TABLES = "memories.jsonl.gz", "memories.json"
_LONGEST_LINE = 8 << 20
_LARGEST = 1 << 30
# What a line counts at least: a zip of a billion empty ones is small.
_SHORTEST_LINE = 1024
_KNOWN_FIELDS = ("id", "content", "created_at", "updated_at", "categories", "category_ids", "metadata", "state")


def _find(machine: Machine) -> Iterator[Path]:
    return downloads(machine, lambda name: name == _LINES, b"\x1f\x8b")


def _read(place: Path, _: Machine) -> ImportItems:
    """The lines have category names, the tables only their ids. Both are read; the lines come first."""
    seen: set[str] = set()
    for wanted, read in ((_LINES, _lines), (_TABLES, _tables)):
        if place.is_file() and place.suffix != ".zip" and place.name.endswith(".gz") != (wanted == _LINES):
            continue
        for name, stream in members(place, lambda name, wanted=wanted: name == wanted, _LARGEST):  # type: ignore[misc]
            for memory in read(name, stream):
                if isinstance(memory, Unreadable):
                    yield memory
                elif as_text(memory.get("id")) not in seen:
                    seen.add(as_text(memory.get("id")))
                    yield from _memory(memory, name)


def _lines(name: str, stream: LimitedStream) -> Iterator[Entry | Unreadable]:
    try:
        yield from _unpacked(name, stream)
    except (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile) as error:
        yield Unreadable(name, f"{error}; what follows is not read.")


def _unpacked(name: str, stream: LimitedStream) -> Iterator[Entry | Unreadable]:
    read = 0
    with gzip.open(stream) as lines:
        number = 0
        while line := lines.readline(_LONGEST_LINE):
            number, read = number + 1, read + max(len(line), _SHORTEST_LINE)
            if read > _LARGEST:
                raise ValueError(f"{name} is too large.")
            if not line.isspace():
                yield decode_line(line) or Unreadable(f"{name}, line {number:,}", "It is not a JSON object.")


def _tables(name: str, stream: LimitedStream) -> Iterator[Entry | Unreadable]:
    for value in values_in(name, stream):
        if isinstance(value, Unreadable) or not isinstance(value, dict):
            yield value if isinstance(value, Unreadable) else Unreadable(name, "It is not a backup of OpenMemory.")
            continue
        names = {as_text(each.get("id")): as_text(each.get("name")) for each in dicts_of(value.get("categories"))}
        apps = {as_text(each.get("id")): as_text(each.get("name")) for each in dicts_of(value.get("apps"))}
        for memory in dicts_of(value.get("memories")):
            categories = [names.get(id, "") for id in as_list(memory.get("category_ids"))]
            yield {**memory, "categories": categories, "app": apps.get(as_text(memory.get("app_id")))}


def _memory(memory: Entry, place: str) -> Iterator[ImportItem]:
    id, content, state = (as_text(memory.get(name)).strip() for name in ("id", "content", "state"))
    if state == "deleted":
        return
    if not id or not content:
        yield Unreadable(f"{place}, memory {id or 'without an id'}", "It is empty or has no id.")
        return
    yield Record(
        key=id,
        title=first_line(content),
        body=content,
        created_at=text_of(memory, "created_at"),
        updated_at=text_of(memory, "updated_at") or text_of(memory, "created_at"),
        tags=[*as_list(memory.get("categories")), *([state] if state not in ("", "active") else [])],
        fields={
            **{name: value for name, value in memory.items() if name not in _KNOWN_FIELDS},
            **dict_of(memory, "metadata"),
        },
    )


IMPORTER = Importer("openmemory", "The memories of OpenMemory's backup", _find, _read)
