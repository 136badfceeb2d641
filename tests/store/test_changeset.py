"""Several notes are written as one change, all or none, and an undo gives back every byte."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anamnesis.disk import locked
from anamnesis.errors import AnamnesisError, InvalidArgument, NoteConflict
from anamnesis.notes import Memory
from anamnesis.notes.marks import STALE, with_mark
from anamnesis.store import MemoryStore, changeset
from anamnesis.store.placing import readable
from anamnesis.store.purging import purge

ODD = b'---\r\nid: odd\r\ntype: semantic\r\ntitle: "By hand" # a comment\r\naliases: [x]\r\n---\r\nText\r\n\r\n'
TIME = "2026-01-01T00:00:00+00:00"


def tree(store: MemoryStore) -> dict[str, bytes]:
    paths = [path for folder in (store.memory_dir, store.local_dir) for path in folder.rglob("*.md")]
    return {str(path.relative_to(store.root)): path.read_bytes() for path in paths}


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    opened = MemoryStore(tmp_path / "home")
    (opened.memory_dir / "semantic").mkdir()
    (opened.memory_dir / "semantic/odd.md").write_bytes(ODD)
    opened.refresh()
    return opened


def new(id: str, **given: Any) -> Memory:
    return Memory(id=id, type="semantic", title="New", body="Body.", created_at=TIME, updated_at=TIME, **given)


def test_an_undo_gives_back_bytes_that_nobody_would_write(store: MemoryStore) -> None:
    before = tree(store)
    change = changeset.apply(
        store, [with_mark(store.get("odd"), STALE, "gone"), new("m", supersedes="odd")], kind="dream", reason="Test."
    )
    assert store.superseded_ids() == {"odd"}
    assert "stale:" in tree(store)["memory/semantic/odd.md"].decode()

    assert changeset.undo(store, change.id) == changeset.UndoResult(["odd", "m"], [])

    assert tree(store) == before
    assert store.superseded_ids() == set()
    assert [each.state for each in changeset.changes(store)] == ["undone"]
    with pytest.raises(InvalidArgument, match="undone already"):
        changeset.undo(store, change.id)


FRONT = "type: semantic\ntitle: Odd\n"
STRANGE = {
    "a byte order mark": f"\ufeff---\nid: s\n{FRONT}---\nText\n".encode(),
    "no newline at the end": f"---\nid: s\n{FRONT}---\nText".encode(),
    "blanks before it": f"\n \n---  \nid: s\n{FRONT}---\n\n\n\nText\n\n\n".encode(),
    "mixed line ends": f"---\r\nid: s\n{FRONT}---\r\nOne\nTwo\r\n".encode(),
    "flow style and an anchor": b'---\n{id: s, type: semantic, title: "Odd\\ttitle", tags: [&a x, *a]}\n---\nText\n',
    "keys of others between ours": f"---\n# first\naliases:\n- y\nid: s\ncssclass: z\n{FRONT}---\nText\n".encode(),
    "no front matter": b"# Title\n\nA note without front matter, from an editor.\n",
    "characters that are hard to see": f"---\nid: s\n{FRONT}---\nA\u200bB\u2028C\x0bD\u0000E\n".encode(),
}


@pytest.mark.parametrize("name", STRANGE)
def test_an_undo_gives_back_the_bytes_of_any_file_that_is_a_note(tmp_path: Path, name: str) -> None:
    with MemoryStore(tmp_path / "home") as store:
        folder = store.memory_dir / "semantic"
        folder.mkdir()
        (folder / "strange.md").write_bytes(STRANGE[name])
        store.refresh()
        if not store.list():  # then no change may touch it
            assert store.problems()
            return
        before, (note,) = tree(store), store.live(each.id for each in store.list())
        for after in (with_mark(note, STALE, "gone"), replace(note, type="procedural", scope="machine-local")):
            change = changeset.apply(store, [after], kind="dream", reason="Test.")
            assert tree(store) != before
            assert changeset.undo(store, change.id) == changeset.UndoResult([note.id], [])
            assert tree(store) == before
            assert [each.id for each in store.list()] == [note.id]


def test_a_file_that_is_no_note_is_never_part_of_a_change(store: MemoryStore) -> None:
    note = store.get("odd")
    path = store.memory_dir / "semantic/odd.md"
    path.write_bytes(ODD + b"\xff\xfe")
    before = tree(store)
    with pytest.raises(AnamnesisError, match="not UTF-8"):
        changeset.apply(store, [with_mark(note, STALE, "x"), new("m")], kind="dream", reason="Test.")
    assert tree(store) == before
    assert not (store.root / "dreams/pending.json").exists()


@pytest.mark.parametrize("how", ["edited", "removed", "deleted", "made"])
def test_what_was_changed_since_a_change_was_derived_is_not_overwritten(store: MemoryStore, how: str) -> None:
    """Not even if the index has not seen the edit yet, and if the change would only hide the note."""
    other = store.write(type="semantic", title="Other", body="Other.")
    expected = {id: hash.hex() for id, hash in store.hashes_of(["odd", other.id]).items()} | {"m": ""}
    path = store.memory_dir / f"semantic/{other.id}.md"
    if how == "edited":
        path.write_text(path.read_text().replace("Other.", "Edited."))
    elif how == "removed":
        path.unlink()
    elif how == "deleted":
        store.delete(other.id)
    else:
        store.put(new("m"))
    before = tree(store)
    notes = [with_mark(store.get("odd"), STALE, "x"), new("m", supersedes=other.id)]

    with pytest.raises(NoteConflict, match="has changed since"):
        changeset.apply(store, notes, kind="dream", reason="Test.", expected=expected)

    assert tree(store) == before
    if how == "edited":
        assert store.hashes_of([other.id])[other.id].hex() != expected[other.id], "the next try must know it"


def test_an_undo_keeps_what_was_edited_since_and_restores_the_rest(store: MemoryStore) -> None:
    note = store.write(type="semantic", title="T", body="B")
    change = changeset.apply(
        store, [with_mark(note, STALE, "x"), with_mark(store.get("odd"), STALE, "x")], kind="dream", reason="Test."
    )
    store.update(note.id, body="Edited.")
    store.write(type="semantic", title="Another", body="Later.")

    assert changeset.undo(store, change.id) == changeset.UndoResult(["odd"], [note.id])
    assert store.get(note.id).body == "Edited."
    assert tree(store)["memory/semantic/odd.md"] == ODD


def test_an_undo_moves_a_note_back_that_a_change_moved(store: MemoryStore) -> None:
    before = tree(store)
    change = changeset.apply(store, [replace(store.get("odd"), type="procedural")], kind="dream", reason="Test.")
    assert [*tree(store)] == ["memory/procedural/odd.md"]

    changeset.undo(store, change.id)

    assert tree(store) == before
    assert store.get("odd").type == "semantic"


def test_an_undo_overwrites_no_other_note(store: MemoryStore) -> None:
    change = changeset.apply(store, [replace(store.get("odd"), type="procedural")], kind="dream", reason="Test.")
    (store.memory_dir / "semantic/odd.md").write_text("---\nid: another\ntype: semantic\ntitle: A\n---\nAnother.\n")
    store.refresh()
    before = tree(store)

    assert changeset.undo(store, change.id) == changeset.UndoResult([], ["odd"])

    assert tree(store) == before


@pytest.mark.parametrize("how", ["deleted", "purged", "moved", "restored", "synced"])
def test_an_undo_leaves_a_note_where_somebody_has_put_it_since(store: MemoryStore, how: str) -> None:
    note = store.write(type="semantic", title="T", body="B")
    bytes_before = tree(store)[f"memory/semantic/{note.id}.md"]
    change = changeset.apply(store, [with_mark(note, STALE, "x"), new("m")], kind="dream", reason="Test.")
    if how == "moved":
        store.move(note.id, "machine-local")
    elif how == "synced":  # another machine has added a tag
        text = (store.root / f"memory/semantic/{note.id}.md").read_text()
        (store.root / f"memory/semantic/{note.id}.md").write_text(text.replace("tags: []", "tags:\n- theirs"))
    elif how == "purged":
        purge(store, note.id)
    else:
        store.delete(note.id)
    if how == "restored":
        store.restore(note.id)
    before = tree(store)

    outcome = changeset.undo(store, change.id)

    expected = {path: data for path, data in before.items() if path != "memory/semantic/m.md"}
    if how == "restored":
        expected[f"memory/semantic/{note.id}.md"] = bytes_before
    assert tree(store) == expected
    kept = [] if how in ("restored", "purged") else [note.id]
    assert outcome.kept == kept
    assert len(store.trashed()) == (how == "deleted")


def test_changes_are_undone_in_reverse_and_an_older_one_leaves_what_a_newer_one_changed(store: MemoryStore) -> None:
    before = tree(store)
    first = changeset.apply(store, [with_mark(store.get("odd"), STALE, "first")], kind="dream", reason="Test.")
    between = tree(store)
    second = changeset.apply(store, [with_mark(store.get("odd"), STALE, "second"), new("m")], kind="d", reason="Test.")
    changed = tree(store)

    assert changeset.undo(store, first.id) == changeset.UndoResult([], ["odd"])
    assert tree(store) == changed
    assert changeset.undo(store, second.id) == changeset.UndoResult(["odd", "m"], [])
    assert tree(store) == between
    third = changeset.apply(store, [with_mark(store.get("odd"), STALE, "third")], kind="dream", reason="Test.")
    changeset.undo(store, third.id)
    assert tree(store) == between != before


def test_an_undo_that_failed_is_completed_by_the_next_try(store: MemoryStore) -> None:
    before = tree(store)
    change = changeset.apply(store, [replace(store.get("odd"), type="procedural")], kind="dream", reason="Test.")
    folder = store.memory_dir / "semantic"
    folder.rmdir()
    folder.write_text("in the way")
    with pytest.raises(AnamnesisError, match="a file is in its place"):
        changeset.undo(store, change.id)
    folder.unlink()

    assert changeset.undo(store, change.id) == changeset.UndoResult(["odd"], [])
    assert tree(store) == before
    with pytest.raises(InvalidArgument, match="undone already"):
        changeset.undo(store, change.id)


def test_where_one_note_cannot_be_written_none_is(store: MemoryStore) -> None:
    before = tree(store)
    (store.memory_dir / "procedural").write_text("in the way")

    with pytest.raises(AnamnesisError):
        changeset.apply(
            store,
            [with_mark(store.get("odd"), STALE, "x"), replace(new("n"), type="procedural")],
            kind="dream",
            reason="Test.",
        )

    assert tree(store) == before
    assert not list(changeset.changes(store))


def _killed(root: Path, at: int) -> None:
    """Apply a change of ten notes in a process that dies at one of its renames."""
    renames = 0
    real = os.replace

    def dying(*given: Any) -> None:
        nonlocal renames
        renames += 1
        if renames == at:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*given)

    os.replace = dying  # type: ignore[assignment]
    store = MemoryStore(root)
    notes = [
        with_mark(store.get("odd"), STALE, "x"),
        new("n0", supersedes="odd"),
        *(new(f"n{number}") for number in range(1, 4)),
    ]
    changeset.apply(store, notes, kind="dream", reason="Test.")
    (change,) = changeset.changes(store)
    changeset.undo(store, change.id)


@pytest.mark.parametrize("at", range(1, 15))
def test_killed_at_any_rename_it_leaves_all_or_nothing(store: MemoryStore, at: int) -> None:
    before = tree(store)
    store.close()
    process = multiprocessing.get_context("spawn").Process(target=_killed, args=(store.root, at))
    process.start()
    process.join()

    again = MemoryStore(store.root)
    changeset.recover(again)

    after = tree(again)
    assert after == before or len(after) == 5
    assert again.superseded_ids() == (set() if after == before else {"odd"})
    assert not (store.root / "dreams/pending.json").exists()
    again.close()


def _half_done(store: MemoryStore) -> dict[str, bytes]:
    """Kill a change after its first notes were written; returns the files before the change."""
    before = tree(store)
    store.close()
    process = multiprocessing.get_context("spawn").Process(target=_killed, args=(store.root, 6))
    process.start()
    process.join()
    assert tree(store) != before
    return before


def test_whoever_opens_the_store_undoes_what_was_killed(store: MemoryStore) -> None:
    before = _half_done(store)
    MemoryStore(store.root, only_to_read=True).close()
    assert tree(store) != before
    with MemoryStore(store.root) as again:
        assert tree(again) == before
        assert [each.state for each in changeset.changes(again)] == ["interrupted"]
        assert again.superseded_ids() == set()


def test_nobody_waits_for_a_change_that_is_being_made(store: MemoryStore) -> None:
    _half_done(store)
    now = tree(store)
    with locked(store.root / "store.lock"), MemoryStore(store.root) as again:
        assert tree(again) == now
        assert changeset.is_pending(again)


@pytest.mark.parametrize("text", [b"{", b"[]", b"\xff", b"{}", b"[" * 100_000, None])
def test_a_record_that_cannot_be_read_blocks_nothing_and_is_reported(store: MemoryStore, text: bytes | None) -> None:
    change = changeset.apply(store, [with_mark(store.get("odd"), STALE, "x")], kind="dream", reason="Test.")
    path = store.root / f"dreams/{change.id}.json"
    if text is None:  # by somebody who wants to write elsewhere
        text = path.read_bytes().replace(b"memory/semantic/odd.md", b"memory/../../escaped.md")
    path.write_bytes(text)
    path.with_name("pending.json").write_bytes(text)

    changeset.apply(store, [new("m")], kind="dream", reason="Test.")

    with pytest.raises(InvalidArgument, match=rf"The record dreams/{change.id}\.json cannot be read"):
        changeset.undo(store, change.id)
    assert [each.reason for each in changeset.changes(store)] == ["Test."]
    found = changeset.unreadable(store)
    assert [each.suffix for each in found] == [".json", ".damaged"]
    assert [each.read_bytes() for each in found] == [text, text]
    assert not (store.root.parent / "escaped.md").exists()


def test_a_purged_note_leaves_nothing_in_the_records(store: MemoryStore) -> None:
    changeset.apply(store, [new("m"), new("n")], kind="dream", reason="Says Body.", facts={"said": "Body."})
    changeset.apply(store, [new("k")], kind="dream", reason="A merge.", facts={"notes": ["m"], "said": "Body."})
    for name in ("pending.json", "20260101T000000-abcdef.json"):
        (store.root / "dreams" / name).write_text('{"note": "m", "half": "Body.')

    changeset.forget(store, ["m"])

    other, change = changeset.changes(store)
    assert [file.note for file in change.files] == ["n"]
    assert [file.note for file in other.files] == ["k"]
    assert not change.facts
    assert not other.facts
    assert not changeset.unreadable(store)


@pytest.mark.parametrize("id", ["", "nothing", "../../x", "pending"])
def test_an_unknown_id_is_refused(store: MemoryStore, id: str) -> None:
    with pytest.raises(InvalidArgument, match="No change has"):
        changeset.undo(store, id)


EDITOR = """
import os, sys, time
folder, notes = sys.argv[1], sys.argv[2:]
added = 0
print("ready", flush=True)
while not os.path.exists(f"{folder}/stop"):
    for note in notes:
        with open(note) as file:
            text = file.read()
        with open(f"{folder}/saved", "w") as file:
            file.write(f"{text}Line {added}.\\n")
        os.replace(f"{folder}/saved", note)
        added += 1
    time.sleep(0.005)
print(added)
"""


def test_an_edit_survives_changes_and_undos_that_go_on_beside_it(store: MemoryStore, tmp_path: Path) -> None:
    """An editor keeps saving two notes while changes of the same notes are made and undone."""
    notes = [store.write(type="semantic", title=f"Note {number}", body="Text.") for number in range(2)]
    paths = [store.memory_dir / f"semantic/{note.id}.md" for note in notes]
    with subprocess.Popen(
        [sys.executable, "-c", EDITOR, str(tmp_path), *map(str, paths)], stdout=subprocess.PIPE, text=True
    ) as editor:
        assert editor.stdout and editor.stdout.readline() == "ready\n"
        for number in range(60):
            with contextlib.suppress(NoteConflict):
                read = store.files([note.id for note in notes])
                marked = [with_mark(readable(file), STALE, f"gone {number}") for file in read.values()]
                hashes = {id: file.hash.hex() for id, file in read.items()}
                change = changeset.apply(store, marked, kind="dream", reason="Test.", expected=hashes)
                changeset.undo(store, change.id)
        (tmp_path / "stop").touch()
        added = int(editor.stdout.read())
    texts = "".join(path.read_text() for path in paths)
    assert [number for number in range(added) if f"Line {number}.\n" not in texts] == []
