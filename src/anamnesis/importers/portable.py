"""Portable AI Memory: one JSON document with memories, and relations between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from anamnesis.capture.entries import Entry, dict_of, dicts_of, text_of
from anamnesis.importers.archives import downloads, members, values_in
from anamnesis.importers.foreign_files import as_list, as_text, first_line
from anamnesis.importers.foreign_record import ImportItems, Record, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.pipeline import Importer
from anamnesis.notes import TYPES, Memory
from anamnesis.notes.lines import from_value

NAME, VERSION = "portable-ai-memory", "1.0"
FILE = "memory-store.json"
_PROCEDURAL = ("skill", "instruction")
_KNOWN_FIELDS = {"id", "content", "content_hash", "summary", "tags", "temporal", "metadata", "embedding_ref"}
_LARGEST = 256 << 20


def _find(machine: Machine) -> Iterator[Path]:
    return downloads(machine, lambda name: name == FILE, NAME.encode())


def _read(place: Path, machine: Machine) -> ImportItems:
    for name, stream in members(place, lambda name: name == FILE, _LARGEST):
        for value in values_in(name, stream):
            if isinstance(value, Unreadable):
                yield value
            elif not isinstance(value, dict) or not isinstance(value.get("memories"), list):
                yield Unreadable(name, "It is not a store of Portable AI Memory.")
            else:
                yield from _store(value, name, machine)


def _store(value: Entry, name: str, machine: Machine) -> ImportItems:
    owner = text_of(dict_of(value, "owner"), "id")
    memories = value["memories"]
    titles = {as_text(each.get("id")): _title(each) for each in dicts_of(memories)}
    links: dict[str, list[str]] = defaultdict(list)
    for relation in dicts_of(value.get("relations")):
        target = as_text(relation.get("to"))
        kind = as_text(relation.get("type")).replace("_", " ")
        links[as_text(relation.get("from"))].append(f"- {kind} [[{titles.get(target, target)}]]")
    for number, memory in enumerate(memories, start=1):
        id = as_text(memory.get("id")) if isinstance(memory, dict) else ""
        if not id or not isinstance(memory.get("content"), str) or not memory["content"].strip():
            yield Unreadable(f"{name}, memory {id or f'{number:,}'}", "It has no id or no content.")
        else:
            yield _record(memory, f"{owner}/{id}", links.get(id, []), machine)


def _record(memory: Entry, key: str, links: list[str], machine: Machine) -> Record:
    times, metadata, provenance = (dict_of(memory, name) for name in ("temporal", "metadata", "provenance"))
    kind, status = text_of(memory, "type"), text_of(memory, "status")
    custom, project = text_of(memory, "custom_type"), text_of(metadata, "project")
    created = text_of(times, "created_at")
    return Record(
        key=key,
        title=_title(memory),
        body="\n\n".join(filter(None, (memory["content"], "\n".join(dict.fromkeys(links))))),
        type=custom if custom in TYPES else "procedural" if kind in _PROCEDURAL else "semantic",
        project=project if "/" in project else machine.project_named(project),
        created_at=created,
        updated_at=text_of(times, "updated_at") or created,
        tags=[*as_list(memory.get("tags")), *([status] if status not in ("", "active") else [])],
        session=text_of(provenance, "conversation_ref"),
        fields={
            **{name: value for name, value in memory.items() if name not in _KNOWN_FIELDS},
            **{name: value for name, value in times.items() if name not in ("created_at", "updated_at")},
            **{name: value for name, value in metadata.items() if name not in ("title", "project", "anamnesis")},
        },
        whole=_note(memory),
    )


def _note(memory: Entry) -> Memory | None:
    """The original note of a memory that we exported; None for others."""
    ours = dict_of(dict_of(memory, "metadata"), "anamnesis")
    body = memory["content"] if ours.get("body") is None else ours["body"]
    try:
        return from_value({**ours, "body": body, "confidence": float(ours.get("confidence", 1))}) if ours else None
    except (ValueError, TypeError):
        return None


def _title(memory: Entry) -> str:
    given = text_of(dict_of(memory, "metadata"), "title") or text_of(memory, "summary")
    return given or first_line(text_of(memory, "content"))


IMPORTER = Importer(NAME, "Portable AI Memory's interchange format", _find, _read)
