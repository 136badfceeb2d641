"""Notes as a store of Portable AI Memory 1.0. Fields that the format lacks go into each memory's metadata."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
import uuid
from collections.abc import Iterable
from typing import Any

from anamnesis import __version__
from anamnesis.notes import Memory
from anamnesis.notes.lines import as_line
from anamnesis.notes.marks import CONTRADICTS, SOURCES, UPDATES, linked

_TYPES = {"semantic": "fact", "procedural": "instruction", "episodic": "context"}
_METHODS = {"human": "explicit_user_input", "import": "api_export"}
_RELATIONS = {CONTRADICTS: "contradicts", SOURCES: "derived_from", UPDATES: "extends"}
_NO_TAG = re.compile(r"[^a-z0-9_-]+")


def portable_store(notes: Iterable[Memory], owner: str, now: str) -> dict[str, Any]:
    """The document, with a hash of each memory and a checksum over all."""
    whole = [*notes]
    memories = sorted((_memory(note, now) for note in whole), key=lambda memory: str(memory["id"]))
    ids = {note.id for note in whole}
    return {
        "schema": "portable-ai-memory",
        "schema_version": "1.0",
        "spec_uri": "https://portable-ai-memory.org/spec/v1.0",
        "export_id": str(uuid.uuid4()),
        "exported_by": f"anamnesis/{_version()}",
        "export_date": _time(now),
        "owner": {"id": owner or "unknown"},
        "memories": memories,
        "relations": [relation for note in whole for relation in _relations(note, ids, now)],
        "integrity": {
            "canonicalization": "RFC8785",
            "checksum": _hash(_canonical(memories)),
            "total_memories": len(memories),
        },
        "export_type": "full",
    }


def _memory(note: Memory, now: str) -> dict[str, Any]:
    content = note.body if note.body.strip() else note.title
    tags = dict.fromkeys(_NO_TAG.sub("-", tag.casefold()).strip("-_") for tag in note.tags)
    said = json.loads(as_line(note))
    return {
        "id": note.id,
        "type": _TYPES[note.type],
        "status": "active",
        "content": content,
        "content_hash": _hash(_normal(content)),
        "summary": note.title,
        "tags": [tag for tag in tags if tag],
        "confidence": {"current": _number(min(max(note.confidence, 0.0), 1.0))},
        "temporal": {"created_at": _time(note.created_at or now), "updated_at": _time(note.updated_at or now)},
        # No nulls: readers drop them before they compute the checksum.
        "provenance": {
            "platform": "anamnesis",
            **({"conversation_ref": note.prov_session} if note.prov_session else {}),
            "extraction_method": _METHODS.get(note.prov_source, "llm_inference"),
        },
        "metadata": {
            "title": note.title,
            "project": note.project,
            # The whole note except the content above; numbers as text, which has one canonical form.
            "anamnesis": {
                **{name: value for name, value in said.items() if name != "body" or value != content},
                "confidence": str(note.confidence),
            },
        },
    }


def _relations(note: Memory, ids: set[str], now: str) -> Iterable[dict[str, Any]]:
    named = [("supersedes", id) for id in note.superseded]
    named += [(kind, id) for mark, kind in _RELATIONS.items() for id in linked(note, mark)]
    for kind, id in named:
        if id in ids:
            name = f"{note.id}-{kind}-{id}"
            yield {"id": name, "from": note.id, "to": id, "type": kind, "created_at": _time(note.updated_at or now)}


def _time(text: str) -> str:
    """A UTC time with a Z instead of an offset, as the format writes it."""
    return f"{text.removesuffix('+00:00')}Z" if text.endswith("+00:00") else text


def _version() -> str:
    found = re.match(r"\d+\.\d+\.\d+", __version__)
    return found[0] if found else "0.0.0"


def _number(value: float) -> float | int:
    """A number as JavaScript writes it: 1, not 1.0."""
    return int(value) if value.is_integer() else value


def _normal(content: str) -> str:
    return " ".join(unicodedata.normalize("NFC", content.strip().lower()).split())


def _canonical(value: Any) -> str:
    """The canonical form of RFC 8785, for what is written here: keys in ASCII, and numbers between 0 and 1."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _hash(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
