"""Claude Code, all versions: one line per message, result and event."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from anamnesis.capture.draft import Draft
from anamnesis.capture.edited_files import edited
from anamnesis.capture.entries import (
    Entry,
    answers,
    blocks_of,
    decode_line,
    dict_of,
    read_lines,
    text_of,
    texts_of,
    type_of,
)

# Claude Code's own tools, and common names in MCP servers and other agents.
_EDITORS = ("Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "edit_file", "create_file", "apply_patch")
_NOT_TYPED = ("isMeta", "isSidechain", "isCompactSummary", "teamName")
_RESULT = b'"type":"tool_result"'
_RESULT_OF = b'"tool_use_id":"'
_SUFFIX = ".jsonl"


def read(lines: Iterable[bytes], path: Path, draft: Draft) -> None:
    parser = _ClaudeParser(draft, path.stem)
    for line in lines:
        parser.read(line)
    for subagent in _subagents(path):
        for line in read_lines(subagent):
            parser.read_edits(line)
    draft.session_id = parser.session_id()


class _ClaudeParser:
    """Parses one transcript, line by line, into a draft."""

    def __init__(self, draft: Draft, name: str) -> None:
        self._draft = draft
        self._name = name
        self._named = False
        self._empty = True

    def read(self, line: bytes) -> None:
        """Read a line of the main file. Until id and start are known, any line may contain them."""
        draft = self._draft
        placed = draft.session_id and draft.started_at
        if placed and not _may_matter(line, draft.edits.waiting):
            return
        entry = decode_line(line)
        if entry is None:
            return
        self._place(entry)
        _record_edits(entry, draft)
        if entry.get("type") == "assistant":
            _record_answer(entry, draft)
        else:
            draft.ask(_asked(entry), text_of(entry, "timestamp"))

    def read_edits(self, line: bytes) -> None:
        """Read a line of a subagent's file: its edits count, its prompts do not."""
        if _may_matter(line, self._draft.edits.waiting) and (entry := decode_line(line)):
            _record_edits(entry, self._draft)

    def session_id(self) -> str:
        """The session's id. A fork begins with lines of its origin, so the file's name wins if any line has it."""
        if self._named:
            return self._name
        return self._draft.session_id or ("" if self._empty else self._name)

    def _place(self, entry: Entry) -> None:
        draft, self._empty = self._draft, False
        if self._named and draft.cwd and draft.branch and draft.started_at:
            return
        session_id, branch = text_of(entry, "sessionId"), text_of(entry, "gitBranch")
        self._named = self._named or session_id == self._name
        draft.place(
            session_id=session_id,
            cwd=text_of(entry, "cwd"),
            # Claude Code writes HEAD if there is no branch
            branch="" if branch == "HEAD" else branch,
            started_at=text_of(entry, "timestamp"),
        )


def _may_matter(line: bytes, waiting: Collection[str]) -> bool:
    """Whether a line may contain an ask, an answer or the result of a waiting call."""
    kind = type_of(line)
    if kind is None:
        return b'"assistant"' in line or b'"user"' in line or b'"queued_command"' in line
    if kind == b"user":
        return _RESULT not in line or answers(line, _RESULT_OF, waiting)
    return kind == b"assistant" or (kind == b"attachment" and b'"queued_command"' in line)


def _asked(entry: Entry) -> list[str]:
    """The texts of a line that a person may have typed."""
    if any(entry.get(mark) for mark in _NOT_TYPED) or entry.get("promptSource") == "system":
        return []
    if entry.get("type") == "user":
        origin, content = entry.get("origin"), dict_of(entry, "message").get("content")
    elif queued := _queued_prompt(entry):
        origin, content = queued.get("origin"), queued.get("prompt")
    else:
        return []
    if (origin.get("kind") if isinstance(origin, dict) else origin) not in (None, "human"):
        return []
    if any(block.get("type") == "tool_result" for block in blocks_of(content)):
        return []
    return texts_of(content)


def _queued_prompt(entry: Entry) -> Entry | None:
    """A prompt typed while the model worked; it has no line of type `user`."""
    queued = dict_of(entry, "attachment") if entry.get("type") == "attachment" else {}
    if queued.get("type") != "queued_command":
        return None
    return queued if queued.get("commandMode") == "prompt" and not queued.get("isMeta") else None


def _record_answer(entry: Entry, draft: Draft) -> None:
    """Record an answer of the main thread, except for messages that Claude Code generates itself."""
    message = dict_of(entry, "message")
    if entry.get("isSidechain") or message.get("model") == "<synthetic>" or entry.get("isApiErrorMessage"):
        draft.mark_time(text_of(entry, "timestamp"))
        return
    draft.model = text_of(message, "model") or draft.model
    draft.answer(texts_of(message.get("content")), text_of(entry, "timestamp"), message.get("id"))


def _record_edits(entry: Entry, draft: Draft) -> None:
    """Record the calls or the results in a line."""
    kind, content = entry.get("type"), dict_of(entry, "message").get("content")
    if kind == "assistant":
        for block in blocks_of(content):
            tool = text_of(block, "name")
            if block.get("type") == "tool_use" and tool:
                paths = edited(tool.rpartition("__")[2], block.get("input"), _EDITORS)
                draft.edits.call(block.get("id"), paths, tool)
    elif draft.edits.waiting and kind == "user":
        result = entry.get("toolUseResult")
        for block in blocks_of(content):
            call = text_of(block, "tool_use_id")
            if call in draft.edits.waiting:
                foreign = draft.edits.waiting[call].startswith("mcp__")
                # A refusal is a string; the result of Claude Code's own tools is an object.
                refused = block.get("is_error") or (isinstance(result, str) and not foreign)
                draft.edits.result(call, made=not refused, new=_says_created(block, result))


def _says_created(block: Entry, result: object) -> bool:
    """Whether a result reports a new file. Subagents' results have no `toolUseResult`, only the text for the model."""
    if isinstance(result, dict):
        return result.get("type") == "create"
    return any(text.startswith("File created successfully") for text in texts_of(block.get("content")))


def _subagents(path: Path) -> list[str]:
    """The files of a session's subagents, which recent versions keep in a folder beside the main file."""
    folder = path.with_suffix("") / "subagents"
    if path.suffix != _SUFFIX or not folder.is_dir():
        return []
    return sorted(str(file) for file in folder.rglob(f"agent-*{_SUFFIX}"))
