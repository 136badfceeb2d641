"""A file that is not a note never affects the others, and is reported with its path, line and reason."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from anamnesis.errors import InvalidNote
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore, RefreshCounts

HEAD = "---\nid: bad\ntype: semantic\ntitle: t\n"
BROKEN: dict[str, tuple[str | bytes, int, str]] = {
    "no text": ("# No\0tes\n", 1, "memory file missing YAML front-matter"),
    "empty": ("", 1, "memory file missing YAML front-matter"),
    "unclosed": (HEAD, 1, "The front matter is not closed."),
    "list": ("---\n- a\n---\n", 2, "The front matter is not made of"),
    "null title": ("---\nid: bad\ntype: semantic\ntitle:\n---\n", 2, "The front matter has no title."),
    "blank title": ("---\nid: bad\ntype: semantic\ntitle: ''\n---\n", 4, "The title is empty."),
    "no id": ("---\ntype: semantic\ntitle: t\n---\n", 2, "The front matter has no id."),
    "bad id": ("---\nid: ../../bad\ntype: semantic\ntitle: t\n---\n", 2, "'../../bad' is not a note id."),
    "bad type": ("---\nid: bad\ntype: diary\ntitle: t\n---\n", 3, "type 'diary' is not one of"),
    "bad source": (HEAD + "prov_source: me\n---\n", 5, "prov_source 'me' is not one of"),
    "confidence: high": (HEAD + "confidence: high\n---\n", 5, "confidence 'high' is not a number."),
    "confidence: nan": (HEAD + "confidence: nan\n---\n", 5, "confidence nan is not a finite number."),
    "bad superseded id": (HEAD + "supersedes: a/b\n---\n", 5, "'a/b' is not a note id."),
    "conflict": (HEAD + "<<<<<<< HEAD\n=======\n>>>>>>> x\n---\n", 5, "The front matter holds git conflict"),
    "broken YAML": (HEAD + "x: a: b\n---\n", 5, "The front matter cannot be read:"),
    "control character": (HEAD + "x: \x01\n---\n", 5, "The front matter cannot be read:"),
    "not UTF-8": (HEAD.encode() + b"\xff\n---\n", 5, "The file is not UTF-8 text."),
}
TOLERATED = {
    "byte order mark": "\ufeff" + HEAD + "---\ngood\n",
    "tags: foo": HEAD + "tags: foo\n---\ngood\n",
    "tags: [1]": HEAD + "tags: [1]\n---\ngood\n",
    "unquoted time": HEAD + "created_at: 2026-01-01 10:00:00\nupdated_at: 2026-01-01\n---\ngood\n",
    "a time before all times": HEAD + "created_at: 0001-01-01T00:00:00+02:00\n---\ngood\n",
    "a time after all times": HEAD + "updated_at: 9999-12-31T23:59:59-05:00\n---\ngood\n",
    "a type that is not its folder's": HEAD.replace("semantic", "episodic") + "---\ngood\n",
    "a scope that is not its tree's": HEAD + "scope: machine-local\n---\ngood\n",
    "unknown scope": HEAD + "scope: galactic\n---\ngood\n",
}


def surrounded(store: MemoryStore, content: str | bytes) -> Path:
    """The content as a file between two good notes, none of them seen by the index yet."""
    for name in ("a", "z"):
        store.put(Memory(name, "semantic", "t", "good"))
    path = store.memory_dir / "semantic" / "m.md"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.utime(path.parent, ns=(0, 0))  # within one tick of the clock that stamps files, it would pass for our change
    return path


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_no_note_is_reported_and_stops_nothing(store: MemoryStore, name: str) -> None:
    content, line, reason = BROKEN[name]
    path = surrounded(store, content)
    before = path.read_bytes()
    for bring_up in (lambda: MemoryStore(store.root).close(), store.refresh, store.reindex):
        bring_up()
        assert {memory.id for memory in store.search("good")} == {"a", "z"}
        assert store.count() == 2
        (problem,) = store.problems()
        assert (problem.path, problem.line) == ("memory/semantic/m.md", line)
        assert problem.reason.startswith(reason)
    store.write(type="semantic", title="t", body="good")
    assert len(store.search("good")) == 3
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", TOLERATED)
def test_a_file_that_is_only_unusual_is_a_note(store: MemoryStore, name: str) -> None:
    surrounded(store, TOLERATED[name])
    for bring_up in (store.refresh, store.reindex):
        bring_up()
        assert {memory.id for memory in store.search("good")} == {"a", "bad", "z"}
        assert store.problems() == []
        assert store.get("bad").scope == "portable"


def test_all_of_them_together_are_each_reported(store: MemoryStore) -> None:
    surrounded(store, "# README\0\n")
    for number, (content, *_) in enumerate(BROKEN.values()):
        data = content if isinstance(content, bytes) else content.encode()
        (store.memory_dir / "semantic" / f"n{number:02}.md").write_bytes(data)
    store.refresh()
    assert len(store.problems()) == len(BROKEN) + 1
    assert len(store.search("good")) == 2


def test_a_mended_file_is_a_note_again(store: MemoryStore) -> None:
    path = surrounded(store, "<<<<<<< HEAD\n")
    store.refresh()
    path.write_text(HEAD + "---\ngood\n", "utf-8")
    store.refresh()
    assert store.problems() == []
    assert len(store.search("good")) == 3


def test_a_note_that_becomes_unreadable_leaves_recall_and_is_reported(store: MemoryStore) -> None:
    path = surrounded(store, HEAD + "---\ngood\n")
    store.refresh()
    path.write_text("<<<<<<< HEAD\n", "utf-8")
    assert {memory.id for memory in store.search("good")} == {"a", "z"}
    (problem,) = store.problems()
    assert (problem.path, problem.line) == ("memory/semantic/m.md", 1)


@pytest.mark.parametrize("call", ["put", "update", "delete", "put_all"])
def test_an_unreadable_file_is_never_written_over_or_thrown_away(store: MemoryStore, call: str) -> None:
    store.put(Memory("x", "semantic", "t", "old"))
    path = store.memory_dir / "semantic" / "x.md"
    torn = path.read_text("utf-8").replace("title: t", "<<<<<<< HEAD\ntitle: t\n=======\n>>>>>>> theirs")
    path.write_text(torn, "utf-8")
    changed = Memory("x", "semantic", "t", "new")
    calls: dict[str, Callable[[], object]] = {
        "put": lambda: store.put(changed),
        "put_all": lambda: store.put_all([changed]),
        "update": lambda: store.update("x", body="new"),
        "delete": lambda: store.delete("x"),
    }
    with pytest.raises(InvalidNote, match=r"memory/semantic/x\.md, line \d"):
        calls[call]()
    assert path.read_text("utf-8") == torn


def test_files_that_are_not_ours_are_left_alone(store: MemoryStore) -> None:
    surrounded(store, HEAD + "---\ngood\n")
    for name in (".git/config.md", ".obsidian/x.md", "semantic/.hidden.md", "semantic/image.png", "notes.txt"):
        path = store.memory_dir / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("# Not a note\n", "utf-8")
    store.reindex()
    assert store.problems() == []
    assert store.count() == 3


def test_a_folder_named_like_a_note_is_no_note(store: MemoryStore) -> None:
    surrounded(store, HEAD + "---\ngood\n")
    (store.memory_dir / "semantic" / "folder.md").mkdir()
    store.refresh()
    store.reindex()
    assert store.count() == 3


@pytest.mark.skipif(os.name == "nt", reason="file names are text on Windows")
def test_a_file_name_that_is_not_utf8_stops_nothing_and_is_reported(store: MemoryStore) -> None:
    surrounded(store, HEAD + "---\ngood\n")
    name = os.fsencode(store.memory_dir / "semantic") + b"/\xff.md"
    with open(name, "wb") as file:
        file.write((HEAD.replace("bad", "named") + "---\nstrange\n").encode())
    for bring_up in (store.refresh, store.reindex):
        bring_up()
        assert len(store.search("good")) == 3
        (problem,) = store.problems()
        assert problem.path.startswith("memory/semantic/")
        assert "UTF-8" in problem.reason
    assert store.refresh() == RefreshCounts(0, 0, 0)
