"""Commands that read do not write: they work on a read-only home, and create no file on a writable one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.command import Command, Done
from tests.cli.test_terminal import plain
from tests.disks import DISKS, command_on

from anamnesis.engram import database, observations, sessions
from anamnesis.engram.observations import NewObservation
from anamnesis.store import MemoryStore

NEW_NOTE = "---\nid: two\ntype: semantic\ntitle: Two\n---\ngiraffe in a file\n"


def add_rows(anamnesis: Command, *titles: str) -> None:
    """What Engram's own program writes."""
    path = Path(anamnesis.variables["HOME"]) / ".engram" / "engram.db"
    database.prepare(path)
    with closing(database.connect(path)) as db:
        sessions.create(db, "s", "shop", "")
        for title in titles:
            observations.add(db, NewObservation("s", title, f"zebra {title}", project="shop"))


@pytest.fixture
def reading(anamnesis: Command) -> Iterator[Command]:
    """A note, an observation that is a note, and one that is not yet."""
    add_rows(anamnesis, "Reconciled")
    with MemoryStore(anamnesis.home) as store:
        store.write(type="semantic", title="One", body="giraffe")
    assert anamnesis("bridge", "reconcile").code == 0
    add_rows(anamnesis, "Waiting")
    yield anamnesis
    for folder, _, _ in os.walk(anamnesis.folder):
        os.chmod(folder, 0o700)


def id_of_one(anamnesis: Command) -> str:
    (file,) = [path for path in (anamnesis.home / "memory").rglob("*.md") if "title: One" in path.read_text()]
    return file.stem


def current(home: Path) -> None:
    """The index is as it was left."""


def stale(home: Path) -> None:
    """A note came, another went: git has pulled, for example."""
    (home / "memory/semantic/two.md").write_text(NEW_NOTE)
    (gone,) = [path for path in (home / "memory").rglob("*.md") if "title: Reconciled" in path.read_text()]
    gone.unlink()


def absent(home: Path) -> None:
    for name in ("index.db", "index.lock", "store.lock"):
        (home / name).unlink()


def damaged(home: Path) -> None:
    with (home / "index.db").open("r+b") as file:
        file.seek(4096)
        file.write(bytes(40960))


def killed(home: Path) -> None:
    """Its writer has died: what it wrote last is in the log, and the file that processes share is not there."""
    with MemoryStore(home) as store:
        store.put(store.list()[0])
        copies = [(home / f"index.db{suffix}").read_bytes() for suffix in ("", "-wal")]
    for suffix, data in zip(("", "-wal"), copies, strict=True):
        (home / f"index.db{suffix}").write_bytes(data)


STATES = [current, stale, absent, damaged, killed]


class OnDisk:
    """The command, while its folder is on such a disk."""

    def __init__(self, anamnesis: Command, disk: str) -> None:
        self._anamnesis, self._disk = anamnesis, disk

    def __call__(self, *arguments: str, stdin: str = "") -> Done:
        return self.run([sys.executable, "-m", "anamnesis", *arguments], stdin)

    def run(self, command: list[str], stdin: str = "") -> Done:
        folder = self._anamnesis.folder
        done = subprocess.run(
            command_on(self._disk, folder, command),
            cwd=folder,
            env=self._anamnesis.variables,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)


def titles_after(state: Callable[[Path], None]) -> set[str]:
    return {"One", "Two"} if state is stale else {"One", "Reconciled"}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("disk", DISKS)
def test_notes_can_be_read_on_any_disk(reading: Command, disk: str, state: Callable[[Path], None]) -> None:
    note_id = id_of_one(reading)
    state(reading.home)
    anamnesis = OnDisk(reading, disk)
    listed, found = anamnesis("list", "--json"), anamnesis("search", "giraffe", "--json")
    assert (listed.code, listed.err) == (found.code, found.err) == (0, "")
    assert {note["title"] for note in listed.json} == titles_after(state)
    assert {note["title"] for note in found.json} == titles_after(state) - {"Reconciled"}
    shown, told = anamnesis("show", note_id), anamnesis("history", note_id)
    assert (shown.code, shown.err) == (told.code, told.err) == (0, "")
    assert "giraffe" in shown.out
    assert told.out.startswith("1\t")
    status = anamnesis("status", "--json")
    assert (status.code, status.err, status.json["total"]) == (0, "", len(listed.json))
    assert status.json["bridge"]["waiting"]["observations"] == 1
    doctor = anamnesis("doctor", "--json")
    assert (doctor.code, doctor.err) == (1, "")
    assert " and 1 changed observation." in " ".join(each["fault"] for each in doctor.json["faults"])


@pytest.mark.parametrize("state", [current, stale, absent])
@pytest.mark.parametrize("disk", DISKS)
def test_notes_are_found_by_meaning_on_a_disk_that_cannot_be_written(
    reading: Command, disk: str, state: Callable[[Path], None]
) -> None:
    with MemoryStore(reading.home) as store:
        store.write(type="semantic", title="Pods", body="kubectl rollout restart")
        store.embed()
    state(reading.home)
    done = OnDisk(reading, disk)("search", "kubernetes", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json[0]["title"] == "Pods"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("disk", ["read-only", "closed", "full"])
def test_no_file_is_left_on_a_disk_that_cannot_be_written(
    reading: Command, disk: str, state: Callable[[Path], None]
) -> None:
    state(reading.home)
    commands = " ".join(f'"$0" -m anamnesis {each} >/dev/null;' for each in ("search x", "list", "status", "doctor"))
    script = f"find . | sort; echo; {commands} find . | sort"
    done = OnDisk(reading, disk).run(["sh", "-c", script, sys.executable])
    assert done.err == ""
    before, after = done.out.split("\n\n")
    assert before.split() == after.split()


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but the index and the vectors, which are derived from the notes, and the record of use."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path): path.read_bytes() for path in files if not path.name.startswith(("index.", "vectors.db", "usage."))
    }


@pytest.mark.parametrize("is_new", [False, True])
def test_reading_makes_no_note_of_an_observation_and_writes_only_the_index_and_the_record_of_use(
    reading: Command, is_new: bool
) -> None:
    if is_new:  # to an engram.db that has never been reconciled
        shutil.rmtree(Path(reading.variables["HOME"]) / ".engram")
        add_rows(reading, *(f"Row {number}" for number in range(300)))
    before = contents(reading.folder)
    note_id = id_of_one(reading)
    for arguments in (["search", "zebra"], ["list"], ["show", note_id], ["status"], ["history", note_id], ["doctor"]):
        done = reading(*arguments)
        assert (done.code, done.err) == (1 if arguments == ["doctor"] else 0, "")
        assert contents(reading.folder) == before
    assert "Waiting" not in reading("list").out


def test_a_home_that_is_not_there_is_not_created(anamnesis: Command) -> None:
    for arguments in (["search", "x"], ["list"], ["status"], ["doctor"]):
        assert anamnesis(*arguments).code == 0
    assert anamnesis("show", "x").err == "anamnesis: No note has the id x. `anamnesis list` shows the ids.\n"
    assert not anamnesis.home.exists()


def test_pending_changes_are_shown_with_the_command_that_reconciles_them(reading: Command) -> None:
    assert "1 change waits to be reconciled: anamnesis bridge reconcile" in " ".join(
        plain(reading.on_terminal("status")).split()
    )
    assert "waiting\tobservations\t1\nwaiting\tuntil\tanamnesis bridge reconcile\n" in reading("status").out
    fault = "Waiting: 0 changed notes and 1 changed observation.\tReconcile them: anamnesis bridge reconcile"
    assert fault in reading("doctor").out
    hint = "1 observation is not a note yet: anamnesis bridge reconcile"
    assert hint in plain(reading.on_terminal("search", "zebra"))
    assert reading("bridge", "reconcile").code == 0
    assert hint not in plain(reading.on_terminal("search", "zebra"))
    assert "waiting\tuntil" not in reading("status").out
    assert "Waiting" in reading("search", "zebra").out
    assert reading("doctor").code == 0


def test_a_write_makes_notes_of_the_observations_that_wait(reading: Command) -> None:
    assert "Waiting" not in reading("search", "zebra").out
    assert reading("write", "Other", "body").code == 0
    assert "Waiting" in reading("search", "zebra").out


Call = tuple[str, dict[str, str]]


def session(calls: list[Call]) -> str:
    """What an agent sends that makes these calls, one after the other."""
    messages = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(calls)
    ]
    return "".join(json.dumps(each) + "\n" for each in messages)


def reading_calls(note_id: str) -> list[Call]:
    search = ("memory_search", {"query": "giraffe"})
    return [search, ("memory_list", {}), ("memory_get", {"id": note_id}), ("memory_status", {})]


WRITING: Call = ("memory_write", {"type": "semantic", "title": "New", "body": "unsaved"})


@pytest.mark.parametrize("state", [current, stale, absent])
@pytest.mark.parametrize("disk", DISKS)
def test_an_agent_can_read_over_mcp(reading: Command, disk: str, state: Callable[[Path], None]) -> None:
    calls = [*reading_calls(id_of_one(reading)), WRITING]
    state(reading.home)
    done = OnDisk(reading, disk)("serve", stdin=session(calls))
    assert (done.code, done.err) == (0, "")
    answers = {each["id"]: each["result"] for each in map(json.loads, done.out.splitlines())}
    said = [answers[number]["content"][0]["text"] for number in range(len(calls))]
    assert [bool(answers[number].get("isError")) for number in range(len(calls))] == [False] * 4 + [True]
    assert ("Two" in said[0]) == ("Two" in said[1]) == (state is stale)
    assert all("One" in each for each in said[:3])
    assert '"total":2' in said[3]
    assert "Cannot" in said[4]


@pytest.mark.parametrize("state", [current, stale, absent])
def test_an_agent_that_only_reads_makes_no_note(reading: Command, state: Callable[[Path], None]) -> None:
    calls = reading_calls(id_of_one(reading))
    state(reading.home)
    before = contents(reading.home / "memory")
    assert reading("serve", stdin=session(calls)).code == 0
    assert contents(reading.home / "memory") == before
    assert reading("serve", stdin=session([WRITING])).code == 0
    assert "Waiting" in reading("search", "zebra").out
