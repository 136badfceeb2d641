"""ChatGPT's export: conversations as trees of messages, of which the current branch is read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from anamnesis.capture.entries import Entry, dict_of, moment, text_of
from anamnesis.importers.archives import downloads, members, values_in
from anamnesis.importers.conversations import Message, episode
from anamnesis.importers.foreign_files import as_text
from anamnesis.importers.foreign_record import ImportItems, Record, SkippedConversation, Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.importers.pipeline import Importer

_FILE = re.compile(r"conversations(?:-\d+)?\.json")
_SPOKEN = ("text", "multimodal_text", "")
_EXTRA_FIELDS = ("is_archived", "is_starred", "gizmo_id", "conversation_template_id")


def _is_conversations(name: str) -> bool:
    return bool(_FILE.fullmatch(name))


def _find(machine: Machine) -> Iterator[Path]:
    return downloads(machine, _is_conversations, b'"mapping"')


def _read(place: Path, _: Machine) -> ImportItems:
    for name, stream in members(place, _is_conversations):
        for number, value in enumerate(values_in(name, stream), start=1):
            if isinstance(value, Unreadable):
                yield value
            elif isinstance(value, dict) and isinstance(value.get("mapping"), dict):
                yield _conversation(value)
            else:
                yield Unreadable(f"{name}, element {number:,}", "It is not a conversation of ChatGPT.")


def _conversation(value: Entry) -> Record | SkippedConversation:
    created, updated = moment(value.get("create_time")), moment(value.get("update_time"))
    title = as_text(value.get("title"))
    named = f"{title}\n{created}\n{','.join([*value['mapping']][:3])}".encode("utf-8", "replace")
    key = text_of(value, "conversation_id") or text_of(value, "id") or hashlib.sha256(named).hexdigest()[:32]
    return episode(
        key,
        [*_messages(value)],
        title=title if title != "New chat" else "",
        created_at=created,
        updated_at=updated,
        model=text_of(value, "default_model_slug"),
        fields={name: value[name] for name in _EXTRA_FIELDS if value.get(name)},
    )


def _messages(value: Entry) -> Iterator[Message]:
    for node in _branch(value):
        message = dict_of(node, "message")
        content, role = dict_of(message, "content"), text_of(dict_of(message, "author"), "role")
        hidden = dict_of(message, "metadata").get("is_visually_hidden_from_conversation")
        if role not in ("user", "assistant") or hidden or text_of(content, "content_type") not in _SPOKEN:
            continue
        if role == "assistant" and message.get("recipient") not in (None, "all"):
            continue  # a message to a tool
        parts = content.get("parts")
        texts = [part for part in parts if isinstance(part, str) and part.strip()] if isinstance(parts, list) else []
        if texts:
            yield Message(role == "user", texts, moment(message.get("create_time")))


def _branch(value: Entry) -> list[Entry]:
    """The nodes from the root to the current one; all nodes by time if no current one is given."""
    nodes = {name: node for name, node in value["mapping"].items() if isinstance(node, dict)}
    name, path = value.get("current_node"), []
    while isinstance(name, str) and name in nodes:
        node = nodes.pop(name)  # a node is visited once, even if the tree has a cycle
        path.append(node)
        name = node.get("parent")
    if path:
        return path[::-1]
    return sorted(nodes.values(), key=lambda node: moment(dict_of(node, "message").get("create_time")))


IMPORTER = Importer("chatgpt", "The conversations of ChatGPT's export", _find, _read, conversations=True)
