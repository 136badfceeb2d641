"""What a sync costs: how many git processes it starts, and that it compares no more files than it has to."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sync.machine import Machine, git, settle, text_of

from anamnesis.store import RefreshCounts
from anamnesis.store.purging import purge

Count = Callable[[Machine], list[str]]


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Count:
    """Syncs a machine with a `git` first on PATH that logs each call, and returns the subcommands that were run."""
    real = shutil.which("git")
    calls = tmp_path / "calls"
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    # The subcommand is the first word that is neither an option nor the value of `-c`.
    wrapper.write_text(
        f"""#!/bin/sh
command= value=
for word in "$@"; do
    if [ -n "$value" ]; then value=; continue; fi
    case $word in -c) value=1 ;; -*) ;; *) command=$word; break ;; esac
done
echo "$command" >> '{calls}'
exec '{real}' "$@"
""",
        "utf-8",
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}")

    def count(machine: Machine) -> list[str]:
        calls.write_text("", "utf-8")
        assert machine.sync().reached
        return calls.read_text("utf-8").split()

    return count


@pytest.mark.parametrize("is_large", [False, True])
class TestProcesses:
    """A sync of a large repository does not compare all files, and a small one does not start more processes."""

    @pytest.fixture
    def both(self, make: Callable[..., Machine], remote: Path, is_large: bool) -> tuple[Machine, Machine]:
        return make("a", remote, is_large=is_large), make("b", remote, is_large=is_large)

    def test_nothing_to_do(self, both: tuple[Machine, Machine], processes: Count, is_large: bool) -> None:
        a, b = both
        a.note("one")
        settle(a, b)
        idle = ["for-each-ref", "fetch", "for-each-ref"]
        assert sorted(processes(a)) == sorted([*idle, *([] if is_large else ["status"])])

    def test_one_local_change(self, both: tuple[Machine, Machine], processes: Count, is_large: bool) -> None:
        a, b = both
        note_id = a.note("one")
        settle(a, b)
        a.store.update(note_id, body="two")
        run = processes(a)
        assert ("status" not in run, len(run)) == (is_large, 8 if is_large else 9)
        assert len(processes(a)) == (3 if is_large else 4)
        b.sync()
        assert b.bodies() == {"two"}

    def test_one_remote_change(self, both: tuple[Machine, Machine], processes: Count, is_large: bool) -> None:
        a, b = both
        note_id = a.note("one")
        settle(a, b)
        b.sync()
        a.store.update(note_id, body="two")
        a.sync()
        run = processes(b)
        assert ("status" not in run, len(run)) == (is_large, 9 if is_large else 10)
        assert len(processes(b)) == (3 if is_large else 4)
        assert b.bodies() == {"two"}


def committed(machine: Machine) -> dict[str, str]:
    """The blobs of the last commit, by path. Unlike `git status`, this does not write git's index."""
    listed = machine.git("ls-tree", "-r", "-z", "HEAD").split("\0")
    return {path: facts.split(" ")[2] for facts, _, path in (entry.partition("\t") for entry in listed) if path}


def blobs(machine: Machine) -> dict[str, str]:
    """The files as the blobs that git makes of them."""
    return {
        path: hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        for path, data in machine.files().items()
    }


OBSERVED = """
import json, sys
listed = []
def observe(event, args):
    if event == "os.scandir" and str(args[0]).endswith("/memory/semantic"):
        listed.append(str(args[0]))
from anamnesis.store import MemoryStore
from anamnesis.sync import GitSyncBackend, sync_store
root, remote = sys.argv[1:]
with MemoryStore(root) as store:
    sys.addaudithook(observe)
    result = sync_store(store, GitSyncBackend(store.memory_dir, remote=remote, machine_id="c", small_index=0))
print(json.dumps([result.pulled, listed]))
"""


class TestComparingChangedFilesOnly:
    @pytest.fixture
    def large(self, make: Callable[..., Machine], remote: Path) -> Machine:
        """A machine whose last sync has left a checkpoint."""
        machine = make("c", remote, is_large=True)
        machine.put("readme.txt", "one")
        machine.note("first")
        machine.note("second")
        machine.sync()
        machine.sync()
        return machine

    def test_every_change_through_the_store_is_committed(self, large: Machine, processes: Count) -> None:
        first, second = (note.id for note in large.store.list())
        local = large.store.write(type="semantic", title="t", body="b", scope="machine-local").id
        for change in (
            lambda: large.note("third"),
            lambda: large.store.update(first, body="changed"),
            lambda: large.store.delete(second),
            lambda: large.store.restore(second),
            lambda: large.store.move(second, "machine-local"),
            lambda: large.store.move(local, "portable"),
            lambda: purge(large.store, first),
        ):
            change()
            assert "status" not in processes(large)
            assert committed(large) == blobs(large)

    def test_every_change_of_a_folder_by_another_program_is_committed(self, large: Machine) -> None:
        path = next(path for path in large.files() if path.endswith(".md"))
        for change in (
            lambda: large.save(path, text_of("x", "another note")),
            lambda: large.save("readme.txt", "two"),
            lambda: large.put("image.png", b"\x89PNG"),
            lambda: large.put("semantic/.hidden", "x"),
            lambda: large.put("topic/new.md", text_of("new", "in a new folder")),
            lambda: (large.folder / path).rename(large.folder / "topic" / "moved.md"),
            lambda: (large.folder / "topic" / "moved.md").unlink(),
            lambda: shutil.rmtree(large.folder / "topic"),
        ):
            change()
            large.sync()
            assert committed(large) == blobs(large)

    def test_a_remote_change_lists_no_folder(self, large: Machine, a: Machine, remote: Path) -> None:
        a.sync()
        ids = [note.id for note in a.store.list()]
        a.store.update(ids[0], body="changed")
        a.store.delete(ids[1])
        a.note("new")
        a.sync()
        done = subprocess.run(
            [sys.executable, "-c", OBSERVED, str(large.store.root), str(remote)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout) == [1, []]
        assert large.store.refresh() == RefreshCounts(0, 0, 0)
        assert large.bodies() == {"changed", "new"}

    def test_an_edit_in_place_that_nobody_noticed_is_not_overwritten(self, large: Machine, a: Machine) -> None:
        a.sync()
        note = a.store.list()[0]
        path = f"semantic/{note.id}.md"
        a.store.update(note.id, body="of a")
        a.sync()
        large.put(path, large.files()[path].replace(note.body.encode(), b"edited in place"))
        assert large.sync().conflicted
        assert {"of a", "edited in place"} <= large.bodies()
        assert committed(large) == blobs(large)

    def edit_in_place(self, machine: Machine) -> str:
        """Edit a note so that neither its name nor its folder changes; it is not found by a sync of changed files."""
        path = next(path for path in machine.files() if path.startswith("semantic/"))
        machine.put(path, machine.files()[path] + b"edited\n")
        machine.sync()
        assert committed(machine) != blobs(machine)
        return path

    def test_an_edit_in_place_is_committed_once_the_index_knows_it(self, large: Machine, processes: Count) -> None:
        """As when the daemon watches the folder."""
        path = self.edit_in_place(large)
        large.store.refresh_files([f"memory/{path}"])
        assert "status" not in processes(large)
        assert committed(large) == blobs(large)

    def test_all_files_are_compared_once_an_hour(self, large: Machine) -> None:
        self.edit_in_place(large)
        checkpoint = large.folder / ".git" / "anamnesis-checkpoint"
        facts = json.loads(checkpoint.read_text("utf-8"))
        checkpoint.write_text(json.dumps({**facts, "compared_at": facts["compared_at"] - 3600}), "utf-8")
        large.sync()
        assert committed(large) == blobs(large)

    @pytest.mark.parametrize(
        "use",
        [
            lambda large: large.git("add", "."),
            lambda large: large.git("commit", "--quiet", "--allow-empty", "-m", "by hand"),
            lambda large: large.git("checkout", "--quiet", "--detach"),
            lambda large: (large.folder / ".git" / "anamnesis-checkpoint").unlink(),
            lambda large: (large.folder / ".git" / "anamnesis-checkpoint").write_text("{"),
            lambda large: large.store.reindex(),
        ],
        ids=["staged", "committed", "detached", "interrupted", "damaged", "rebuilt"],
    )
    def test_all_files_are_compared_when_the_last_state_is_not_known(
        self, large: Machine, use: Callable[[Machine], object]
    ) -> None:
        self.edit_in_place(large)
        use(large)
        large.sync()
        assert committed(large) == blobs(large)

    def test_ignored_files_stay_out(self, large: Machine) -> None:
        large.put(".gitignore", "procedural/\n")
        large.sync()
        large.sync()
        large.note("ignored", type="procedural")
        large.note("third")
        large.sync()
        assert [path for path in blobs(large) if path not in committed(large)] == [
            path for path in large.files() if path.startswith("procedural/")
        ]

    def test_a_repository_inside_stays_out(self, large: Machine) -> None:
        inside = large.folder / "project"
        inside.mkdir()
        git(inside, "init", "--quiet")
        large.put("project/one.md", text_of("one", "text"))
        large.sync()
        large.sync()
        large.store.update("one", body="changed")
        large.sync()
        assert not any(path.startswith("project/") for path in committed(large))

    def test_the_address_of_the_remote_is_not_written_a_second_time(self, large: Machine, remote: Path) -> None:
        """It may hold a password."""
        assert str(remote) not in (large.folder / ".git" / "anamnesis-checkpoint").read_text("utf-8")
