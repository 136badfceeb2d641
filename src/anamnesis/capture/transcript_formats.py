"""Recognises which agent wrote a transcript, by its first lines. Imports only that agent's reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.entries import Entry, dict_of, text_of

Reader = Callable[[Iterable[bytes], Path, Draft], None]

_CODEX = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_COPILOT = ("session.", "user.", "assistant.", "tool.", "system.")
_KIRO = ("Prompt", "AssistantMessage", "ToolResults")
_QWEN = ("user", "assistant", "tool_result", "system")


def reader_of(entry: Entry) -> Reader | None:
    """The reader for transcripts with such a line; None if the line identifies no agent."""
    for name, recognises in FORMATS.items():
        if recognises(entry):
            reader: Reader = import_module(f"anamnesis.capture.readers.{name}").read
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


def _is_opencode(entry: Entry) -> bool:
    info = dict_of(entry, "info")
    return "directory" in info or (info.get("role") in ("user", "assistant") and isinstance(entry.get("parts"), list))


def _is_grok(entry: Entry) -> bool:
    return text_of(entry, "method").endswith("session/update") and "update" in dict_of(entry, "params")


def _is_cline(entry: Entry) -> bool:
    return isinstance(entry.get("messages"), list) and "agent" in entry and "sessionId" in entry


def _is_claude(entry: Entry) -> bool:
    spoken = entry.get("type") in ("user", "assistant") and isinstance(entry.get("message"), dict)
    return spoken or ("type" in entry and any(key in entry for key in ("sessionId", "uuid", "leafUuid", "snapshot")))


# By the module that reads the transcripts. Claude is last: Qwen's records differ from its own only in the parts of
# messages.
FORMATS: dict[str, Callable[[Entry], bool]] = {
    "codex": _is_codex,
    "gemini": _is_gemini,
    "qwen": _is_qwen,
    "droid": _is_droid,
    "copilot": _is_copilot,
    "cursor": _is_cursor,
    "kimi": _is_kimi,
    "antigravity": _is_antigravity,
    "windsurf": _is_windsurf,
    "kiro": _is_kiro,
    "opencode": _is_opencode,
    "grok": _is_grok,
    "cline": _is_cline,
    "claude": _is_claude,
}
