"""Folders of markdown, such as Obsidian vaults. Each file is a record; links and tags stay in its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from anamnesis.errors import InvalidNote
from anamnesis.importers.foreign_files import (
    as_list,
    as_text,
    exact_text_in,
    files_under,
    json_in,
    parts_of,
    text_in,
    written_at,
)
from anamnesis.importers.foreign_record import ImportItems, Record, Unreadable
from anamnesis.importers.import_ledger import ImportLedger
from anamnesis.importers.machine import Machine
from anamnesis.importers.pipeline import Importer
from anamnesis.notes import TYPES, parse
from anamnesis.notes.bare import bare_note
from anamnesis.notes.record import GLOBAL

_VAULTS = (
    (".config", "obsidian"),
    ("Library", "Application Support", "obsidian"),
    ("AppData", "Roaming", "obsidian"),
    (".var", "app", "md.obsidian.Obsidian", "config", "obsidian"),
)
_TAG = re.compile(r"(?<![\w/#&])#([A-Za-z][\w/-]*)")
_LINK = re.compile(r"\[\[([^\[\]|\n]{1,300})(?:\|([^\[\]|\n]{1,300}))?\]\]")
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_CREATED = ("created", "created_at", "date created", "date")
_MODIFIED = ("modified", "updated", "updated_at", "date modified", "last_modified")
_KNOWN_FIELDS = {"title", "tags", "tag", *_CREATED, *_MODIFIED}


def _find(machine: Machine) -> Iterator[Path]:
    """The vaults that Obsidian knows."""
    for parts in _VAULTS:
        found = json_in(machine.user_home.joinpath(*parts, "obsidian.json"))
        vaults = found.get("vaults") if isinstance(found, dict) else None
        for vault in vaults.values() if isinstance(vaults, dict) else ():
            path = Path(as_text(vault.get("path") if isinstance(vault, dict) else ""))
            if path.is_absolute() and path.is_dir():
                yield path


def _read(place: Path, machine: Machine) -> ImportItems:
    exported = exported_files(place, ImportLedger(machine.home, place).ids)
    called = link_targets(exported.values())
    for path in files_under(place, ".md", ".markdown"):
        if found := exported.get(path):
            yield edited_record(path, found.id, called)
        else:
            yield file_record(path, place, key=machine.local_key(path))


class ExportedFile(NamedTuple):
    """A file that was exported from here: its note's id, its name, and the note's title."""

    id: str
    name: str
    title: str


class LinkTarget(NamedTuple):
    """How notes link to a note: by its title, or by its id if an earlier note has the same title."""

    id: str
    link: str


def exported_files(place: Path, ids: Iterable[str]) -> dict[Path, ExportedFile]:
    """The files in a folder that contain notes with these ids; of two with one id, the first."""
    wanted, found = {*ids}, {}
    for path in files_under(place, ".md") if wanted and place.is_dir() else ():
        text = exact_text_in(path)
        meta = {} if isinstance(text, Unreadable) else parts_of(text.replace("\r\n", "\n"))[0]
        id = as_text(meta.get("id"))
        if id in wanted:
            wanted.remove(id)
            found[path] = ExportedFile(id, path.stem, as_text(meta.get("title")))
    return found


def link_targets(exported: Iterable[ExportedFile]) -> dict[str, LinkTarget]:
    """The link targets of exported notes, by file name."""
    files = sorted(exported)
    firsts = {each.title: each.id for each in reversed(files)}
    return {each.name: LinkTarget(each.id, each.title if each.id == firsts[each.title] else each.id) for each in files}


def edited_record(path: Path, note_id: str, called: Mapping[str, LinkTarget]) -> Record | Unreadable:
    """An exported file as it is now, with its links translated back."""
    text = exact_text_in(path)
    if isinstance(text, Unreadable):
        return text
    try:
        note = parse(text)
    except InvalidNote:  # no longer a valid note: only these fields are read
        meta, body = parts_of(text.replace("\r\n", "\n"))
        title, tags = as_text(meta.get("title")), as_list(meta.get("tags"))
        return Record(note_id, title, with_titles(body, called).removesuffix("\n"), tags=tags, note_id=note_id)
    return Record(note_id, note.title, with_titles(note.body, called), tags=note.tags, note_id=note_id, whole=note)


def with_names(body: str, names: Mapping[str, str]) -> str:
    """A text with links to file names instead of titles: `[[Why?]]` becomes `[[Why|Why?]]`."""

    def link(found: re.Match[str]) -> str:
        for target, place in _parts(found[1]):
            if name := names.get(target):
                return f"[[{name}{place}|{found[2] or found[1]}]]"
        return found[0]

    return _LINK.sub(link, body)


def with_titles(body: str, called: Mapping[str, LinkTarget]) -> str:
    """A text with links to notes instead of file names: the inverse of `with_names`."""

    def link(found: re.Match[str]) -> str:
        for name, place in _parts(found[1]):
            if (note := called.get(name)) is None:
                continue
            usual = f"{note.link}{place}"
            if found[2] in (usual, f"{note.id}{place}") and (name != note.link or found[2] != usual):
                return f"[[{found[2]}]]"
            return f"[[{usual}|{found[2]}]]" if found[2] else f"[[{usual}]]"
        return found[0]

    return _LINK.sub(link, body)


def _parts(target: str) -> list[tuple[str, str]]:
    """The possible targets of a link, each with its anchor: a title may contain `#` too."""
    name, mark, place = target.partition("#")
    return [(target, ""), *([(name, mark + place)] if mark else [])]


def file_record(path: Path, root: Path, *, key: str, project: str = GLOBAL) -> Record | Unreadable:
    """A markdown file as a record, from its front matter, the tags in its text and the file's time."""
    text = text_in(path)
    if isinstance(text, Unreadable):
        return text
    meta, body = parts_of(text)
    if not text.strip():
        return Unreadable(str(path), "It is empty.")
    kind = as_text(meta.get("type"))
    modified = first_of(meta, _MODIFIED) or written_at(path)
    return Record(
        key=key,
        title=as_text(meta.get("title")) or bare_note(body, path.name, "x", "", "").title,
        body=body,
        type=kind if kind in TYPES else "semantic",
        project=as_text(meta.get("project")) or project,
        created_at=first_of(meta, _CREATED) or modified,
        updated_at=modified,
        tags=list(dict.fromkeys([*as_list(meta.get("tags") or meta.get("tag")), *tags_in(body)])),
        fields={
            "path": path_in(path, root),
            **{as_text(name): value for name, value in meta.items() if name not in _KNOWN_FIELDS},
        },
    )


def path_in(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path != root else path.name


def first_of(meta: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((as_text(meta[name]) for name in names if meta.get(name)), "")


def tags_in(body: str) -> list[str]:
    """The tags in a text, without those in code."""
    return _TAG.findall(_CODE.sub(" ", body))


IMPORTER = Importer("markdown", "Markdown files of Obsidian's vaults, or of any folder", _find, _read)
