"""A machine of a person: a home with Claude Code in it, and a checkout of a project."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.waiting import wait_until

QUESTION = "Why does the login fail after a restart?"
ANSWER = "The session key was made anew at each start; it is read from the vault now."


class Machine:
    """A home with Claude Code and a checkout. Everything runs as a person or their agent runs it."""

    def __init__(self, name: str, folder: Path, remote: Path) -> None:
        self.name, self.home, self.remote = name, folder / name, remote
        self.project = self.home / "work" / "shop"
        self.project.mkdir(parents=True)
        (self.home / ".claude").mkdir()
        self.variables = {
            "HOME": str(self.home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "ANAMNESIS_MACHINE_ID": name,
        }
        subprocess.run(["git", "init", "--quiet"], cwd=self.project, check=True)
        origin = ["git", "remote", "add", "origin", "git@example.com:acme/shop.git"]
        subprocess.run(origin, cwd=self.project, check=True)

    def anamnesis(self, *arguments: str, messages: int = 0) -> str:
        return self.run(["anamnesis", *arguments], messages=messages)

    def run(self, command: list[str], stdin: str = "", messages: int = 0) -> str:
        """The results of a command that succeeds, and prints this many lines of messages."""
        done = subprocess.run(
            command, input=stdin, env=self.variables, cwd=self.project, capture_output=True, text=True, check=False
        )
        said = len(done.stderr.splitlines())
        assert (done.returncode, said) == (0, messages), f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def hooks(self, event: str, **facts: str) -> str:
        """Run the matching hooks of Claude Code's settings, as it would at an event."""
        settings = json.loads((self.home / ".claude" / "settings.json").read_text())
        told = {"session_id": f"{self.name}-1", "cwd": str(self.project), "hook_event_name": event, **facts}
        printed = ""
        for group in settings["hooks"].get(event, []):
            if re.fullmatch(group.get("matcher") or ".*", facts.get("source", "")):
                for handler in group["hooks"]:
                    command = (
                        [handler["command"], *handler["args"]] if "args" in handler else shlex.split(handler["command"])
                    )
                    printed += "" if handler.get("async") else self.run(command, json.dumps(told))
        return printed

    def transcript(self) -> Path:
        """The transcript of a session in the current format."""
        path = self.home / ".claude" / "projects" / "-work-shop" / f"{self.name}-1.jsonl"
        path.parent.mkdir(parents=True)
        edit = {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": str(self.project / "auth.py")}}
        turns: list[tuple[str, Any]] = [
            ("user", QUESTION),
            ("assistant", [edit]),
            ("assistant", [{"type": "text", "text": ANSWER}]),
        ]
        facts = {"sessionId": f"{self.name}-1", "cwd": str(self.project), "gitBranch": "main", "version": "2.1.240"}
        lines = [
            {
                **facts,
                "type": role,
                "uuid": f"u{number}",
                "timestamp": f"2026-11-01T10:00:{number:02d}.000Z",
                "message": {"id": f"m{number}", "role": role, "content": content},
            }
            for number, (role, content) in enumerate(turns)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def wait_for_sync(self) -> None:
        """Wait until the background sync has pushed."""
        log = self.home / ".anamnesis" / "anamnesis.log"
        wait_until(lambda: log.exists() and '"pushed": true' in log.read_text())

    def edit(self, note_id: str, before: str, after: str) -> None:
        (path,) = (self.home / ".anamnesis" / "memory").glob(f"*/{note_id}.md")
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))
