"""The environment of a client: a fresh home, a project with a git remote, and the stand-in model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.clients.standin import StandIn

if TYPE_CHECKING:
    from tests.clients.host import Host

# A client that does not end by itself within this time is stuck.
SECONDS = 180
# In the environment of every process of a run, so that leftover processes are found.
_MARK = "CLIENTS_RUN"


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended, or was ended."""

    status: int
    out: str
    err: str

    @property
    def last_words(self) -> str:
        lines = [line for line in f"{self.out}\n{self.err}".splitlines() if line.strip()]
        return f"exit code {self.status}: {' / '.join(lines[-3:])[-400:]}"


class Stage:
    """One client's machine. `url` is the model's address."""

    def __init__(self, root: Path, host: Host, program: Path, model: StandIn) -> None:
        self.root, self.host, self.model = root, host, model
        self.home, self.project = root / "home", root / "work/shop"
        self.log: list[tuple[Sequence[str], Ended]] = []
        self._mark = uuid.uuid4().hex
        for folder in (self.home, self.project, root / "tmp", root / "bin"):
            folder.mkdir(parents=True)
        (root / "bin/anamnesis").symlink_to(Path(sys.executable).with_name("anamnesis"))
        self._path = os.pathsep.join(map(str, [root / "bin", program, "/usr/local/bin", "/usr/bin", "/bin"]))
        self._make_project()
        self.variables: Mapping[str, str] = {**self._plain(), **host.variables(self)}
        host.prepare(self)

    @property
    def url(self) -> str:
        return self.model.url

    @property
    def store(self) -> Path:
        return self.home / ".anamnesis"

    def run(self, words: Sequence[str], stdin: str = "") -> Ended:
        """Run a program in the project until it ends."""
        process = self.start(words)
        try:
            out, err = process.communicate(stdin, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            end_group(process)
            out, err = process.communicate()
            err += f"\n{words[0]} did not end within {SECONDS} seconds"
        ended = Ended(process.returncode, out, err)
        self.log.append((words, ended))
        return ended

    def start(self, words: Sequence[str]) -> subprocess.Popen[str]:
        """Start a program in the project, in its own process group."""
        return subprocess.Popen(
            list(words),
            cwd=self.project,
            env=dict(self.variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def anamnesis(self, *words: str) -> Ended:
        return self.run(["anamnesis", *words])

    def notes(self, type: str) -> dict[Path, str]:
        """The note files of a type, by path."""
        found = sorted([*self.store.glob(f"memory/{type}/*.md"), *self.store.glob(f"local/{type}/*.md")])
        return {path: path.read_text("utf-8") for path in found}

    def files(self) -> dict[Path, bytes]:
        """Every file of the home but the store's."""
        every = (Path(folder) / name for folder, _, names in os.walk(self.home) for name in names)
        return {path: path.read_bytes() for path in every if path.is_file() and self.store not in path.parents}

    def end_all(self) -> list[str]:
        """End the processes that this stage's processes left behind; returns their commands."""
        return [_end(process) for process in _with_variable(f"{_MARK}={self._mark}")]

    def _plain(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": self._path,
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "USER": "kim",
            "SHELL": "/bin/sh",
            "ANAMNESIS_MACHINE_ID": "laptop",
            "CI": "1",
            "DO_NOT_TRACK": "1",
            "HTTPS_PROXY": self.url,
            "HTTP_PROXY": self.url,
            "NO_PROXY": "127.0.0.1,localhost,::1",
            _MARK: self._mark,
        }

    def _make_project(self) -> None:
        (self.project / "README.md").write_text("# Shop\n")
        remote = "git@example.com:acme/shop.git"
        for words in (["init", "--quiet", "-b", "main"], ["remote", "add", "origin", remote], ["add", "."]):
            subprocess.run(["git", *words], cwd=self.project, check=True)
        author = ["-c", "user.name=Kim", "-c", "user.email=kim@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *author, "commit", "--quiet", "-m", "Start"], cwd=self.project, check=True)


@contextmanager
def staged(host: Host, program: Path) -> Iterator[Stage]:
    """A stage that leaves neither files nor processes behind."""
    with tempfile.TemporaryDirectory(prefix="play-", ignore_cleanup_errors=True) as folder, StandIn() as model:
        stage = Stage(Path(folder).resolve(), host, program, model)
        try:
            yield stage
        finally:
            stage.end_all()


def end_group(process: subprocess.Popen[str]) -> None:
    """Kill a process and its group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()


def _with_variable(wanted: str) -> list[int]:
    """The processes with a variable in their environment; none if the system does not show environments."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def _end(process: int) -> str:
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        os.kill(process, signal.SIGKILL)
    except OSError:
        return ""
    return command
