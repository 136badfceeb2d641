"""Gemini CLI: a header, then messages, repeated whenever they change; older versions write one document."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import edited
from anamnesis.capture.entries import Entry, decode_line, dict_of, dicts_of, read_lines, text_of

EDITORS = ("write_file", "edit_file", "replace", "edit", "notebook_edit")
_CREATED = "Successfully created and wrote to new file"
# Updates of the header; some repeat the whole history, masked or summarised.
_UPDATE = b'{"$set"'
_ROOT = ".project_root"
_LONGEST_PATH = 4096
# Messages that the program sends to the model as the user.
_PROMPTED = ("Please continue.",)
_PROMPTED_WITH = ("System: Potential loop detected", "I ran the following shell command:", "<state_snapshot>")


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    messages: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith(_UPDATE) or not (entry := decode_line(line)):
            continue
        if "projectHash" in entry:
            draft.place(session_id=text_of(entry, "sessionId"), started_at=text_of(entry, "startTime"))
            if entry.get("kind") == "subagent":
                return
        if undone := text_of(entry, "$rewindTo"):
            _rewind(messages, undone)
        for message in (entry, *dicts_of(entry.get("messages"))):
            _record(message, draft, messages)
    for asked in messages.values():
        draft.ask(asked)
    _record_subagents(path.parent / draft.session_id, draft)
    draft.place(cwd=_project(path))


def _record(message: Entry, draft: Draft, messages: dict[str, list[str]]) -> None:
    """Read a message. `messages` has the asks of each, which a rewind may remove."""
    name, time = text_of(message, "id"), text_of(message, "timestamp")
    if message.get("type") == "user":
        texts = spoken(message.get("displayContent") or message.get("content"))
        prompted = any(text in _PROMPTED or text.startswith(_PROMPTED_WITH) for text in texts)
        messages.setdefault(name or str(len(messages)), [] if prompted else texts)
        draft.mark_time(time)
    elif message.get("type") == "gemini":
        messages.setdefault(name, [])
        draft.model = text_of(message, "model") or draft.model
        draft.answer(spoken(message.get("content")), time, name)
        _record_calls(message, draft)


def _record_calls(message: Entry, draft: Draft) -> None:
    for call in dicts_of(message.get("toolCalls")):
        paths = edited(call.get("name"), call.get("args"), EDITORS)
        if paths and (name := text_of(call, "id")):
            draft.edits.call(name, paths)
            made = call.get("status") not in ("error", "cancelled")
            draft.edits.result(name, made=made, new=says_created(call.get("result")))


def _rewind(messages: dict[str, list[str]], undone: str) -> None:
    """Remove a message and all after it; all messages if it is unknown."""
    while messages and messages.popitem()[0] != undone:
        pass


def _record_subagents(folder: Path, draft: Draft) -> None:
    """Subagents' files are in a folder with the session's id. Their edits count."""
    if not draft.session_id or not folder.is_dir():
        return
    for file in sorted(folder.glob("*.jsonl")):
        for line in read_lines(str(file)):
            if b'"toolCalls"' in line and not line.startswith(_UPDATE) and (entry := decode_line(line)):
                _record_calls(entry, draft)


def _project(path: Path) -> str:
    """The session's folder, which is stored only in a file beside the chats."""
    try:
        with open(path.parent.parent / _ROOT, encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST_PATH).strip()
    except (OSError, ValueError):
        return ""


def spoken(content: object) -> list[str]:
    """The texts of a content without the model's thoughts."""
    parts = [{"text": content}] if isinstance(content, str) else dicts_of(content)
    texts = (text_of(part, "text").strip() for part in parts if not part.get("thought"))
    return [text for text in texts if text]


def says_created(parts: object) -> bool:
    """Whether a tool's response says that it created a file."""
    answers = (dict_of(dict_of(part, "functionResponse"), "response") for part in dicts_of(parts))
    return any(text_of(answer, "output").startswith(_CREATED) for answer in answers)
