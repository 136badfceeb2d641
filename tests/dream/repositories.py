"""Real git repositories for tests, with commits at given times; and notes about them."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from anamnesis.dream.cycle import DreamResult, Options, dream
from anamnesis.dream.proposal import Proposal
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore

PROJECT = "github.com/example/shop"
_DAY = 86_400
_START = int(datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp())


def moment(day: int) -> str:
    return datetime.fromtimestamp(_START + day * _DAY, UTC).isoformat()


class Repository:
    """A repository whose commits are made on numbered days."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        with (folder / ".git/config").open("a") as config:  # `git remote add` is another process
            config.write(f'[remote "origin"]\n\turl = https://{PROJECT}.git\n')

    def git(self, *arguments: str, day: int = 0) -> str:
        identity = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {f"GIT_{who}_DATE": moment(day) for who in ("AUTHOR", "COMMITTER")}
        environment = {**os.environ, **identity, **dates, "GIT_CONFIG_GLOBAL": os.devnull}
        command = ["git", "-c", "protocol.file.allow=always", *arguments]
        done = subprocess.run(command, cwd=self.folder, env=environment, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def write(self, files: dict[str, str | None]) -> None:
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)

    def commit(self, day: int, files: dict[str, str | None]) -> str:
        """Write files, remove those without a text, and commit; returns the commit."""
        self.write(files)
        if files:
            self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "change", day=day)
        head = (self.folder / ".git/HEAD").read_text().strip()  # a commit has just written it
        return (self.folder / ".git" / head.removeprefix("ref: ")).read_text().strip() if " " in head else head


def note(store: MemoryStore, body: str, day: int, title: str = "About the shop", **fields: object) -> Memory:
    """A note that an agent wrote on a day."""
    fields = {"type": "semantic", "project": PROJECT, "prov_model": "a-model", **fields}
    written = Memory(
        id=f"{store.count():026d}".replace("0", "A"),
        title=title,
        body=body,
        created_at=moment(day),
        updated_at=moment(day),
        **fields,  # type: ignore[arg-type]
    )
    return store.put(written)


def run(store: MemoryStore, folder: Path, *, share: float = 1.0) -> DreamResult:
    return dream(store, Options(folders={PROJECT: folder}, share=share))


def found(outcome: DreamResult, kind: str = "stale") -> list[Proposal]:
    return [each for some in outcome.decided for each in some if each.kind == kind]
