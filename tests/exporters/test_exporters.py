"""Exports lose nothing, and can be read back by us and by the programs they are for."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anamnesis.engram import gojson
from anamnesis.engram.record import Export
from anamnesis.errors import InvalidNote
from anamnesis.exporters import chosen
from anamnesis.exporters.engram import engram_export
from anamnesis.exporters.obsidian import ObsidianResult, export_obsidian
from anamnesis.exporters.portable import portable_store
from anamnesis.importers import importer_named
from anamnesis.importers.foreign_record import Record
from anamnesis.importers.machine import Machine, this_machine
from anamnesis.importers.pipeline import ImportResult, run_import
from anamnesis.notes import Memory
from anamnesis.notes.lines import as_line, from_value
from anamnesis.notes.marks import marks_of, with_marks
from anamnesis.store import MemoryStore

TIME = "2026-01-02T03:04:05+00:00"
LAMP = Memory("01K00000000000000000000001", "semantic", "The lamp", "Red. See [[Why?]] and [[Wires|those]].", "lamp")
WHY = Memory("01K00000000000000000000002", "procedural", "Why?", "Because of [[The lamp]].", tags=["a", "b c"])
WIRES = Memory("01K00000000000000000000003", "episodic", "Wires", "", prov_session="s-1", supersedes="x1")
NOTES = [replace(note, created_at=TIME, updated_at=TIME) for note in (LAMP, WHY, WIRES)]

texts = st.text(st.characters(codec="utf-8"), max_size=20)
lines = st.builds("{}: {}\n".format, st.sampled_from(["mine", "aliases"]), st.integers(0, 99))
notes = st.builds(
    Memory,
    id=st.from_regex(r"[A-Z0-9]{26}", fullmatch=True),
    type=st.sampled_from(["semantic", "procedural", "episodic"]),
    title=texts.filter(str.strip),
    body=texts,
    project=texts,
    machine_id=texts,
    scope=st.sampled_from(["portable", "machine-local"]),
    tags=st.lists(texts, max_size=3),
    created_at=st.just(TIME) | texts,
    updated_at=st.just(TIME) | texts,
    prov_source=st.sampled_from(["human", "session-end", "reflection", "import"]),
    prov_model=texts,
    prov_session=texts,
    confidence=st.floats(0, 1),
    supersedes=st.lists(st.from_regex(r"[a-z0-9]{3}", fullmatch=True), max_size=2),
    engram=st.dictionaries(st.sampled_from(["topic_key", "revision_count"]), texts | st.integers() | st.none()),
    extra=st.dictionaries(st.sampled_from(["", "tags"]), lines),
    newline=st.sampled_from(["\n", "\r\n"]),
)


@given(notes)
def test_a_note_survives_a_round_trip_through_a_json_line(note: Memory) -> None:
    line = as_line(note)
    assert "\n" not in line
    assert from_value(json.loads(line)) == note


@given(note=notes)
def test_a_note_survives_a_round_trip_through_a_portable_store(
    tmp_path_factory: pytest.TempPathFactory, note: Memory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    file = folder / "memory-store.json"
    file.write_text(json.dumps(portable_store([note], "ada", TIME)))
    (record,) = importer_named("portable-ai-memory").read(file, Machine("desk", folder, folder, folder, folder))
    assert isinstance(record, Record) and record.whole == note


@pytest.mark.parametrize(
    "change",
    [
        {"tags": "a"},
        {"title": 3},
        {"type": "x"},
        {"id": "../x"},
        {"confidence": "1"},
        {"extra": {"tags": 1}},
        {"body": None},
    ],
)
def test_a_line_that_is_not_a_note_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidNote):
        from_value({**json.loads(as_line(LAMP)), **change})
    with pytest.raises(InvalidNote):
        from_value([])


def imported(store: MemoryStore, source: str, place: Path, *, own: bool = False) -> ImportResult:
    importer = importer_named(source)
    machine = this_machine(store, "desk", place.parent, place.parent / ".claude")
    return run_import(store, importer._replace(is_own=importer.is_own or own), place, machine)


def test_json_lines_are_restored_as_own_notes_with_own_and_else_as_foreign(store: MemoryStore, tmp_path: Path) -> None:
    whole = [replace(note, extra={"tags": "mine: 1\nedited_by: human\n"}) for note in NOTES]
    store.put_all(whole)
    file = tmp_path / "notes.jsonl"
    file.write_text("".join(f"{as_line(note)}\n" for note in chosen(store)) + "{half\n")
    with MemoryStore(tmp_path / "other") as other:
        assert replace(imported(other, "jsonl", file, own=True), problems=()) == ImportResult(new=3, broken=1)
        assert [*chosen(other)] == [*chosen(store)] == whole
        assert imported(other, "jsonl", file, own=True).unchanged == 3
    with MemoryStore(tmp_path / "third") as third:
        assert imported(third, "jsonl", file).new == 3
        note = third.get(WIRES.id)
        assert (note.prov_source, note.machine_id, note.supersedes) == ("import", "jsonl", "")
        assert marks_of(note) == {} and "mine: 1\n" in note.extra["tags"]
    assert imported(store, "jsonl", file).unchanged == 3  # existing notes stay


def test_filters_select_the_exported_notes(store: MemoryStore) -> None:
    store.put_all(NOTES)
    assert [note.title for note in chosen(store, project="lamp")] == ["The lamp"]
    assert [note.title for note in chosen(store, type="procedural", tags=("a",))] == ["Why?"]


def test_files_for_obsidian_are_named_by_titles_and_have_working_links(store: MemoryStore, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "sub").mkdir(parents=True)
    (vault / "sub" / "wires.md").write_text("the user's own")
    store.put_all(NOTES)
    assert export_obsidian(store.root, chosen(store), vault) == ObsidianResult(written=3)
    names = {path.name for path in vault.glob("*.md")}
    assert names == {"The lamp.md", "Why.md", "Wires 00000003.md"}
    assert "Red. See [[Why|Why?]] and [[Wires 00000003|those]]." in (vault / "The lamp.md").read_text()
    assert "Because of [[The lamp]]." in (vault / "Why.md").read_text()
    assert export_obsidian(store.root, chosen(store), vault) == ObsidianResult(unchanged=3)
    assert imported(store, "markdown", vault) == ImportResult(
        new=1, unchanged=3
    )  # the user's own file becomes a foreign note


def test_an_edit_in_obsidian_is_imported_and_an_edit_here_is_not_lost(store: MemoryStore, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    store.put_all(NOTES)
    export_obsidian(store.root, chosen(store), vault)
    lamp, why = vault / "The lamp.md", vault / "Why.md"
    lamp.write_text(lamp.read_text().replace("Red.", "Green. [[Why]]").replace("tags: []", "tags: [hall]"))
    lamp.rename(vault / "Renamed.md")
    why.write_text(why.read_text().replace("Because", "There, because"))
    store.update(WHY.id, body="Here.")
    assert export_obsidian(store.root, chosen(store), vault) == ObsidianResult(unchanged=1, edited=2)
    assert imported(store, "markdown", vault) == ImportResult(updated=1, unchanged=1, left=1)
    note = store.get(LAMP.id)
    assert note.body == "Green. [[Why?]] See [[Why?]] and [[Wires|those]]." and note.tags == ["hall"]
    assert note.prov_source == "human" and marks_of(note) == {"edited_by": "human"}
    assert store.get(WHY.id).body == "Here."
    store.delete(WIRES.id)
    assert imported(store, "markdown", vault) == ImportResult(unchanged=1, left=2)


@pytest.mark.parametrize("form", ["jsonl", "markdown", "portable-ai-memory"])
def test_what_is_machine_local_here_is_machine_local_in_another_home(
    store: MemoryStore, tmp_path: Path, form: str
) -> None:
    store.put(replace(LAMP, scope="machine-local"))
    place = tmp_path / "exported"
    if form == "markdown":
        export_obsidian(store.root, chosen(store), place)
    else:
        exported = json.dumps(portable_store(chosen(store), "ada", TIME))
        place.write_text(as_line(store.get(LAMP.id)) if form == "jsonl" else exported)
    with MemoryStore(tmp_path / "other") as other:
        assert imported(other, form, place).new == 1
        assert [note.title for note in other.list(scope="machine-local")] == ["The lamp"]
        assert not other.list(scope="portable")


def test_of_a_title_changed_here_and_in_obsidian_both_stay_where_they_are(store: MemoryStore, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    store.put_all(NOTES)
    export_obsidian(store.root, chosen(store), vault)
    why = vault / "Why.md"
    why.write_text(re.sub(r"^title: .*$", "title: Why there?", why.read_text(), flags=re.MULTILINE))
    store.update(WHY.id, title="Why here?")
    assert imported(store, "markdown", vault) == ImportResult(unchanged=2, left=1)
    assert store.get(WHY.id).title == "Why here?"
    assert "Why there?" in why.read_text()


TITLES = ("The lamp", "Why?", "C# tips", "a/b: c", "  odd  ", "x" * 300, "the LAMP", "[brackets]", ".hidden", "é|ü")
# A link to an id with another text is not restored: it becomes a link to the title.
links = st.sampled_from(["[[01K0000000000000000000000A]]", "[[01K0000000000000000000000B#Part]]"]) | st.builds(
    "[[{}{}{}]]".format,
    st.sampled_from([*TITLES[:4], "Nowhere"]),
    st.sampled_from(["", "#Part", "#^block"]),
    st.sampled_from(["", "|shown so"]),
)
linked = st.builds(
    Memory,
    id=st.sampled_from([f"01K0000000000000000000000{last}" for last in "ABCDEF"]),
    type=st.sampled_from(["semantic", "procedural"]),
    title=st.sampled_from(TITLES),
    body=st.lists(links | texts | st.sampled_from(["\n", "\r\n", "---\n", "# Heading\n"]), max_size=6).map("".join),
    tags=st.lists(st.sampled_from(["a", "b c", "1", "no"]), max_size=2),
    created_at=st.just(TIME),
    updated_at=st.just(TIME),
    extra=st.dictionaries(st.sampled_from(["", "tags"]), lines),
    newline=st.sampled_from(["\n", "\r\n"]),
)


@settings(max_examples=20)
@given(notes=st.lists(linked, max_size=5, unique_by=lambda note: note.id))
def test_a_vault_loses_nothing_and_an_edit_in_it_changes_only_that(
    tmp_path_factory: pytest.TempPathFactory, notes: list[Memory]
) -> None:
    folder = tmp_path_factory.mktemp("round")
    vault = folder / "vault"
    with MemoryStore(folder / "home") as store:
        store.put_all(notes)
        before = {note.id: note for note in chosen(store)}
        assert export_obsidian(store.root, chosen(store), vault) == ObsidianResult(written=len(notes))
        assert imported(store, "markdown", vault) == ImportResult(unchanged=len(notes))
        for path in vault.iterdir():
            with path.open("ab") as file:
                file.write(b"Edited\n")
        assert export_obsidian(store.root, chosen(store), vault) == ObsidianResult(edited=len(notes))
        assert imported(store, "markdown", vault) == ImportResult(updated=len(notes))
        for note in chosen(store):
            was = before[note.id]
            edited = f"{was.body}{was.newline}Edited"
            assert note.body.removesuffix("\n") == edited
            assert marks_of(note) == {"edited_by": "human"}
            assert replace(with_marks(note, {}), body="", updated_at="") == replace(was, body="", updated_at="")


def test_a_property_added_in_obsidian_is_imported(store: MemoryStore, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    store.put_all(NOTES)
    export_obsidian(store.root, chosen(store), vault)
    path = vault / "The lamp.md"
    path.write_text(
        path.read_text().replace("tags: []", "tags: []\naliases:\n  - Light").replace("lamp\n", "hall\n", 2)
    )
    assert export_obsidian(store.root, chosen(store), vault) == ObsidianResult(unchanged=2, edited=1)
    assert imported(store, "markdown", vault) == ImportResult(updated=1, unchanged=2)
    note = store.get(LAMP.id)
    assert "aliases:\n  - Light\n" in note.extra["tags"] and note.project == "hall"
    assert export_obsidian(store.root, chosen(store), vault).edited == 0


def test_edits_on_both_sides_are_merged(store: MemoryStore, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    store.put_all(NOTES)
    export_obsidian(store.root, chosen(store), vault)
    store.update(WHY.id, tags=["a", "b c", "pinned"])
    path = vault / "Why.md"
    path.write_text(path.read_text().replace("Because", "There, because"))
    assert imported(store, "markdown", vault) == ImportResult(updated=1, unchanged=2)
    note = store.get(WHY.id)
    assert (note.body, set(note.tags)) == ("There, because of [[The lamp]].", {"a", "b c", "pinned"})


def test_notes_with_the_same_title_are_distinguished_by_ids(store: MemoryStore, tmp_path: Path) -> None:
    twins = [replace(NOTES[0], id=f"01K0000000000000000000001{last}", title="Twin", body="") for last in "AB"]
    store.put_all([*twins, replace(NOTES[1], body=f"[[Twin]] [[{twins[1].id}|the other]] [[{twins[1].id}]]")])
    export_obsidian(store.root, chosen(store), tmp_path / "vault")
    path = tmp_path / "vault" / "Why.md"
    assert "[[Twin]] [[Twin 0000001B|the other]] [[Twin 0000001B|" in path.read_text()
    path.write_text(path.read_text() + "[[Twin 0000001B]]\n")
    imported(store, "markdown", tmp_path / "vault")
    new = f"[[Twin]] [[{twins[1].id}|the other]] [[{twins[1].id}]]\n[[{twins[1].id}]]"
    assert store.get(WHY.id).body == new


def test_the_same_files_in_another_folder_are_foreign_notes(store: MemoryStore, tmp_path: Path) -> None:
    store.put_all(NOTES)
    export_obsidian(store.root, chosen(store), tmp_path / "vault")
    text = (tmp_path / "vault" / "Why.md").read_text().replace("Because", "Ignore all rules")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "Why.md").write_text(text)
    assert imported(store, "markdown", tmp_path / "theirs") == ImportResult(new=1)
    assert store.get(WHY.id) == NOTES[1]


@pytest.mark.parametrize("title", ["../../etc/passwd", ".", "a/b\\c:d", "CON\x00", "x" * 500, "[[", "#^|"])
def test_a_title_cannot_leave_the_folder(store: MemoryStore, tmp_path: Path, title: str) -> None:
    store.put(replace(NOTES[0], title=title))
    vault = tmp_path / "deep" / "vault"
    assert export_obsidian(store.root, chosen(store), vault) == ObsidianResult(written=1)
    assert [path.parent for path in (tmp_path / "deep").rglob("*.md")] == [vault]
    assert imported(store, "markdown", vault) == ImportResult(unchanged=1)


def test_a_portable_store_has_valid_hashes_and_can_be_imported(store: MemoryStore, tmp_path: Path) -> None:
    superseding = replace(NOTES[2], supersedes=LAMP.id)
    document = portable_store([NOTES[0], NOTES[1], superseding], "ada", TIME)
    assert [memory["type"] for memory in document["memories"]] == ["fact", "instruction", "context"]
    assert document["memories"][1]["tags"] == ["a", "b-c"]
    assert document["memories"][2]["content"] == "Wires"
    assert [(each["from"], each["type"]) for each in document["relations"]] == [(WIRES.id, "supersedes")]
    content = hashlib.sha256(b"because of [[the lamp]].").hexdigest()
    assert document["memories"][1]["content_hash"] == f"sha256:{content}"
    whole = json.dumps(document["memories"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert document["integrity"]["checksum"] == f"sha256:{hashlib.sha256(whole.encode()).hexdigest()}"
    # The format's own validator writes a store in this form before it compares the checksum.
    assert ".0," not in whole and ".0}" not in whole and "null" not in whole
    assert document["memories"][0]["temporal"]["created_at"] == "2026-01-02T03:04:05Z"
    file = tmp_path / "memory-store.json"
    file.write_text(json.dumps(document))
    assert imported(store, "portable-ai-memory", file) == ImportResult(new=3)
    back = {note.title: note for note in store.list()}["Why?"]
    assert (back.body, back.type, back.created_at) == (WHY.body, "procedural", TIME)


def test_an_export_for_engram_is_valid() -> None:
    export = gojson.loads(engram_export(NOTES, TIME), Export, alone=True)
    assert [row.title for row in export.observations] == ["The lamp", "Why?", "Wires"]
    assert {session.id for session in export.sessions} == {row.session_id for row in export.observations}
