"""The same session in each agent's format.

The user asks to fix the login, the agent fails to edit one file, edits a second and creates a third; the user then
asks for a test. In between come messages that the agent sends as the user, subagents, compactions and interruptions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "samples"
SESSION = "7e0f5a1c-22d4-4b7e-9d5a-1c2b3d4e5f60"
ROLLOUT = "019df7ae-b036-76c2-a499-fe10385d955a"


@dataclass(frozen=True)
class Sample:
    """A transcript, its path under an agent's folder, the files beside it, and the expected fields of the session."""

    file: str
    reader: str
    path: str
    beside: dict[str, str] = field(default_factory=dict)
    session: str = SESSION
    branch: str = ""
    # Whether the transcript contains the folder, times and which files are new.
    cwd: bool = True
    timed: bool = True
    new: bool = True

    def lines(self) -> list[bytes]:
        return (SAMPLES / self.file).read_bytes().splitlines(keepends=True)

    def lay(self, folder: Path, content: bytes | None = None) -> Path:
        """The transcript where the agent keeps it, with other content if it is given."""
        for name, text in {self.path: "", **self.beside}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        path = folder / self.path
        path.write_bytes((SAMPLES / self.file).read_bytes() if content is None else content)
        return path


TRUSTED = {"projects/w-app/.workspace-trusted": '{"trustedAt": "x", "workspacePath": "/w/app"}'}
ALL = [
    Sample("codex.jsonl", "codex", f"rollout-2026-08-01T10-00-00-{ROLLOUT}.jsonl", session=ROLLOUT, branch="main"),
    Sample("codex-paginated.jsonl", "codex", f"rollout-1-{ROLLOUT}.jsonl", session=ROLLOUT, branch="main"),
    Sample("gemini.jsonl", "gemini", "tmp/app/chats/session-1-7e0f5a1c.jsonl", {"tmp/app/.project_root": "/w/app\n"}),
    Sample("gemini-document.json", "gemini", "tmp/f00d/chats/session-1-7e0f5a1c.json", cwd=False),
    Sample("qwen.jsonl", "qwen", f"projects/-w-app/chats/{SESSION}.jsonl", branch="main"),
    Sample("droid.jsonl", "droid", f"sessions/-w-app/{SESSION}.jsonl"),
    Sample("copilot.jsonl", "copilot", f"session-state/{SESSION}/events.jsonl", branch="main"),
    Sample("cursor.jsonl", "cursor", f"projects/w-app/agent-transcripts/{SESSION}/{SESSION}.jsonl", TRUSTED),
    Sample(
        "kimi.jsonl",
        "kimi",
        f"sessions/wd_app_1/{SESSION}/agents/main/wire.jsonl",
        {f"sessions/wd_app_1/{SESSION}/state.json": '{"id": "x", "version": 2, "cwd": "/w/app"}'},
        new=False,
    ),
    Sample(
        "kimi-cli.jsonl",
        "kimi",
        f"sessions/88b917843fbc859c6c410d34ba465703/{SESSION}/wire.jsonl",
        {"kimi.json": '{"work_dirs": [{"path": "/w/other"}, {"path": "/w/app"}]}'},
        new=False,
    ),
    Sample("antigravity.jsonl", "antigravity", f"brain/{SESSION}/.system_generated/logs/transcript.jsonl", cwd=False),
    Sample("windsurf.jsonl", "windsurf", f"transcripts/{SESSION}.jsonl", cwd=False, timed=False, new=False),
    Sample(
        "kiro.jsonl",
        "kiro",
        f"sessions/cli/{SESSION}.jsonl",
        {f"sessions/cli/{SESSION}.json": json.dumps({"session_id": SESSION, "cwd": "/w/app"})},
    ),
    Sample("opencode-export.json", "opencode", "export.json"),
    Sample(
        "grok.jsonl",
        "grok",
        f"sessions/%2Fw%2Fapp/{SESSION}/updates.jsonl",
        {f"sessions/%2Fw%2Fapp/{SESSION}/summary.json": '{"info": {"cwd": "/w/app"}, "head_branch": "main"}'},
        branch="main",
    ),
    Sample(
        "cline.json",
        "cline",
        f"data/sessions/{SESSION}/{SESSION}.messages.json",
        {f"data/sessions/{SESSION}/{SESSION}.json": '{"cwd": "/w/app", "metadata": {"git": {"branch": "main"}}}'},
        branch="main",
    ),
]
STREAMED = [sample for sample in ALL if sample.file.endswith(".jsonl")]

Line = dict[str, Any]


def write(path: Path, *lines: Line) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return path
