"""A markdown file without front matter is a note, and is not written to until it is changed through the store."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.bridge.memory import connected, observations_of
from tests.disks import full_disk
from tests.remains import BODY, holding

from anamnesis.engram.database import connect
from anamnesis.notes import Memory, moment_of, parse
from anamnesis.store import MemoryStore
from anamnesis.store.purging import erase, purge

THEN, LATER = 1_700_000_000, 1_710_000_000
TEXT = "Some words.\n\n# How to deploy  ##\n\nPush to `main`.\n"


def drop(root: Path, path: str, text: str | bytes = TEXT, at: int = THEN) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(file, (at, at))
    return file


def only(store: MemoryStore) -> Memory:
    store.refresh()
    (note,) = store.list()
    return store.get(note.id)


def test_title_type_scope_and_times_come_from_the_file(store: MemoryStore) -> None:
    drop(store.root, "memory/procedural/web/x.md")
    note = only(store)
    assert (note.title, note.type, note.scope, note.project) == ("How to deploy", "procedural", "portable", "global")
    assert note.body == TEXT.removesuffix("\n")
    assert moment_of(note.id) == note.created_at == note.updated_at == "2023-11-14T22:13:20+00:00"
    assert (note.prov_source, note.confidence, note.tags) == ("human", 1.0, [])


@pytest.mark.parametrize(
    ("path", "text", "title", "kind"),
    [
        ("memory/my-first_note.md", "No heading.\n", "my first note", "semantic"),
        ("memory/Projects/episodic/a.md", "# A\n", "A", "episodic"),
        ("local/x.md", "#hashtag\n##\n### Third #\n", "Third", "semantic"),
        ("memory/semantic/code.md", "```\n# a comment\n```\n## Real\n", "Real", "semantic"),
        ("memory/a/readme.md", "# About a\n", "About a", "semantic"),
        ("memory/long.md", "# " + "x" * 900 + "\n", "x" * 200, "semantic"),
    ],
)
def test_any_folder_and_any_text(store: MemoryStore, path: str, text: str, title: str, kind: str) -> None:
    drop(store.root, path, text)
    note = only(store)
    assert (note.title, note.type) == (title, kind)
    assert note.scope == ("machine-local" if path.startswith("local") else "portable")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("empty.md", ""),
        ("blank.md", " \n\n"),
        ("binary.md", b"GIF8\0\1\2"),
        ("latin.md", "caf\xe9".encode("latin-1")),
        ("broken.md", "---\ntitle: no id\n---\nbody\n"),
        ("unclosed.md", "---\nid: a\n"),
        ("dashes.md", "----\nid: a\n"),
        ("merged.md", "<<<<<<< HEAD\n---\nid: a\n"),
        ("01J9Z8YPM7Q3X2V4WT6B5N0KGD.md", "lost its front matter\n"),
        ("huge.md", "x" * 5_000_001),
    ],
)
def test_what_is_no_bare_note_is_left_as_it_was(store: MemoryStore, name: str, text: str | bytes) -> None:
    drop(store.root, f"memory/{name}", text)
    store.refresh()
    assert store.list() == []
    assert [problem.path for problem in store.problems()] == [f"memory/{name}"]


@pytest.mark.parametrize("name", ["README.md", "LICENSE.md", "readme.de.md"])
def test_a_file_that_describes_the_repository_is_neither_a_note_nor_a_fault(store: MemoryStore, name: str) -> None:
    drop(store.root, f"memory/{name}", "# Notes\n")
    store.refresh()
    assert (store.list(), store.problems()) == ([], [])


def test_line_ends_and_a_byte_order_mark_are_kept_until_it_is_changed(store: MemoryStore) -> None:
    data = b"\xef\xbb\xbf# T\r\n\r\nbody\r\n"
    file = drop(store.root, "memory/x.md", data)
    note = only(store)
    assert (note.title, note.body, note.newline) == ("T", "# T\r\n\r\nbody", "\r\n")
    assert file.read_bytes() == data
    store.update(note.id, tags=["new"])
    written = file.read_bytes().decode()
    assert written.startswith("---\r\nid: ")
    assert parse(written) == store.get(note.id)


def test_nothing_is_written_before_the_first_change_and_then_front_matter_with_the_same_id(store: MemoryStore) -> None:
    file = drop(store.root, "memory/work/x.md")
    note = only(store)
    assert store.search("deploy") == store.list() == [note]
    store.reindex()
    assert file.read_text() == TEXT
    store.update(note.id, tags=["ops"])
    assert parse(file.read_text()) == store.get(note.id)
    assert (store.get(note.id).id, store.get(note.id).body) == (note.id, note.body)
    assert store.get(note.id).created_at == note.created_at
    store.move(note.id, "machine-local")
    assert [each.id for each in store.list()] == [note.id]


@pytest.mark.parametrize("lose", [[], ["index.db"], ["index.db", "kept.db"]])
def test_the_id_outlives_the_index_and_even_its_record(tmp_path: Path, lose: list[str]) -> None:
    with MemoryStore(tmp_path) as store:
        file = drop(tmp_path, "memory/x.md")
        before = only(store).id
    for name in lose:
        for path in tmp_path.glob(f"{name}*"):
            path.unlink()
    file.rename(file.with_name("renamed.md"))
    with MemoryStore(tmp_path) as store:
        assert only(store).id == before


def test_the_id_outlives_an_edit_a_rename_and_a_move_to_the_other_tree(store: MemoryStore) -> None:
    file = drop(store.root, "memory/x.md")
    before = only(store).id
    drop(store.root, "memory/x.md", "Edited.\n", LATER)
    assert only(store).id == before
    store.reindex()
    assert only(store).id == before
    (store.root / "local" / "sub").mkdir()
    file.rename(store.root / "local" / "sub" / "y.md")
    note = only(store)
    assert (note.id, note.scope, note.body) == (before, "machine-local", "Edited.")
    assert [each.note.body for each in store.kept.versions(before)][:1] == [TEXT.removesuffix("\n")]


def test_copies_are_notes_of_their_own(store: MemoryStore) -> None:
    file = drop(store.root, "memory/x.md")
    first = only(store).id
    shutil.copy2(file, file.with_name("y.md"))
    store.refresh()
    ids = {note.id for note in store.list()}
    assert first in ids
    assert len(ids) == 2
    assert store.problems() == []
    store.reindex()
    assert {note.id for note in store.list()} == ids


def test_a_deleted_one_comes_back_whole(store: MemoryStore) -> None:
    drop(store.root, "memory/my-note.md", "No heading.\n")
    note = only(store)
    store.delete(note.id)
    assert store.list() == []
    assert store.trashed()[0].id == note.id
    back = store.restore(note.id)
    assert (back.id, back.title, back.body) == (note.id, note.title, note.body)


def test_a_purge_leaves_nothing_of_it(store: MemoryStore) -> None:
    drop(store.root, "memory/x.md", f"# {BODY}\n")
    purge(store, only(store).id)
    assert erase(store)
    assert holding(store.root) == {}
    assert store.list() == []


def test_it_is_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    with MemoryStore(tmp_path):
        pass
    drop(tmp_path, "memory/x.md")
    with full_disk(), MemoryStore(tmp_path) as store:
        refused = [note.id for note in store.list()]
    with MemoryStore(tmp_path) as store:
        assert [note.id for note in store.list()] == refused != []


def test_it_has_an_observation_and_the_bridge_does_not_write_to_it(tmp_path: Path) -> None:
    with connected(tmp_path / "store", tmp_path / "engram.db", "here") as vault:
        file = drop(vault.notes.root, "memory/x.md")
        vault.notes.refresh()
        vault.reconcile()
        db = connect(tmp_path / "engram.db")
        (row,) = observations_of(db).values()
        assert (row.title, row.content) == ("How to deploy", TEXT.removesuffix("\n"))
        assert file.read_text() == TEXT
        drop(vault.notes.root, "memory/x.md", "# Changed\n", LATER)
        vault.notes.refresh()
        vault.reconcile()
        (row,) = observations_of(db).values()
        assert (row.title, row.deleted_at) == ("Changed", None)
        db.close()
    assert file.read_text() == "# Changed\n"
