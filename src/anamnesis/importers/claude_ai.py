"""Claude.ai's export: conversations, the memory of the account, and the instructions and documents of its projects."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from anamnesis.capture.entries import Entry, dict_of, dicts_of, text_of, texts_of
from anamnesis.importers.archives import downloads, members, values_in
from anamnesis.importers.conversations import Message, episode
from anamnesis.importers.foreign_files import as_text
from anamnesis.importers.foreign_record import ImportItem, ImportItems, Record, SkippedConversation, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.pipeline import Importer

_PROJECTS = "projects.json"
_CONVERSATIONS = re.compile(r"conversations(?:-\d+)?\.json")
_FILE = re.compile(r"(?:conversations(?:-\d+)?|memories|projects)\.json")


def _is_wanted(name: str) -> bool:
    return bool(_FILE.fullmatch(name))


def _find(machine: Machine) -> Iterator[Path]:
    return downloads(machine, lambda name: bool(_CONVERSATIONS.fullmatch(name)), b'"chat_messages"')


def _read(place: Path, machine: Machine) -> ImportItems:
    projects = _project_names(place)
    for name, stream in members(place, _is_wanted):
        for number, value in enumerate(values_in(name, stream), start=1):
            if isinstance(value, Unreadable):
                yield value
                continue
            read = [*_read_value(value, projects, machine)] if isinstance(value, dict) else []
            yield from read or [Unreadable(f"{name}, element {number:,}", "It is not part of an export of Claude.ai.")]


def _project_names(place: Path) -> dict[str, str]:
    """Project names by id; the account's memory contains only the ids."""
    return {
        as_text(value.get("uuid")): as_text(value.get("name"))
        for name, stream in members(place, _PROJECTS.__eq__)
        if name.endswith(_PROJECTS)  # a single file is yielded under any name
        for value in values_in(name, stream)
        if isinstance(value, dict)
    }


def _read_value(value: Entry, projects: Mapping[str, str], machine: Machine) -> Iterator[ImportItem]:
    if isinstance(value.get("chat_messages"), list):
        yield _conversation(value)
    elif "conversations_memory" in value or "project_memories" in value:
        yield from _memories(value, projects, machine)
    elif "prompt_template" in value or "docs" in value:
        yield from _project(value, machine)


def _conversation(value: Entry) -> Record | SkippedConversation:
    named = f"{as_text(value.get('name'))}\n{as_text(value.get('created_at'))}".encode("utf-8", "replace")
    messages = [
        Message(message.get("sender") == "human", _texts(message), text_of(message, "created_at"))
        for message in dicts_of(value["chat_messages"])
    ]
    return episode(
        text_of(value, "uuid") or hashlib.sha256(named).hexdigest()[:32],
        messages,
        title=as_text(value.get("name")),
        created_at=text_of(value, "created_at"),
        updated_at=text_of(value, "updated_at"),
        fields={"summary": text_of(value, "summary")},
    )


def _texts(message: Entry) -> list[str]:
    """The texts of a message, without thoughts and tool calls."""
    return texts_of(message.get("content")) or [text for text in [text_of(message, "text").strip()] if text]


def _memories(value: Entry, projects: Mapping[str, str], machine: Machine) -> Iterator[ImportItem]:
    """Claude.ai's memory of all conversations, and of each project."""
    account = as_text(value.get("account_uuid")) or "account"
    overall, title = value.get("conversations_memory"), "What Claude.ai remembers"
    if isinstance(overall, str) and overall.strip():
        yield Record(f"memory/{account}/conversations", title, overall)
    for uuid, text in dict_of(value, "project_memories").items():
        name = projects.get(uuid, "")
        if isinstance(text, str) and text.strip():
            of_project = f"{title} of the project {name or uuid}"
            yield Record(f"memory/{account}/{uuid}", of_project, text, project=machine.project_named(name))
        else:
            yield Unreadable(f"the memory of the project {name or uuid}", "It is empty.")


def _project(value: Entry, machine: Machine) -> Iterator[ImportItem]:
    name, uuid = as_text(value.get("name")), as_text(value.get("uuid"))
    began, changed = text_of(value, "created_at"), text_of(value, "updated_at")
    project = machine.project_named(name)
    prompt = text_of(value, "prompt_template")
    if prompt.strip():
        yield Record(f"project/{uuid}", f"{name}: instructions", prompt, "procedural", project, began, changed)
    docs = dicts_of(value.get("docs"))
    for doc in docs:
        title, text = as_text(doc.get("filename")), text_of(doc, "content")
        if text.strip():
            created = text_of(doc, "created_at") or began
            key = f"document/{as_text(doc.get('uuid')) or f'{uuid}/{title}'}"
            yield Record(key, title or name, text, project=project, created_at=created, updated_at=created)
    if not prompt.strip() and not docs:
        yield SkippedConversation(f"project/{uuid}")


IMPORTER = Importer(
    "claude-ai", "The conversations, memory and projects of Claude.ai's export", _find, _read, conversations=True
)
