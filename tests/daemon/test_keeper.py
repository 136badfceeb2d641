"""The notes of a running daemon: no client waits for them, and every change of them is noticed."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from tests.waiting import wait_until
from tests.web.daemon import Daemon, running

from anamnesis.bridge import journal
from anamnesis.disk import locked
from anamnesis.engram import database, observations, sessions
from anamnesis.engram.observations import NewObservation
from anamnesis.store import MemoryStore


def save(daemon: Daemon, title: str, content: str) -> None:
    for path, body in (
        ("/sessions", {"id": "s1", "project": "shop"}),
        ("/observations", {"session_id": "s1", "title": title, "content": content, "type": "decision"}),
    ):
        assert daemon.ask("POST", path, json.dumps(body)).status in (200, 201)


@contextlib.contextmanager
def opening(home: Path) -> Iterator[tuple[Daemon, Callable[[], None]]]:
    """A daemon that cannot open its notes yet, and how to let it: their index is made anew, by one at a time."""
    MemoryStore(home).close()
    (home / "index.db").unlink()
    with contextlib.ExitStack() as held:
        held.enter_context(locked(home / "index.lock"))
        with running(home) as daemon:
            try:
                yield daemon, held.close
            finally:
                held.close()


def test_a_write_does_not_wait_for_the_notes_to_be_opened_and_is_among_them_then(tmp_path: Path) -> None:
    with opening(tmp_path) as (daemon, let_it):
        save(daemon, "Early", "written before the notes were open")
        assert daemon.ready()["bridge"] == "opening"
        let_it()
        wait_until(lambda: daemon.ready()["bridge"] == "on")
        save(daemon, "Later", "written when they were")
        with MemoryStore(tmp_path) as store:
            assert [note.title for note in store.search("they were")][:1] == ["Later"]
        wait_until(lambda: any("Early" in path.read_text() for path in tmp_path.glob("memory/*/*.md")))


def test_a_version_replaced_before_the_notes_are_open_is_in_the_history(tmp_path: Path) -> None:
    with opening(tmp_path) as (daemon, _):
        save(daemon, "Title", "first")
        assert daemon.ask("PATCH", "/observations/1", json.dumps({"content": "second"})).status == 200
        assert daemon.ready()["bridge"] == "opening"
        with contextlib.closing(database.connect(tmp_path / "engram.db")) as db:
            assert [each.observation.content for each in journal.revisions(db, 1)] == ["first"]


def test_many_changes_of_others_are_reconciled_after_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "engram.db"
    database.prepare(path)
    with contextlib.closing(database.connect(path)) as db, running(tmp_path) as daemon:
        wait_until(lambda: daemon.ready()["bridge"] == "on")
        with database.writing(db):
            sessions.create(db, "s1", "shop")
            for number in range(450):
                observations.add(db, NewObservation("s1", f"Title {number}", f"content {number}"))
        save(daemon, "Mine", "mine")
        wait_until(lambda: not journal.changed(db))


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon whose notes are open, with an engram.db."""
    database.prepare(tmp_path / "engram.db")
    with running(tmp_path) as started:
        wait_until(lambda: started.ready()["bridge"] == "on")
        yield started


def is_found(daemon: Daemon, word: str) -> bool:
    return bool(daemon.ask("GET", f"/search?q={word}").by_words)


def edit(file: Path, old: str, new: str) -> None:
    """Write over a file in its place: its folder does not show that."""
    file.write_text(file.read_text().replace(old, new))


SCRIPT = """
import sys
from anamnesis.store import MemoryStore
with MemoryStore(sys.argv[1]) as store:
    note = store.write(type="semantic", title=sys.argv[2], body="written by a script", project="shop")
    if sys.argv[3] == "update":
        store.update(note.id, body="changed by a script")
    if sys.argv[3] == "delete":
        store.delete(note.id)
"""


def is_or_is_not_found(daemon: Daemon, word: str, expected: bool) -> bool:
    return is_found(daemon, word) == expected


def test_every_note_that_a_script_writes_is_found_by_engrams_search_soon(tmp_path: Path) -> None:
    """The script enters its notes into the index itself: no file is left to be found changed."""
    database.prepare(tmp_path / "engram.db")
    with running(tmp_path) as daemon:
        wait_until(lambda: daemon.ready()["bridge"] == "on")
        for word, way in (("harbour", "write"), ("lantern", "update"), ("anchor", "write"), ("compass", "delete")):
            subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path), word, way], check=True)
            wait_until(partial(is_or_is_not_found, daemon, word, way != "delete"))
            wait_until(lambda: daemon.ready()["waiting"] == {"notes": 0, "observations": 0})


@pytest.mark.parametrize("seconds", [0.0, 1.5])
@pytest.mark.parametrize("way", ["renamed", "removed"])
def test_edits_are_seen_in_a_folder_that_took_the_place_of_another(daemon: Daemon, way: str, seconds: float) -> None:
    """A copy that was brought back, or a file system that was mounted there; also if there is none for a while."""
    save(daemon, "Title", "first")
    memory, copy = daemon.home / "memory", daemon.home / "copy"
    shutil.copytree(memory, copy)
    memory.rename(daemon.home / "away") if way == "renamed" else shutil.rmtree(memory)
    time.sleep(seconds)
    shutil.copytree(copy, memory, dirs_exist_ok=True)
    [file] = memory.glob("*/*.md")
    for word, other in pairwise(("first", "second", "third", "fourth")):
        edit(file, word, other)
        wait_until(partial(is_found, daemon, other))


def test_files_that_cannot_be_indexed_do_not_end_the_watch(daemon: Daemon) -> None:
    save(daemon, "Title", "first")
    [file] = daemon.home.glob("memory/*/*.md")
    (file.parent / "folder.md").mkdir()
    (file.parent / "nowhere.md").symlink_to("nowhere")
    with locked(daemon.home / "bridge.lock"):
        edit(file, "first", "second")
    wait_until(lambda: is_found(daemon, "second"))
    edit(file, "second", "third")
    wait_until(lambda: is_found(daemon, "third"))
    assert "cannot watch" not in (daemon.home / "anamnesis.log").read_text()
