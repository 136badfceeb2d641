"""claude-mem: observations and session summaries in SQLite. Versions have different columns; any may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from anamnesis.bridge.mapping import note_type
from anamnesis.capture.entries import moment
from anamnesis.importers.databases import Row, open_read_only, rows_of, tables_of
from anamnesis.importers.foreign_files import as_list, as_text, first_line
from anamnesis.importers.foreign_record import ImportItems, Record, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.pipeline import Importer

_DATABASE = "claude-mem.db"
_SUMMARY = {
    "request": "Ask",
    "investigated": "Investigated",
    "learned": "Learned",
    "completed": "Completed",
    "next_steps": "Next steps",
    "notes": "Notes",
}
# Columns that have a place in the note; all others become foreign fields.
_KNOWN_FIELDS = {
    *("id", "memory_session_id", "sdk_session_id", "project", "merged_into_project", "title", "subtitle", "text"),
    *("narrative", "facts", "concepts", "type", "created_at", "created_at_epoch", *_SUMMARY),
}


def _find(machine: Machine) -> list[Path]:
    path = machine.place("CLAUDE_MEM_DATA_DIR", ".claude-mem") / _DATABASE
    return [path] if path.is_file() else []


def _read(place: Path, machine: Machine) -> ImportItems:
    path = place / _DATABASE if place.is_dir() else place
    with open_read_only(path) as db:
        tables = tables_of(db)
        if not tables & {"observations", "session_summaries"}:
            yield Unreadable(str(path), "It has no table of claude-mem.")
        sessions: dict[str, Row] = {}
        for row in rows_of(db, "sdk_sessions") if "sdk_sessions" in tables else ():
            if isinstance(row, Unreadable):
                yield row
            else:
                sessions[_session(row)] = row
        for table, read in (("observations", _observation), ("session_summaries", _summary)):
            for row in rows_of(db, table) if table in tables else ():
                yield row if isinstance(row, Unreadable) else read(row, sessions, machine)


def _observation(row: Row, sessions: Mapping[str, Row], machine: Machine) -> Record | Unreadable:
    facts = [f"- {fact}" for fact in as_list(row.get("facts"))]
    files = as_list(row.get("files_modified"))
    parts = [as_text(row.get(name)).strip() for name in ("subtitle", "narrative", "text")]
    parts += ["\n".join(facts), "\n".join(["**Files modified:**", *(f"- {path}" for path in files)]) if files else ""]
    body = "\n\n".join(dict.fromkeys(filter(None, parts)))
    kind = as_text(row.get("type"))
    return _record(row, "observation", as_text(row.get("title")), body, note_type(kind), sessions, machine)


def _summary(row: Row, sessions: Mapping[str, Row], machine: Machine) -> Record | Unreadable:
    said = {label: as_text(row.get(name)).strip() for name, label in _SUMMARY.items()}
    body = "\n\n".join(f"**{label}:** {text}" for label, text in said.items() if text)
    title = as_text(sessions.get(_session(row), {}).get("custom_title")) or first_line(said["Ask"])
    return _record(row, "summary", title, body, "episodic", sessions, machine)


def _record(
    row: Row, kind: str, title: str, body: str, type: str, sessions: Mapping[str, Row], machine: Machine
) -> Record | Unreadable:
    own = _session(row)
    session = sessions.get(own, {})
    name = f"{kind}/{own}/{as_text(row.get('id'))}"
    if not body and not title.strip():
        return Unreadable(name, "It is empty.")
    concepts = as_list(row.get("concepts"))
    project = as_text(row.get("merged_into_project") or row.get("project") or session.get("project"))
    created = moment(row.get("created_at_epoch")) or as_text(row.get("created_at"))
    others = {name: value for name, value in row.items() if name not in _KNOWN_FIELDS and not isinstance(value, bytes)}
    lists = {name: as_list(row.get(name)) for name in ("files_read", "files_modified") if row.get(name)}
    return Record(
        key=name,
        title=title or first_line(body),
        body=body,
        type=type,
        project=machine.project_named(project),
        created_at=created,
        updated_at=created,
        tags=["session", *concepts] if kind == "summary" else concepts,
        session=as_text(session.get("content_session_id") or session.get("claude_session_id")) or own,
        fields={"type": as_text(row.get("type")), **others, **lists, "platform": session.get("platform_source")},
    )


def _session(row: Row) -> str:
    return as_text(row.get("memory_session_id") or row.get("sdk_session_id"))


IMPORTER = Importer("claude-mem", "claude-mem's observations and summaries", _find, _read)
