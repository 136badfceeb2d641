"""Every version of a note that was replaced is kept on this machine, whoever replaced it, within a limit."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.disks import command_on, full_disk
from tests.killing import fork, wait_for
from tests.remains import BODY, REVISED, holding
from tests.store.test_crash import age

from anamnesis.notes import Memory, render
from anamnesis.notes.acceptance import OWN
from anamnesis.store import MemoryStore
from anamnesis.store.purging import erase, purge

READER = (
    "import sys; from anamnesis.store import MemoryStore\nwith MemoryStore(sys.argv[1]) as store: print(store.count())"
)


def note(body: str, **fields: object) -> Memory:
    return Memory(**{"id": "n", "type": "semantic", "title": "t", "body": body, **fields})  # type: ignore[arg-type]


def save(store: MemoryStore, text: str, name: str = "n.md") -> None:
    """What an editor saves."""
    (store.memory_dir / "semantic" / name).write_text(text, "utf-8")


def bodies(store: MemoryStore, note_id: str = "n") -> list[str]:
    return [each.note.body for each in store.kept.versions(note_id)]


def test_versions_that_the_program_replaced_are_kept_in_their_order(store: MemoryStore) -> None:
    for body in ("one", "two", "one", "three"):
        store.put(note(body))
    store.update("n", tags=["red"])
    store.delete("n")
    assert bodies(store) == ["one", "two", "one", "three", "three"]
    assert store.kept.versions("n")[-1].note.tags == ["red"]


def test_versions_that_an_editor_replaced_are_kept_whole(store: MemoryStore) -> None:
    first = note("one", extra={"tags": "mine: 7\n"}, engram={"topic_key": "x"}, tags=["red"], newline="\r\n")
    store.put(first)
    save(store, render(note("two")))
    store.refresh()
    assert [each.note for each in store.kept.versions("n")] == [first]
    (store.memory_dir / "semantic" / "n.md").unlink()
    store.refresh()
    assert bodies(store) == ["one", "two"]


def test_a_file_that_became_unreadable_does_not_lose_its_last_version(store: MemoryStore) -> None:
    store.put(note("one"))
    save(store, "---\nid: n\n")
    store.refresh()
    save(store, render(note("two")))
    store.refresh()
    assert bodies(store) == ["one"]


def test_an_edit_that_no_refresh_has_seen_is_kept_when_the_program_writes(store: MemoryStore) -> None:
    store.put(note("one"))
    save(store, render(note("two")))
    store.update("n", body="three")
    assert bodies(store) == ["one", "two"]


def test_nothing_is_kept_of_a_first_write_or_of_a_change_of_counters(store: MemoryStore) -> None:
    store.put(note("one", engram={"revision_count": 1}))
    store.put(note("one", engram={"revision_count": 2}, updated_at="2026-01-01T00:00:00+00:00"))
    save(store, render(note("one")).replace("\n", "\r\n", 1).replace("\r\n", "\n"))
    store.refresh()
    assert bodies(store) == []
    assert not (store.root / "kept.db").exists()


def test_a_moved_note_keeps_its_former_version_and_a_renamed_file_adds_none(store: MemoryStore) -> None:
    store.put(note("one"))
    store.update("n", type="procedural")
    assert [each.note.type for each in store.kept.versions("n")] == ["semantic"]
    (store.memory_dir / "procedural" / "n.md").rename(store.memory_dir / "procedural" / "other.md")
    store.refresh()
    assert len(bodies(store)) == 1


@pytest.mark.parametrize("lose", ["reindex", "delete"])
def test_a_rebuilt_index_loses_no_version(tmp_path: Path, lose: str) -> None:
    with MemoryStore(tmp_path) as store:
        store.put(note("one"))
        store.put(note("two"))
        if lose == "reindex":
            save(store, render(note("three")))
            store.reindex()
    if lose == "delete":
        (tmp_path / "index.db").unlink()
    with MemoryStore(tmp_path) as store:
        assert bodies(store) == (["one", "two"] if lose == "reindex" else ["one"])


def test_number_and_size_have_a_limit(tmp_path: Path) -> None:
    with MemoryStore(tmp_path, versions=3) as store:
        for number in range(9):
            store.put(note(f"v{number}"))
        assert bodies(store) == ["v5", "v6", "v7"]
        store.put(note("x" * 50_000))
        store.put(note("y" * 50_000))
        store.put(note("z" * 100_000))
        assert [body[0] for body in bodies(store)] == ["y"]
        store.put(note("small"))
        assert [body[0] for body in bodies(store)] == ["y"]
    with MemoryStore(tmp_path, versions=0) as store:
        store.put(note("unkept"))
        store.put(note("last"))
        assert [body[0] for body in bodies(store)] == ["y"]


def test_no_secret_is_kept(store: MemoryStore) -> None:
    secret = "ghp_" + "a1B2" * 9
    store.put(note("one"))
    save(store, render(note(f"token {secret}")))
    store.refresh()
    store.put(note("three"))
    assert len(bodies(store)) == 2
    assert secret.encode() not in b"".join(path.read_bytes() for path in store.root.glob("kept.db*"))


def test_other_users_cannot_read_it_and_git_does_not_have_it(store: MemoryStore) -> None:
    store.put(note("one"))
    store.put(note("two"))
    assert stat.S_IMODE((store.root / "kept.db").stat().st_mode) == 0o600
    assert holding(store.memory_dir, words=("kept.db",)) == {}


def test_a_purge_leaves_no_version(store: MemoryStore) -> None:
    for body in (BODY, REVISED, "last"):
        store.put(note(body))
    store.put(note("other", id="m"))
    store.put(note("other two", id="m"))
    purge(store, "n")
    assert erase(store)
    assert bodies(store) == []
    assert bodies(store, "m") == ["other"]
    assert holding(store.root) == {}


def test_a_purge_leaves_no_acceptance_also_of_another_login(store: MemoryStore) -> None:
    store.put(note("one"))
    store.accepted.decide([store.get("n")], OWN)
    store.accepted.change_user(store.root / "accepted-1.txt", store.root / "accepted-2.txt")
    assert store.accepted.exchanged() == {} and "\nn " in (store.root / "accepted-1.txt").read_text()
    purge(store, "n")
    assert "\nn " not in (store.root / "accepted-1.txt").read_text()


def test_a_killed_purge_is_finished_by_the_erasure(tmp_path: Path) -> None:
    for number in itertools.count(1):
        root = tmp_path / str(number)
        with MemoryStore(root) as store:
            for body in (BODY, REVISED, "last"):
                store.put(note(body))

        def work(root: Path = root) -> None:
            with MemoryStore(root) as store:
                purge(store, "n")

        is_killed = wait_for(fork(work, number))
        age(root)
        with MemoryStore(root) as store:
            if (root / "purged" / "n").exists():
                purge(store, "n")
                assert erase(store)
                assert holding(root) == {}
        if not is_killed:
            break


def test_a_kill_at_any_moment_of_an_update_loses_no_version(tmp_path: Path) -> None:
    for number in itertools.count(1):
        root = tmp_path / str(number)
        with MemoryStore(root) as store:
            store.put(note("one"))

        def work(root: Path = root) -> None:
            with MemoryStore(root) as store:
                store.put(note("two"))

        is_killed = wait_for(fork(work, number))
        age(root)
        with MemoryStore(root) as store:
            now = store.get("n").body
            assert now in ("one", "two")
            assert bodies(store) in ([["one"]] if now == "two" else [[], ["one"]])
            store.put(note("three"))
            assert [*dict.fromkeys(bodies(store))] == (["one", "two"] if now == "two" else ["one"])
        if not is_killed:
            break


@pytest.mark.parametrize("disk", ["read-only", "closed", "full", "no growth"])
def test_a_disk_that_cannot_be_written_loses_no_version(tmp_path: Path, disk: str) -> None:
    root = tmp_path / "store"
    with MemoryStore(root) as store:
        store.put(note("one"))
        save(store, render(note("two")))
    command = command_on(disk, root, [sys.executable, "-c", READER, str(root)])
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
    subprocess.run(["chmod", "-R", "u+w", str(root)], check=True)
    with MemoryStore(root) as store:
        store.refresh()
        assert bodies(store) == ["one"]


def test_a_version_is_read_where_nothing_can_be_written(store: MemoryStore) -> None:
    store.put(note("one"))
    store.put(note("two"))
    with full_disk():
        assert bodies(store) == ["one"]


def test_a_file_without_its_table_is_set_aside(store: MemoryStore) -> None:
    with contextlib.closing(sqlite3.connect(store.root / "kept.db")) as db:
        db.execute("PRAGMA user_version = 1")
    store.put(note("one"))
    store.put(note("two"))
    assert bodies(store) == ["one"]
    assert store.count() == 1


@pytest.mark.parametrize("damage", [b"", b"no database", None])
def test_a_damaged_file_is_set_aside_and_stops_no_write(tmp_path: Path, damage: bytes | None) -> None:
    with MemoryStore(tmp_path) as store:
        store.put(note("one"))
        store.put(note("two"))
    for path in tmp_path.glob("kept.db-*"):
        path.unlink()
    kept = tmp_path / "kept.db"
    if damage is None:
        kept.write_bytes(b"\xff" * kept.stat().st_size)
    else:
        kept.write_bytes(damage)
    with MemoryStore(tmp_path) as store:
        assert bodies(store) == []
        store.put(note("three"))
        assert store.get("n").body == "three"
        assert bodies(store) == ["two"]


def test_a_file_that_was_removed_meanwhile_is_made_again(store: MemoryStore) -> None:
    store.put(note("one"))
    store.put(note("two"))
    for path in store.root.glob("kept.db*"):
        path.unlink()
    store.put(note("three"))
    assert bodies(store) == ["two"]


def test_two_processes_keep_side_by_side(store: MemoryStore) -> None:
    store.put(note("one"))

    def work() -> None:
        for number in range(20):
            store.put(note(f"child {number}"))

    child = fork(work, 1_000_000)
    for number in range(20):
        store.put(note(f"parent {number}"))
    wait_for(child)
    assert len({*bodies(store), store.get("n").body}) == 41
    assert os.path.exists(store.root / "kept.db")
