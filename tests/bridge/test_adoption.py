"""An engram.db that Engram's own program wrote: taken over as it is, and given back with what was changed in notes."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.bridge.memory import assert_settled, assert_twins, files_in, observations_of, state
from tests.engram.rows import TABLES, assert_sound, columns, contents

from anamnesis.bridge.bridge import Bridge
from anamnesis.engram import exchange, observations
from anamnesis.engram.database import connect, prepare
from anamnesis.engram.gojson import dumps
from anamnesis.engram.record import Export
from anamnesis.notes import Memory, render, ulid, ulid_of
from anamnesis.recall.query import query_terms
from anamnesis.store import MemoryStore

SAMPLE = Path(__file__).parents[1] / "engram" / "golden" / "sample"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file as Engram left it."""
    return Path(shutil.copy(SAMPLE / "engram.db", tmp_path / "engram.db"))


@pytest.fixture
def bridge(store: MemoryStore, path: Path) -> Iterator[Bridge]:
    with contextlib.closing(Bridge(store, path, "here")) as bridge:
        bridge.reconcile()
        yield bridge


@pytest.fixture
def db(path: Path, bridge: Bridge) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(connect(path)) as db:
        yield db


def exported(db: sqlite3.Connection) -> Export:
    return replace(exchange.export(db), exported_at="2026-11-15 08:16:28")


def test_every_row_of_engram_stays_byte_for_byte_and_its_export_is_the_one_that_engram_gave(
    path: Path, store: MemoryStore
) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db:
        wanted = {table: columns(db, table) for table in TABLES}
    before = contents(path)
    with contextlib.closing(Bridge(store, path, "here")) as bridge:
        assert bridge.reconcile()
    assert contents(path, wanted) == before
    with contextlib.closing(connect(path)) as db:
        assert dumps(exported(db)) == (SAMPLE / "export.json").read_bytes().rstrip()
        assert_sound(db)


def test_every_live_observation_is_a_note_and_found_by_the_words_of_its_title(
    store: MemoryStore, db: sqlite3.Connection
) -> None:
    assert_settled(store, db)
    assert_twins(store, db)
    live = [row for row in observations_of(db).values() if not row.deleted_at]
    assert len(live) == store.count() > 20
    for row in live:
        found = store.search(row.title, k=store.count()) if query_terms(row.title).terms else store.list()
        assert row.title in {note.title for note in found}


def test_a_deleted_observation_is_no_note(store: MemoryStore, db: sqlite3.Connection) -> None:
    deleted = [row for row in observations_of(db).values() if row.deleted_at]
    assert deleted
    assert len(files_in(store.root)) == len(observations_of(db)) - len(deleted)


def test_adopting_again_changes_nothing(store: MemoryStore, path: Path, bridge: Bridge) -> None:
    before = state(store.root, path)
    assert bridge.reconcile() == 0
    bridge.close()
    with contextlib.closing(Bridge(store, path, "elsewhere")) as again:
        assert again.reconcile() == 0
    assert state(store.root, path) == before


def test_a_file_without_our_tables_is_adopted_again_without_a_second_note(
    store: MemoryStore, path: Path, bridge: Bridge, db: sqlite3.Connection
) -> None:
    """Somebody went back to the file before, or took out what was added to it."""
    files = files_in(store.root)
    rows = observations_of(db)
    bridge.close()
    shutil.copy(SAMPLE / "engram.db", path.with_name("other.db"))
    with contextlib.closing(Bridge(store, path.with_name("other.db"), "here")) as other:
        other.reconcile()
    assert files_in(store.root) == files
    with contextlib.closing(connect(path.with_name("other.db"))) as restored:
        assert observations_of(restored) == rows
        assert_twins(store, restored)


def test_what_is_edited_in_notes_is_in_the_rows_that_are_handed_back(
    store: MemoryStore, path: Path, bridge: Bridge, db: sqlite3.Connection
) -> None:
    before = {row.sync_id: row for row in exported(db).observations}
    edited, retitled, removed, *_ = sorted(store.list(), key=lambda note: note.id)
    file = store.file(edited.id)
    assert file
    assert file.memory
    (store.root / file.path).write_text(render(replace(file.memory, body="Edited by hand.")), "utf-8")
    store.refresh()
    store.update(retitled.id, title="Another title")
    store.delete(removed.id)
    new = store.write(type="semantic", title="New note", body="By hand.", project="github.com/o/harbor")
    bridge.reconcile()
    assert_settled(store, db)
    assert_twins(store, db)
    assert_sound(db)
    after = {row.sync_id: row for row in exported(db).observations}
    changed = {sync_id: row for sync_id, row in after.items() if row != before.get(sync_id)}
    assert len(changed) == 4
    assert {row.content for row in changed.values()} >= {"Edited by hand.", "By hand."}
    assert {row.title for row in changed.values()} >= {"Another title", "New note"}
    assert sum(row.deleted_at is not None for row in changed.values()) == 1
    [row] = [row for row in changed.values() if row.title == "New note"]
    assert (row.project, row.type, row.sync_id[:4], len(row.sync_id)) == ("harbor", "semantic", "obs-", 36)
    assert store.get(new.id) == new
    for sync_id, row in changed.items():
        queued = db.execute("SELECT count(*) FROM sync_mutations WHERE entity_key = ?", (sync_id,)).fetchone()
        assert queued > (0,), row


def test_what_is_exported_and_brought_into_another_memory_with_the_same_notes_is_there_once(
    store: MemoryStore, tmp_path: Path, db: sqlite3.Connection
) -> None:
    """Two machines that share their notes by git, and the one imports what the other exported."""
    data = exported(db)
    shutil.copytree(store.root / "memory", tmp_path / "second" / "memory")
    other_path = tmp_path / "second.db"
    prepare(other_path)
    with MemoryStore(tmp_path / "second") as second, contextlib.closing(connect(other_path)) as other:
        with contextlib.closing(Bridge(second, other_path, "there")) as bridge:
            bridge.reconcile()
            exchange.import_(other, data)
            bridge.reconcile()
        assert_settled(second, other)
        assert_twins(second, other)
        live = {row.sync_id: replace(row, id=0) for row in data.observations}
        assert {row.sync_id: replace(row, id=0) for row in observations_of(other).values()} == live
        assert second.count() == store.count()


def test_an_observation_of_the_sample_can_still_be_changed_by_its_number(
    store: MemoryStore, bridge: Bridge, db: sqlite3.Connection
) -> None:
    id = next(row.id for row in observations_of(db).values() if not row.deleted_at)
    observations.update(db, id, {"title": "Changed by number"})
    bridge.follow()
    assert [note.title for note in store.search("changed by number", k=1)] == ["Changed by number"]


def test_a_row_whose_sync_id_has_random_bits_keeps_the_note_that_an_earlier_release_made(
    store: MemoryStore, path: Path
) -> None:
    sync_id, other = f"obs-{'c3' * 16}", f"obs-{'d4' * 16}"
    with contextlib.closing(connect(path)) as db:
        first, second = db.execute("SELECT id FROM observations WHERE deleted_at IS NULL LIMIT 2").fetchall()
        for given, (id,) in ((sync_id, first), (other, second)):
            db.execute("UPDATE observations SET sync_id = ? WHERE id = ?", (given, id))
        row = observations_of(db)[first[0]]
    earlier = ulid_of(int("c3" * 16, 16))
    store.put(Memory(earlier, "semantic", row.title, row.content))
    with contextlib.closing(Bridge(store, path, "here")) as bridge:
        bridge.reconcile()
    ids = [note.id for note in store.list()]
    assert earlier in ids
    assert len(ids) == len({*ids}) == store.count()
    assert not [id for id in ids if id > ulid(1 << 42, 0) and id != earlier]
    with contextlib.closing(connect(path)) as db:
        assert_twins(store, db)
