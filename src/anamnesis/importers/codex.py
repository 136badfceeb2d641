"""Codex's memories: its handbook and summary by section, and one record per thread."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from anamnesis.capture.entries import moment
from anamnesis.importers.databases import Row, open_read_only, rows_of, tables_of
from anamnesis.importers.foreign_files import as_text, first_line, parts_of, text_in, written_at
from anamnesis.importers.foreign_record import ImportItems, Record, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.pipeline import Importer
from anamnesis.importers.rules import section_records
from anamnesis.notes.record import GLOBAL

_TABLE = "stage1_outputs"
_HANDBOOK = ("MEMORY.md", "memory_summary.md")
_RAW = "raw_memories.md"
_THREAD = re.compile(r"^thread_id:[ \t]*(\S+)", re.MULTILINE)
_CWD = re.compile(r"^cwd:[ \t]*(\S.*)", re.MULTILINE)
_KNOWN_FIELDS = ("thread_id", "raw_memory", "rollout_summary", "generated_at", "source_updated_at")


def _find(machine: Machine) -> list[Path]:
    home = machine.place("CODEX_HOME", ".codex")
    return [home] if (home / "memories").is_dir() or [*_databases(home)] else []


def _databases(home: Path) -> Iterator[Path]:
    for pattern in ("memories*.sqlite", "memories/memories*.sqlite", "state*.sqlite"):
        yield from sorted(home.glob(pattern))


def _read(place: Path, machine: Machine) -> ImportItems:
    if place.is_file():
        is_text = place.suffix == ".md"
        yield from section_records(place, machine, "semantic", GLOBAL) if is_text else _stored(place)
        return
    folder = place / "memories" if (place / "memories").is_dir() else place
    summaries = [_summary(path, machine) for path in sorted((folder / "rollout_summaries").glob("*.md"))]
    # The database does not name the folder of a thread.
    projects = {each.session: each.project for each in summaries if isinstance(each, Record)}
    threads: set[str] = set()
    for path in dict.fromkeys([*_databases(place), *_databases(folder)]):
        for record in _stored(path):
            if isinstance(record, Record):
                threads.add(record.session)
                record = replace(record, project=projects.get(record.session, ""))
            yield record
    for name in (*_HANDBOOK, *(() if threads else (_RAW,))):
        if (folder / name).is_file():
            yield from section_records(folder / name, machine, "semantic", GLOBAL)
    for summary in summaries:
        if isinstance(summary, Unreadable) or summary.session not in threads:
            yield summary


def _stored(path: Path) -> ImportItems:
    try:
        with open_read_only(path) as db:
            for row in rows_of(db, _TABLE) if _TABLE in tables_of(db) else ():
                yield row if isinstance(row, Unreadable) else _thread(row)
    except (sqlite3.Error, OSError) as error:
        yield Unreadable(str(path), str(error))


def _thread(row: Row) -> Record | Unreadable:
    thread = as_text(row.get("thread_id"))
    raw, summary = (as_text(row.get(name)).strip() for name in ("raw_memory", "rollout_summary"))
    if not thread or not (raw or summary):
        return Unreadable(f"the thread {thread or 'without an id'}", "It is empty.")
    time = moment(row.get("generated_at")) or moment(row.get("source_updated_at"))
    slug = as_text(row.get("rollout_slug")).replace("-", " ").replace("_", " ")
    return Record(
        key=f"thread/{thread}",
        title=slug or first_line(parts_of(summary or raw)[1]),
        body="\n\n".join(dict.fromkeys(filter(None, (summary, raw)))),
        type="episodic",
        created_at=time,
        updated_at=time,
        tags=["session"],
        session=thread,
        fields={
            name: value for name, value in row.items() if name not in _KNOWN_FIELDS and not isinstance(value, bytes)
        },
    )


def _summary(path: Path, machine: Machine) -> Record | Unreadable:
    text = text_in(path)
    if isinstance(text, Unreadable):
        return text
    thread, cwd = _THREAD.search(text), _CWD.search(text)
    name = path.stem.replace("-", " ").replace("_", " ")
    return Record(
        key=f"thread/{thread[1]}" if thread else machine.local_key(path),
        title=name,
        body=text,
        type="episodic",
        project=machine.project_named(cwd[1]) if cwd else GLOBAL,
        created_at=written_at(path),
        updated_at=written_at(path),
        tags=["session"],
        session=thread[1] if thread else "",
    )


IMPORTER = Importer("codex", "Codex's memories", _find, _read)
