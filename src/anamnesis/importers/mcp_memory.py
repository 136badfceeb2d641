"""The memory server among the MCP reference servers: entities and relations, one JSON object a line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anamnesis.capture.entries import Entry, decode_line
from anamnesis.importers.foreign_files import as_list, as_text, json_in, lines_in, written_at
from anamnesis.importers.foreign_record import ImportItems, Record, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.pipeline import Importer

_VARIABLE = "MEMORY_FILE_PATH"
_NAMES = ("memory.jsonl", "memory.json")
# Agents' settings files, which may set the server's variable.
_SETTINGS = (
    (".claude.json",),
    (".cursor", "mcp.json"),
    (".gemini", "settings.json"),
    (".codeium", "windsurf", "mcp_config.json"),
    (".config", "Claude", "claude_desktop_config.json"),
    ("Library", "Application Support", "Claude", "claude_desktop_config.json"),
)
_SERVER = ("node_modules", "@modelcontextprotocol", "server-memory", "dist")
_KNOWN_FIELDS = ("type", "name", "entityType", "observations")


def _find(machine: Machine) -> Iterator[Path]:
    places = [machine.environ.get(_VARIABLE, "")]
    for parts in _SETTINGS:
        places += _named(json_in(machine.user_home.joinpath(*parts)))
    found = [Path(place) for place in places if place]
    for server in sorted((machine.user_home / ".npm" / "_npx").glob("*")):
        found += [server.joinpath(*_SERVER, name) for name in _NAMES]
    for path in dict.fromkeys(found):
        if path.is_absolute() and path.is_file():
            yield path


def _named(value: Any, depth: int = 0) -> list[str]:
    """The paths that settings give to such a server, at any depth."""
    if isinstance(value, list) and depth < 20:
        return [path for each in value for path in _named(each, depth + 1)]
    if not isinstance(value, dict) or depth >= 20:
        return []
    here = [value[_VARIABLE]] if isinstance(value.get(_VARIABLE), str) else []
    return [*here, *(path for each in value.values() for path in _named(each, depth + 1))]


def _read(place: Path, machine: Machine) -> ImportItems:
    entities: dict[str, Entry] = {}
    relations: dict[str, list[str]] = defaultdict(list)
    for found in lines_in(place):
        if isinstance(found, Unreadable):
            yield found
            continue
        number, line = found
        entry = decode_line(line)
        if entry is None:
            yield Unreadable(f"{place}, line {number:,}", "It is not a JSON object.")
        elif entry.get("type") == "entity" and as_text(entry.get("name")).strip():
            known = entities.setdefault(as_text(entry["name"]), {**entry, "observations": []})
            known["observations"] += as_list(entry.get("observations"))
        elif entry.get("type") == "relation" and as_text(entry.get("from")) and as_text(entry.get("to")):
            kind = as_text(entry.get("relationType")) or "relates to"
            relations[as_text(entry["from"])].append(f"- {kind} [[{as_text(entry['to'])}]]")
        else:
            yield Unreadable(f"{place}, line {number:,}", "It is neither an entity nor a relation.")
    time = written_at(place)
    for name, entity in entities.items():
        yield _record(name, entity, relations.pop(name, []), machine.local_key(place), time)
    for name, lines in relations.items():  # of entities that the file does not have
        yield _record(name, {}, lines, machine.local_key(place), time)


def _record(name: str, entity: Entry, relations: list[str], place: str, time: str) -> Record:
    observations = [f"- {' '.join(text.split())}" for text in dict.fromkeys(entity.get("observations", ()))]
    parts = ["\n".join(observations), "\n".join(dict.fromkeys(relations))]
    kind = as_text(entity.get("entityType"))
    return Record(
        # An entity has only its name, which may also occur in other files.
        key=f"{place}#{name}",
        title=name,
        body="\n\n".join(filter(None, parts)),
        created_at=time,
        updated_at=time,
        tags=[kind] if kind else [],
        fields={"entityType": kind, **{key: value for key, value in entity.items() if key not in _KNOWN_FIELDS}},
    )


IMPORTER = Importer("mcp-memory", "The entities of the MCP reference memory server", _find, _read)
