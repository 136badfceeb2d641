"""write, put, put_all, update and move: what they store, where, and what they do not change."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from anamnesis.errors import InvalidArgument, InvalidNote, NoteConflict, NoteNotFound, StoreUnavailable
from anamnesis.notes import Memory, parse
from anamnesis.store import MemoryStore

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")
OLD = "2020-01-01T00:00:00+00:00"


def paths(store: MemoryStore) -> list[str]:
    files = (*store.memory_dir.rglob("*.md"), *store.local_dir.rglob("*.md"))
    return sorted(path.relative_to(store.root).as_posix() for path in files)


def files(store: MemoryStore) -> dict[str, bytes]:
    return {path: (store.root / path).read_bytes() for path in paths(store)}


def test_a_written_note_has_the_specified_defaults(store: MemoryStore) -> None:
    memory = store.write(type="semantic", title="t", body="b")
    assert memory == Memory(memory.id, "semantic", "t", "b", created_at=memory.created_at, updated_at=memory.created_at)
    assert STAMP.fullmatch(memory.created_at)
    assert re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", memory.id)


def test_a_written_note_is_read_back_with_every_field(store: MemoryStore) -> None:
    written = store.write(
        type="procedural",
        title="Ünïcode 😀",
        body="one\n---\ntwo\n",
        project="github.com/a/b",
        machine_id="thinkpad",
        tags=["x", "y z"],
        scope="machine-local",
        prov_source="reflection",
        prov_model="model",
        prov_session="session",
        confidence=0.25,
        supersedes=["p", "q"],
    )
    assert store.get(written.id) == written
    assert store.list() == [written]


@pytest.mark.parametrize(("scope", "tree"), [("portable", "memory"), ("machine-local", "local")])
@pytest.mark.parametrize("type", ["procedural", "semantic", "episodic"])
def test_a_note_lies_in_the_folder_of_its_scope_and_type(store: MemoryStore, scope: str, tree: str, type: str) -> None:
    memory = store.write(type=type, title="t", body="b", scope=scope)
    path = store.root / tree / type / f"{memory.id}.md"
    assert parse(path.read_text("utf-8")) == memory
    assert path.stat().st_mode & 0o077 == 0


def test_ids_increase_within_and_between_milliseconds(store: MemoryStore) -> None:
    ids = [store.write(type="semantic", title="t", body=str(n)).id for n in range(50)]
    assert ids == sorted(set(ids))


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "note"},
        {"type": "../.."},
        {"title": ""},
        {"scope": "global"},
        {"prov_source": "me"},
        {"confidence": float("nan")},
        {"supersedes": "../x"},
    ],
)
def test_a_refused_note_leaves_nothing_behind(store: MemoryStore, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidNote):
        store.write(**{"type": "semantic", "title": "t", "body": "b", **fields})
    assert paths(store) == []
    assert store.count() == 0


def test_notes_with_the_same_or_no_body_are_separate_notes(store: MemoryStore) -> None:
    ids = {store.write(type="semantic", title="t", body="").id for _ in range(3)}
    assert len(ids) == store.count() == len(paths(store)) == 3


def test_duplicate_tags_are_one_tag(store: MemoryStore) -> None:
    memory = store.write(type="semantic", title="t", body="b", tags=["a", "a", "b", "a"])
    assert memory.tags == store.get(memory.id).tags == store.list()[0].tags == ["a", "b"]


def test_a_lone_surrogate_is_stored_as_a_replacement_character(store: MemoryStore) -> None:
    memory = store.write(type="semantic", title="t\ud800", body="x\udfff y", tags=["\ud800"])
    assert store.get(memory.id) == memory
    assert (memory.title, memory.body, memory.tags) == ("t�", "x� y", ["�"])
    assert store.search("y", mode="words") == [memory]


def test_control_characters_everywhere_are_stored_as_they_are(store: MemoryStore) -> None:
    text = "a\0b\x07\x1b\r\n\u2028\x85\ufeff"
    memory = store.write(type="semantic", title=text, body=text, project=text, tags=[text])
    assert store.get(memory.id) == memory
    assert store.list(project=text) == [memory]


def test_a_body_of_a_megabyte_is_stored_listed_and_found(store: MemoryStore) -> None:
    memory = store.write(type="semantic", title="t", body="filler " * 150_000 + "needle")
    assert store.search("needle", mode="words") == [memory]
    assert store.list() == [memory]


def test_put_keeps_the_id_and_the_times_it_is_given(store: MemoryStore) -> None:
    memory = Memory("native-1", "semantic", "t", "b", created_at=OLD, updated_at=OLD)
    assert store.put(memory) == store.get("native-1") == memory


def test_put_again_replaces_in_place(store: MemoryStore) -> None:
    first = store.put(Memory("x", "semantic", "t", "old words"))
    store.put(replace(first, body="new words", tags=["n"]))
    assert paths(store) == ["memory/semantic/x.md"]
    assert [memory.body for memory in store.search("words", mode="words")] == ["new words"]
    assert store.search("old", mode="words") == []


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"type": "episodic"}, "memory/episodic/x.md"),
        ({"scope": "machine-local"}, "local/semantic/x.md"),
        ({"type": "procedural", "scope": "machine-local"}, "local/procedural/x.md"),
    ],
)
def test_a_changed_type_or_scope_moves_the_file_and_never_doubles_it(
    store: MemoryStore, change: dict[str, Any], path: str
) -> None:
    first = Memory("x", "semantic", "t", "b")
    for store_again in (
        lambda: store.put(replace(first, **change)),
        lambda: store.put_all([replace(first, **change)]),
        lambda: store.update("x", **change),
    ):
        store.put(first)
        store_again()
        assert paths(store) == [path]
        assert store.count() == 1
        assert store.problems() == []
        assert store.list() == [store.get("x")]


def test_put_all_stores_many_and_counts_them(store: MemoryStore) -> None:
    notes = [Memory(f"n{n}", "semantic", f"t{n}", "word", updated_at=OLD) for n in range(20)]
    assert store.put_all(notes) == 20
    assert sorted(store.list(), key=lambda memory: int(memory.id[1:])) == notes
    assert len(store.search("word", k=50, mode="words")) == 20


def test_put_all_of_one_refused_note_changes_nothing(store: MemoryStore) -> None:
    store.put(Memory("a", "semantic", "t", "kept"))
    before = files(store)
    with pytest.raises(InvalidNote):
        store.put_all([Memory("a", "semantic", "t", "changed"), Memory("b", "nonsense", "t", "b")])
    assert files(store) == before


def test_put_all_of_one_id_twice_keeps_the_last_one_only(store: MemoryStore) -> None:
    store.put_all([Memory("x", "semantic", "t", "first"), Memory("x", "semantic", "t", "last")])
    assert store.get("x").body == store.list()[0].body == "last"


def test_put_all_of_one_id_in_two_types_leaves_one_file(store: MemoryStore) -> None:
    store.put_all([Memory("x", "semantic", "t", "first"), Memory("x", "procedural", "t", "last")])
    assert paths(store) == ["memory/procedural/x.md"]
    assert store.get("x").body == "last"


def test_put_all_of_nothing_is_nothing(store: MemoryStore) -> None:
    assert store.put_all([]) == 0


def test_update_changes_what_is_named_and_the_time(store: MemoryStore) -> None:
    before = store.put(Memory("x", "semantic", "t", "b", tags=["a"], created_at=OLD, updated_at=OLD))
    after = store.update("x", title="new", tags=["c"])
    assert after == replace(before, title="new", tags=["c"], updated_at=after.updated_at)
    assert after.updated_at > OLD
    assert store.get("x") == store.list()[0] == after


def test_update_without_a_difference_leaves_the_file_alone(store: MemoryStore) -> None:
    memory = store.put(Memory("x", "semantic", "t", "b", updated_at=OLD))
    file = store.memory_dir / "semantic" / "x.md"
    before = file.stat()
    assert store.update("x", title="t") == memory
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_update_refuses_a_note_that_is_no_longer_as_expected(store: MemoryStore) -> None:
    seen = store.put(Memory("x", "semantic", "t", "b"))
    other = store.update("x", body="theirs", expected=seen)
    with pytest.raises(NoteConflict):
        store.update("x", body="ours", expected=seen)
    assert store.get("x") == other


@pytest.mark.parametrize("name", ["id", "updated_at", "nonsense"])
def test_update_refuses_what_cannot_be_changed(store: MemoryStore, name: str) -> None:
    store.put(Memory("x", "semantic", "t", "b"))
    with pytest.raises(InvalidArgument, match=name):
        store.update("x", **cast(dict[str, Any], {name: "y"}))


@pytest.mark.parametrize("change", [{"type": "../.."}, {"title": " "}, {"scope": "x"}, {"supersedes": "a/b"}])
def test_an_update_to_a_refused_note_changes_nothing(store: MemoryStore, change: dict[str, Any]) -> None:
    store.put(Memory("x", "semantic", "t", "b"))
    before = files(store)
    with pytest.raises(InvalidNote):
        store.update("x", **change)
    assert files(store) == before


def test_move_takes_a_note_to_the_other_tree_and_back(store: MemoryStore) -> None:
    memory = store.write(type="semantic", title="t", body="b")
    assert store.move(memory.id, "machine-local").scope == "machine-local"
    assert paths(store) == [f"local/semantic/{memory.id}.md"]
    assert store.move(memory.id, "portable").scope == "portable"
    assert paths(store) == [f"memory/semantic/{memory.id}.md"]


@pytest.mark.parametrize("call", ["get", "delete", "restore", "update"])
def test_an_unknown_id_is_named(store: MemoryStore, call: str) -> None:
    with pytest.raises(NoteNotFound, match="nobody"):
        getattr(store, call)("nobody")


FOREIGN = """\
---
# mine
id: x
type: semantic
title: t
aliases: [a, "b"]
version: 1.10
project: global
machine_id: unknown
scope: portable
prov_source: human
confidence: 1.0
created_at: ''
updated_at: ''
tags: []
nested:
  deep: {x: 1}
---
body
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_unknown_front_matter_survives_every_way_of_writing(store: MemoryStore, newline: str) -> None:
    path = store.memory_dir / "semantic" / "x.md"
    path.parent.mkdir()
    for change in (
        lambda: store.update("x", body="new"),
        lambda: store.put(Memory("x", "semantic", "t", "new")),
        lambda: store.put_all([Memory("x", "semantic", "t", "new")]),
    ):
        path.write_bytes(FOREIGN.replace("\n", newline).encode())
        store.refresh()
        change()
        stamp = store.get("x").updated_at
        expected = FOREIGN.replace("body", "new")
        expected = expected.replace("updated_at: ''", f"updated_at: '{stamp}'")
        assert path.read_bytes() == expected.replace("\n", newline).encode()


def test_unknown_front_matter_moves_with_the_note(store: MemoryStore) -> None:
    (store.memory_dir / "semantic").mkdir()
    (store.memory_dir / "semantic" / "x.md").write_text(FOREIGN, "utf-8")
    store.refresh()
    store.update("x", type="episodic", scope="machine-local")
    assert 'aliases: [a, "b"]\nversion: 1.10\n' in (store.local_dir / "episodic" / "x.md").read_text("utf-8")


def test_foreign_lines_that_lean_on_ours_are_refused_rather_than_broken(store: MemoryStore) -> None:
    path = store.memory_dir / "semantic" / "x.md"
    path.parent.mkdir()
    path.write_text("---\nid: &name x\ntype: semantic\ntitle: t\nother: *name\n---\nbody\n", "utf-8")
    store.refresh()
    before = files(store)
    with pytest.raises(InvalidNote):
        store.update("x", title="new")
    assert files(store) == before


def test_a_note_is_rewritten_where_its_file_lies(store: MemoryStore) -> None:
    path = store.memory_dir / "semantic" / "deep" / "My note.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nid: x\ntype: semantic\ntitle: t\n---\nbody\n", "utf-8")
    store.refresh()
    store.update("x", body="new")
    store.put(replace(store.get("x"), title="newer"))
    assert paths(store) == ["memory/semantic/deep/My note.md"]


BLOCKED = "---\nid: other\ntype: procedural\ntitle: t\n---\nprecious\n"


@pytest.mark.parametrize(
    "blocking",
    [
        pytest.param(BLOCKED, id="another note"),
        pytest.param("# Not a note\n", id="no note"),
        pytest.param(BLOCKED.replace("other", "x"), id="a second file of the note"),
    ],
)
@pytest.mark.parametrize("call", ["update", "put", "put_all"])
def test_a_file_in_the_way_is_never_written_over(store: MemoryStore, blocking: str, call: str) -> None:
    store.put(Memory("x", "semantic", "t", "body", updated_at=OLD))
    path = store.memory_dir / "procedural" / "x.md"
    path.parent.mkdir()
    path.write_text(blocking, "utf-8")
    store.refresh()
    moved = replace(store.get("x"), type="procedural")
    writing: dict[str, Callable[[], object]] = {
        "update": lambda: store.update("x", type="procedural"),
        "put": lambda: store.put(moved),
        "put_all": lambda: store.put_all([moved]),
    }
    with contextlib.suppress(NoteConflict, StoreUnavailable):
        writing[call]()
    texts = [content.decode() for content in files(store).values()]
    assert blocking in texts
    assert any(text.endswith("\nbody\n") for text in texts)


def test_notes_of_one_batch_never_share_a_file(store: MemoryStore) -> None:
    path = store.memory_dir / "semantic" / "x.md"
    path.parent.mkdir()
    path.write_text(BLOCKED, "utf-8")
    store.refresh()
    batch = [Memory(name, "semantic", "t", f"body of {name}") for name in ("x", "x-1", "x-2", "x-3")]
    with contextlib.suppress(NoteConflict):
        store.put_all(batch)
        assert [store.get(memory.id) for memory in batch] == batch
    assert path.read_text("utf-8") == BLOCKED
