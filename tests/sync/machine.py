"""Machines with a store each and one remote between them; git as a user would run it, beside ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anamnesis.disk import TEMPORARY_SUFFIX
from anamnesis.notes import Memory, render
from anamnesis.store import MemoryStore, RefreshCounts
from anamnesis.sync import GitSyncBackend, SyncResult, sync_store

LONG_AGO = 1_000_000_000


def git(folder: Path, *arguments: str, input: bytes | None = None, check: bool = True) -> str:
    """What git prints, run by somebody with an identity and no other settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true"}
    done = subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e", "-c", "core.quotePath=false", *arguments],
        cwd=folder,
        env=environment,
        input=input,
        capture_output=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").strip()


@dataclass(frozen=True)
class Machine:
    """One machine of a user: a store, and what syncs it."""

    name: str
    store: MemoryStore
    backend: GitSyncBackend

    @property
    def folder(self) -> Path:
        return self.store.memory_dir

    def sync(self) -> SyncResult:
        return sync_store(self.store, self.backend)

    def note(self, body: str, title: str = "T", type: str = "semantic") -> str:
        """A new note's id."""
        return self.store.write(type=type, title=title, body=body, machine_id=self.name).id

    def put(self, path: str, data: bytes | str) -> Path:
        """Write a file as an editor does."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data.encode() if isinstance(data, str) else data)
        return target

    def save(self, path: str, data: bytes | str) -> Path:
        """Write a file as most editors do: another one in its place."""
        return self.put(f"{path}.new~", data).replace(self.folder / path)

    def files(self) -> dict[str, bytes]:
        """The files that travel, by path."""
        return files_in(self.folder)

    def bodies(self) -> set[str]:
        return {memory.body for memory in self.store.list()}

    def git(self, *arguments: str, check: bool = True) -> str:
        return git(self.folder, *arguments, check=check)

    def is_clean(self) -> bool:
        """Whether git finds the files as they were last committed, on the main branch, with nothing unfinished."""
        unfinished = [self.folder / ".git" / name for name in ("MERGE_HEAD", "rebase-merge", "rebase-apply")]
        return (
            self.git("-c", "core.symlinks=false", "-c", "core.fileMode=false", "status", "--porcelain") == ""
            and self.git("symbolic-ref", "HEAD") == "refs/heads/main"
            and not any(path.exists() for path in unfinished)
            and self.git("for-each-ref", "refs/anamnesis") == ""
        )


def machine(
    folder: Path,
    name: str,
    remote: Path | str | None,
    *,
    timeout: float = 120.0,
    is_large: bool = False,
    **given: Any,
) -> Machine:
    """A machine with a store; if `is_large`, its syncs compare only the changed files, as with very many notes."""
    store = MemoryStore(folder / name)
    address = str(remote) if remote else None
    given |= {"small_index": 0} if is_large else {}
    backend = GitSyncBackend(store.memory_dir, remote=address, machine_id=name, timeout=timeout, **given)
    return Machine(name, store, backend)


SYNC = """
import os, signal, sys
from anamnesis.store import MemoryStore
from anamnesis.sync import GitSyncBackend, sync_store
root, name, remote, at, small_index = sys.argv[1:]
steps = 0
def count(event, args):
    global steps
    if event in ("subprocess.Popen", "os.rename") or (event == "os.remove" and args[1] == -1):
        steps += 1
        if steps == int(at):
            os.kill(os.getpid(), signal.SIGKILL)
with MemoryStore(root) as store:
    sys.addaudithook(count)
    backend = GitSyncBackend(store.memory_dir, remote=remote, machine_id=name, small_index=int(small_index))
    result = sync_store(store, backend)
    assert result.reached, result.detail
print(steps)
"""


def start_sync(machine: Machine, kill_at: int = 0) -> subprocess.Popen[str]:
    """A sync in a process of its own, which is killed before its n-th call of git or change of a file's name."""
    backend = machine.backend
    arguments = [str(machine.store.root), machine.name, backend.remote or "", str(kill_at), str(backend.small_index)]
    return subprocess.Popen(
        [sys.executable, "-c", SYNC, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def synced(process: subprocess.Popen[str]) -> int:
    """How many steps a sync took in its own process; 0 if it was killed."""
    output, errors = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), errors
    return int(output) if output else 0


def is_running(process: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return bool(state.stdout.strip()) and not state.stdout.startswith("Z")


def text_of(note_id: str, body: str, **fields: str) -> str:
    """The text of a note's file."""
    return render(replace(Memory(note_id, "semantic", note_id, body), **fields))  # type: ignore[arg-type]


def bare(folder: Path, branch: str = "main") -> Path:
    """An empty remote."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--bare", f"--initial-branch={branch}")
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = Path(place, name)
            if not name.endswith(TEMPORARY_SUFFIX):
                found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def everything_in(folder: Path) -> dict[str, bytes | None]:
    """Each path below a folder, with what a file holds: a picture by which any change is seen."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def commit_tree(repository: Path, entries: Iterable[tuple[str, str, bytes]], branch: str = "main") -> None:
    """Let a branch be at a tree of these entries (mode, path, data), whatever git itself would think of them."""
    tree: dict[str, tuple[str, str]] = {}
    folders: dict[str, list[tuple[str, str, bytes]]] = {}
    for mode, path, data in entries:
        folder, _, rest = path.partition("/")
        if rest:
            folders.setdefault(folder, []).append((mode, rest, data))
        else:
            blob = data.decode() if mode == "160000" else git(repository, "hash-object", "-w", "--stdin", input=data)
            tree[path] = (mode, blob)
    for folder, inside in folders.items():
        commit_tree(repository, inside, "inside")
        tree[folder] = ("40000", git(repository, "rev-parse", "inside^{tree}"))
        git(repository, "update-ref", "-d", "refs/heads/inside")
    content = b""
    for name, (mode, blob) in sorted(tree.items(), key=lambda item: item[0] + ("/" if item[1][0] == "40000" else "")):
        content += f"{mode} {name}".encode() + b"\0" + bytes.fromhex(blob)
    written = git(repository, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", input=content)
    parent = git(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", check=False)
    lineage = ["-p", parent] if parent else []
    commit = git(repository, "commit-tree", written, *lineage, "-m", "made by hand")
    git(repository, "update-ref", f"refs/heads/{branch}", commit)


def settle(*machines: Machine) -> None:
    """Sync until every machine has everything: each sends, then each receives."""
    for each in (*machines, *machines[:-1]):
        result = each.sync()
        assert result.reached, result.detail


def assert_same(*machines: Machine) -> None:
    """All machines have the same files, byte for byte, and an index of just these."""
    for each in machines:
        assert each.files() == machines[0].files()
        assert each.is_clean()
        assert each.store.refresh() == RefreshCounts(0, 0, 0)
