"""Whose transcript it is: told by its first lines. Only the reader that is needed is imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.lines import Entry, dict_of, text_of

Reader = Callable[[Iterable[bytes], Path, Draft], None]

_CODEX = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_COPILOT = ("session.", "user.", "assistant.", "tool.", "system.")
_KIRO = ("Prompt", "AssistantMessage", "ToolResults")
_QWEN = ("user", "assistant", "tool_result", "system")


@dataclass(frozen=True, slots=True)
class Format:
    """An agent's way to write transcripts, named as the module that reads it."""

    name: str
    recognises: Callable[[Entry], bool]


def reader_of(entry: Entry) -> Reader | None:
    """The reader of the transcripts that have such a line; None if no line of them need look so."""
    for known in FORMATS:
        if known.recognises(entry):
            reader: Reader = import_module(f"anamnesis.capture.readers.{known.name}").read
            return reader
    return None


def _is_codex(entry: Entry) -> bool:
    return entry.get("type") in _CODEX and isinstance(entry.get("payload"), dict)


def _is_gemini(entry: Entry) -> bool:
    return bool(text_of(entry, "sessionId") and text_of(entry, "projectHash"))


def _is_qwen(entry: Entry) -> bool:
    own = "systemPayload" in entry or isinstance(dict_of(entry, "message").get("parts"), list)
    return own and entry.get("type") in _QWEN


def _is_droid(entry: Entry) -> bool:
    return entry.get("type") == "session_start" and "id" in entry


def _is_copilot(entry: Entry) -> bool:
    return text_of(entry, "type").startswith(_COPILOT) and isinstance(entry.get("data"), dict)


def _is_cursor(entry: Entry) -> bool:
    spoken = entry.get("role") in ("user", "assistant") and "content" in dict_of(entry, "message")
    return spoken or entry.get("type") == "turn_ended"


def _is_kimi(entry: Entry) -> bool:
    header = entry.get("type") == "metadata" and "protocol_version" in entry
    return header or ("timestamp" in entry and isinstance(dict_of(entry, "message").get("payload"), dict))


def _is_antigravity(entry: Entry) -> bool:
    return "step_index" in entry and "source" in entry and "type" in entry


def _is_windsurf(entry: Entry) -> bool:
    return "status" in entry and isinstance(entry.get(text_of(entry, "type")), dict)


def _is_kiro(entry: Entry) -> bool:
    return entry.get("kind") in _KIRO and isinstance(entry.get("data"), dict)


def _is_claude(entry: Entry) -> bool:
    spoken = entry.get("type") in ("user", "assistant") and isinstance(entry.get("message"), dict)
    return spoken or ("type" in entry and any(key in entry for key in ("sessionId", "uuid", "leafUuid", "snapshot")))


# Claude's comes last: what Qwen writes looks like it but for the parts of its messages.
FORMATS = (
    Format("codex", _is_codex),
    Format("gemini", _is_gemini),
    Format("qwen", _is_qwen),
    Format("droid", _is_droid),
    Format("copilot", _is_copilot),
    Format("cursor", _is_cursor),
    Format("kimi", _is_kimi),
    Format("antigravity", _is_antigravity),
    Format("windsurf", _is_windsurf),
    Format("kiro", _is_kiro),
    Format("claude", _is_claude),
)
