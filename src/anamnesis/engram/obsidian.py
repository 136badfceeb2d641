"""Exports observations to an Obsidian vault, below `engram/`: a note for each, hubs for sessions and topics.

The vault is never read back: changes to these notes are overwritten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anamnesis.disk import write_atomically
from anamnesis.engram.gotext import quote
from anamnesis.engram.record import Export, Observation
from anamnesis.engram.strings import to_lower, valid
from anamnesis.errors import StoreUnavailable
from anamnesis.working_tree import RefusedPath, make_folder, read_file

GRAPH_MODES = ("preserve", "force", "skip")
_STATE = ".engram-sync-state.json"
_MOST_STATE = 32 << 20
_MOST_SLUG = 60
_NO_SLUG = re.compile("[^a-z0-9]+")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./ -]*(?<! )")
_NOT_TEXT = re.compile("true|false|null|yes|no|on|off|y|n", re.IGNORECASE)
_COLOURS = {
    "architecture": 0x4E79A7,
    "bugfix": 0xE15759,
    "decision": 0xF28E2B,
    "pattern": 0x59A14F,
    "session": 0x9C755F,
    "topic": 0xB07AA1,
}


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """Selects the observations to export: of a project or all, changed since a time, at most `limit` newest ones."""

    project: str = ""
    since: str = ""
    limit: int = 0


@dataclass(slots=True)
class ExportCounts:
    """The numbers of notes and hubs that an export wrote, and its errors."""

    created: int = 0
    updated: int = 0
    deleted: int = 0
    skipped: int = 0
    hubs: int = 0
    errors: list[str] = field(default_factory=list)


def export(everything: Export, vault: Path, choice: ExportFilter, *, force: bool, graph: str) -> ExportCounts:
    """Update the vault. `force` ignores earlier exports; `graph` tells whether to write the graph's colours."""
    root = vault / "engram"
    try:
        for folder in ("engram/_sessions", "engram/_topics"):
            make_folder(vault, folder)
        _write_graph(vault, graph)
        state = {} if force else _state(root)
    except OSError as error:
        raise StoreUnavailable(f"Cannot write {vault}: {error.strerror}.") from error
    result = ExportCounts()
    tracked = {str(id): str(path) for id, path in dict(state.get("files") or {}).items()}
    _remove_gone(root, everything.observations, tracked, result)
    chosen = _chosen(everything.observations, choice)
    for observation in chosen:
        _write_note(root, observation, tracked, result)
    kept = {
        "last_export_at": everything.exported_at.replace(" ", "T") + "Z",
        "files": tracked,
        "session_hubs": _write_session_hubs(root, chosen, result),
        "topic_hubs": _write_topic_hubs(root, chosen, result),
        "version": 1,
    }
    write_atomically(root / _STATE, json.dumps(kept, ensure_ascii=False, indent=2).encode("utf-8", "replace"))
    return result


def _chosen(observations: Iterable[Observation], choice: ExportFilter) -> list[Observation]:
    found = [
        each
        for each in observations
        if each.deleted_at is None
        and (not choice.project or each.project == choice.project)
        and each.updated_at >= choice.since
    ]
    if choice.limit > 0:
        newest = sorted(found, key=lambda each: (each.updated_at, each.id))[-choice.limit :]
        found = sorted(newest, key=lambda each: each.id)
    return found


def _remove_gone(
    root: Path, observations: Iterable[Observation], tracked: dict[str, str], result: ExportCounts
) -> None:
    """Remove the notes of deleted observations."""
    alive = {str(each.id) for each in observations if each.deleted_at is None}
    for id in [id for id in tracked if id not in alive]:
        _remove(root, tracked.pop(id), result)


def _remove(root: Path, relative: str, result: ExportCounts) -> None:
    path = root / relative
    # The state file is in the vault, where anybody may have changed it.
    if not path.resolve().is_relative_to(root.resolve()):
        result.errors.append(f"{relative} is not in {root}: not removed")
        return
    try:
        path.unlink(missing_ok=True)
        result.deleted += 1
    except OSError as error:
        result.errors.append(f"delete {path}: {error.strerror}")


def _write_note(root: Path, observation: Observation, tracked: dict[str, str], result: ExportCounts) -> None:
    id = str(observation.id)
    folder = f"{_component(observation.project or 'unknown')}/{_component(observation.type)}"
    relative = f"{folder}/{slug(observation)}.md"
    data = note(observation).encode("utf-8", "replace")
    path = root / relative
    try:
        known = _known(root, relative, len(data))
        if known != data:
            make_folder(root, folder)
            write_atomically(path, data, mode=0o644)
    except (OSError, RefusedPath) as error:
        result.errors.append(f"write {path}: {error.message if isinstance(error, RefusedPath) else error.strerror}")
        return
    if known == data:
        result.skipped += 1
    elif known is None and id not in tracked:
        result.created += 1
    else:
        result.updated += 1
    if tracked.get(id, relative) != relative:
        _remove(root, tracked[id], ExportCounts())
    tracked[id] = relative


def note(observation: Observation) -> str:
    """An observation as a note."""
    project, topic = observation.project or "", observation.topic_key or ""
    lines = [
        "---",
        f"id: {observation.id}",
        f"type: {_scalar(observation.type)}",
        f"project: {_scalar(project)}",
        f"scope: {_scalar(observation.scope)}",
        f"topic_key: {_scalar(topic)}",
        f"session_id: {_scalar(observation.session_id)}",
        f"created_at: {quote(observation.created_at)}",
        f"updated_at: {quote(observation.updated_at)}",
        f"revision_count: {observation.revision_count}",
        "tags:",
        *(f"  - {_scalar(tag)}" for tag in (project, observation.type) if tag),
        "aliases:",
        f"  - {quote(observation.title)}",
        "---",
        "",
        f"# {observation.title}",
        "",
        observation.content,
        "",
        "---",
        f"*Session*: [[session-{observation.session_id}]]",
        *([f"*Topic*: [[topic-{_topic(topic).replace('/', '--')}]]"] if topic else []),
        "",
    ]
    return valid("\n".join(lines))


def slug(observation: Observation) -> str:
    """The file name of a note: words of the title, and the id, which makes it unique."""
    words = _NO_SLUG.sub("-", to_lower(observation.title)).strip("-")[:_MOST_SLUG].rstrip("-")
    return f"{words or 'observation'}-{observation.id}"


def _write_session_hubs(root: Path, chosen: Sequence[Observation], result: ExportCounts) -> dict[str, str]:
    hubs = {}
    for id, members in _grouped((each.session_id, each) for each in chosen).items():
        lines = ["type: session-hub", f"session_id: {_scalar(id)}", "tags:", "  - session"]
        links = [f"- [[{slug(each)}]]" for each in members]
        hubs[id] = _write_hub(root, f"_sessions/{_component(id)}.md", lines, f"Session: {id}", "Observations", links)
    result.hubs += len(hubs)
    return hubs


def _write_topic_hubs(root: Path, chosen: Sequence[Observation], result: ExportCounts) -> dict[str, str]:
    hubs = {}
    grouped = _grouped((_topic(each.topic_key), each) for each in chosen if each.topic_key)
    for topic, members in grouped.items():
        if len(members) > 1:
            lines = ["type: topic-hub", f"topic_prefix: {_scalar(topic)}", "tags:", "  - topic"]
            links = [f"- [[{slug(each)}]] ({each.type})" for each in members]
            place = f"_topics/{_component(topic.replace('/', '--'))}.md"
            hubs[topic] = _write_hub(root, place, lines, f"Topic: {topic}", "Related Observations", links)
    result.hubs += len(hubs)
    return hubs


def _write_hub(root: Path, relative: str, front: list[str], title: str, heading: str, links: list[str]) -> str:
    text = "\n".join(["---", *front, "---", "", f"# {title}", "", f"## {heading}", *links, ""])
    data = valid(text).encode("utf-8", "replace")
    if _known(root, relative, len(data)) != data:
        write_atomically(root / relative, data, mode=0o644)
    return relative


def _known(root: Path, relative: str, most: int) -> bytes | None:
    """The content of a file in the vault; empty if it is longer or not a regular file, so that it is replaced."""
    try:
        return read_file(root, relative, most)
    except RefusedPath:
        return b""


def _grouped(pairs: Iterable[tuple[str, Observation]]) -> dict[str, list[Observation]]:
    groups: dict[str, list[Observation]] = {}
    for key, observation in pairs:
        groups.setdefault(key, []).append(observation)
    return groups


def _topic(key: str) -> str:
    """The prefix that related topics share."""
    return key.rpartition("/")[0] or key


def _component(name: str) -> str:
    """A name made safe as one file or folder name."""
    return re.sub(r'[/\\:*?"<>|\0]|^\.+|[\x00-\x1f]', "_", valid(name)).strip(" .")[:120] or "_"


def _scalar(value: str) -> str:
    """A text in YAML, quoted only where it would be read as another type."""
    return value if _PLAIN.fullmatch(value) and not _NOT_TEXT.fullmatch(value) else quote(value)


def _state(root: Path) -> dict[str, Any]:
    """The state of earlier exports. An unreadable file counts as empty, because every note is compared anyway."""
    try:
        state = json.loads(read_file(root, _STATE, _MOST_STATE) or b"{}")
    except (RefusedPath, ValueError, RecursionError):
        return {}
    return state if isinstance(state, dict) and isinstance(state.get("files"), dict | None) else {}


def _write_graph(vault: Path, mode: str) -> None:
    """Write colours for the kinds of notes in Obsidian's graph."""
    path = vault / ".obsidian" / "graph.json"
    if mode == "skip" or (mode == "preserve" and path.exists()):
        return
    groups = [{"query": f"tag:#{tag}", "color": {"a": 1, "rgb": colour}} for tag, colour in _COLOURS.items()]
    make_folder(vault, ".obsidian")
    write_atomically(path, json.dumps({"colorGroups": groups}, indent=2).encode())
