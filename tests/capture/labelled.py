"""Dialogues labelled with the sentences that a note should keep, and their transcripts in the agents' formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tests.capture import opencode
from tests.capture.agents import Line
from tests.capture.agents import write as write_lines
from tests.capture.transcripts import TODAY, write

FOLDER = Path(__file__).parent / "dialogues"
Said = tuple[str, str]


@dataclass
class Dialogue:
    """The turns with their speakers, and the sentences that are a cause, a decision or a rule."""

    name: str
    agent: str
    turns: list[Said] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)

    def store(self, folder: Path) -> Path:
        """The transcript of the dialogue in the agent's format."""
        return WRITERS[self.agent](folder, self.turns)


def read(name: str) -> list[Dialogue]:
    found: list[Dialogue] = []
    for block in (FOLDER / f"{name}.txt").read_text("utf-8").split("=== ")[1:]:
        title, _, rest = block.partition("\n")
        dialogue = Dialogue(title, title.rpartition("(")[2].strip(" )"))
        for part in rest.split("\n@"):
            head, _, text = part.strip().removeprefix("@").partition("\n")
            role, _, kind = head.partition(" ")
            if role == "keep":
                dialogue.kept[text.strip()] = kind
            else:
                dialogue.turns.append((role, text.strip()))
        found.append(dialogue)
    return found


def _claude(folder: Path, turns: list[Said]) -> Path:
    lines = []
    for number, (role, text) in enumerate(turns):
        if role == "user":
            lines.append(TODAY.ask(text))
        elif role == "assistant":
            lines.append(TODAY.answer(text, id=f"msg_{number}"))
        else:
            call = f"t{number}"
            lines += [TODAY.call("Read", call, f"msg_{number}", file_path="/w/app/x"), TODAY.result(call, text)]
    return write(folder / "s1.jsonl", *lines)


def _codex(folder: Path, turns: list[Said]) -> Path:
    payloads: list[tuple[str, Line]] = [("session_meta", {"id": "s1", "cwd": "/w/app", "source": "cli"})]
    for role, text in turns:
        if role == "user":
            payloads.append(("event_msg", {"type": "user_message", "message": text}))
        elif role == "assistant":
            content = [{"type": "output_text", "text": text}]
            payloads.append(("response_item", {"type": "message", "role": "assistant", "content": content}))
        else:
            payloads.append(("response_item", {"type": "function_call_output", "call_id": "c", "output": text}))
    time = "2026-08-01T10:00:00.000Z"
    return write_lines(folder / "r.jsonl", *({"timestamp": time, "type": t, "payload": p} for t, p in payloads))


def _gemini(folder: Path, turns: list[Said]) -> Path:
    lines: list[Line] = [{"sessionId": "s1", "projectHash": "f00d", "startTime": "2026-08-01T10:00:00.000Z"}]
    for number, (role, text) in enumerate(turns):
        message: Line = {"id": f"m{number}", "timestamp": "2026-08-01T10:00:01.000Z"}
        if role == "user":
            lines.append({**message, "type": "user", "content": [{"text": text}]})
        elif role == "assistant":
            lines.append({**message, "type": "gemini", "content": text, "model": "gemini-3-pro"})
        else:
            result = [{"functionResponse": {"response": {"output": text}}}]
            calls = [{"id": "c1", "name": "read_file", "args": {}, "result": result, "status": "success"}]
            lines.append({**message, "type": "gemini", "content": "", "toolCalls": calls})
    return write_lines(folder / "session-1-s1.jsonl", *lines)


def _opencode(folder: Path, turns: list[Said]) -> Path:
    with opencode.database(folder / "opencode.db", version=1 + len(turns) % 2) as stored:
        for role, text in turns:
            if role == "tool":
                stored.say("assistant", opencode.tool("read", {"filePath": "/w/app/x"}, output=text))
            else:
                stored.say(role, opencode.text(text))
    return folder / "opencode.db" / opencode.SESSION


WRITERS = {"claude": _claude, "codex": _codex, "gemini": _gemini, "opencode": _opencode}
