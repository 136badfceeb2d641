"""Any number of processes and machines at once: they wait for one another, agree in the end, and lose no note."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.sync.machine import Machine, assert_same, git, settle, start_sync, synced

Make = Callable[..., Machine]

WRITING = """
import sys
from anamnesis.errors import NoteConflict
from anamnesis.store import MemoryStore
from anamnesis.sync import GitSyncBackend, sync_store
root, name, remote, count = sys.argv[1:]
with MemoryStore(root) as store:
    backend = GitSyncBackend(store.memory_dir, remote=remote, machine_id=name)
    shared = store.list()[0].id if store.count() else ""
    for number in range(int(count)):
        store.write(type="semantic", title="t", body=f"{name}-{number}")
        while shared:
            note = store.get(shared)
            try:
                store.update(shared, expected=note, body=f"{note.body}\\n{name}+{number}")
                break
            except NoteConflict:  # a sync has changed it at that moment
                continue
        if remote:
            result = sync_store(store, backend)
            assert result.reached, result.detail
        print(f"{name}-{number}", flush=True)
"""


def start_writer(machine: Machine, count: int, *, syncing: bool) -> subprocess.Popen[str]:
    """A process that writes notes and adds to the one that was there before, and syncs after each if it is to."""
    remote = (machine.backend.remote or "") if syncing else ""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", WRITING, str(machine.store.root), machine.name, remote, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def written(process: subprocess.Popen[str]) -> set[str]:
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    return set(output.split())


def lines(machine: Machine) -> set[str]:
    return {line for body in machine.bodies() for line in body.split("\n")}


def test_syncs_of_one_store_at_once_wait_for_one_another(a: Machine, b: Machine) -> None:
    a.note("one")
    settle(a, b)
    b.note("two")
    b.sync()
    a.note("three")
    assert all(synced(process) for process in [start_sync(a) for _ in range(4)])
    settle(a, b)
    assert a.bodies() == {"one", "two", "three"}
    assert_same(a, b)
    assert a.git("log", "--format=%s", "--no-merges").count("from a") == 2


def test_the_first_syncs_of_a_store_can_come_at_once(a: Machine, b: Machine) -> None:
    b.note("there before")
    b.sync()
    a.note("here")
    assert all(synced(process) for process in [start_sync(a) for _ in range(5)])
    settle(a, b)
    assert a.bodies() == {"there before", "here"}
    assert_same(a, b)


def test_three_machines_that_push_at_once_agree(make: Make, remote: Path) -> None:
    machines = [make(name, remote) for name in "abc"]
    machines[0].note("shared")
    settle(*machines)
    writers = [start_writer(each, 5, syncing=True) for each in machines]
    words = set().union(*(written(writer) for writer in writers))
    assert len(words) == 15
    settle(*machines)
    assert_same(*machines)
    assert words | {word.replace("-", "+") for word in words} <= lines(machines[0])
    assert machines[0].store.problems() == []


def test_notes_written_while_syncs_run_are_all_kept(a: Machine, b: Machine) -> None:
    a.note("shared")
    settle(a, b)
    writers = [start_writer(each, 25, syncing=False) for each in (a, b)]
    while any(writer.poll() is None for writer in writers):
        for each in (a, b):
            assert each.sync().reached
    words = set().union(*(written(writer) for writer in writers))
    assert len(words) == 50
    settle(a, b)
    assert_same(a, b)
    assert words | {word.replace("-", "+") for word in words} <= lines(a)
    assert all(len(a.store.search(f'"{word}"', k=100, mode="words")) >= 1 for word in words)


def test_a_reader_finds_every_note_while_syncs_change_others(a: Machine, b: Machine) -> None:
    steady = a.note("steady")
    moving = [a.note(f"moving {number}") for number in range(10)]
    settle(a, b)
    script = """
import sys
from anamnesis.store import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    print("ready", flush=True)
    searches = 0
    while True:
        assert [note.id for note in store.search("steady", mode="words")] == [sys.argv[2]]
        assert len(store.search("moving", k=50, mode="words")) >= 9  # one may be on its way to another folder
        searches += 1
        if searches % 10 == 0:
            print(searches, flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, str(b.store.root), steady],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdout
        assert reader.stderr
        reader.stdout.readline()
        for number, note_id in enumerate(moving):
            a.store.update(note_id, type="procedural", title=f"t{number}")
            a.sync()
            b.sync()
            reader.stdout.readline()
        assert reader.poll() is None, reader.stderr.read()
        reader.kill()
    assert_same(a, b)


def test_the_remote_holds_every_commit_that_was_said_to_be_pushed(make: Make, remote: Path) -> None:
    machines = [make(name, remote) for name in "abc"]
    heads = []
    for number in range(4):
        for each in machines:
            each.note(f"{each.name} {number}")
            result = each.sync()
            if result.pushed:
                heads.append(result.head)
    known = git(remote, "rev-list", "main").split()
    assert all(any(commit.startswith(head) for commit in known) for head in heads)
