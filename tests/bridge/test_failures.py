"""Nobody's call fails because the other side cannot be read or written, and nothing is forgotten because of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bridge.memory import Two, connected
from tests.disks import full_disk

from anamnesis.config import Settings, read_settings
from anamnesis.vault import open_vault


def settings_of(two: Two) -> Settings:
    given = {"ANAMNESIS_HOME": str(two.store.root), "ENGRAM_DATA_DIR": str(two.path.parent)}
    return read_settings(given, two.store.root.parent)


def test_notes_can_be_opened_while_the_disk_is_full(two: Two) -> None:
    two.agree()
    two.bridge.close()
    two.add()
    with full_disk(), open_vault(settings_of(two), pending=True) as vault:
        assert vault.list() == []
    with open_vault(settings_of(two), pending=True) as vault:
        assert vault.bridge
    two.reopen()


def test_notes_can_be_opened_while_engram_cannot_be_written(two: Two) -> None:
    """As a file that is only to be read, but for root too: its schema is not complete, and it cannot be made so."""
    two.bridge.close()
    two.db.execute("DROP TRIGGER anamnesis_changes_insert")
    two.db.execute("CREATE TRIGGER no AFTER DELETE ON anamnesis_changes BEGIN SELECT RAISE(ABORT, 'not now'); END")
    two.add()
    two.db.execute("INSERT INTO anamnesis_changes (observation_id) VALUES (1)")
    with open_vault(settings_of(two)) as vault:
        assert vault.bridge is None
        assert vault.list() == []
    assert "not now" in (two.store.root / "anamnesis.log").read_text()
    two.db.execute("DROP TRIGGER no")
    two.reopen()
    two.agree()


def test_calls_return_while_the_disk_is_full_and_what_they_left_is_taken_over_later(two: Two) -> None:
    two.bridge.close()
    with connected(two.store.root, two.path) as store:
        two.add("First", "first")
        store.follow_writes()
        two.add("Second", "second")
        with full_disk():
            store.follow_writes()
            store.follow(most=10)
            store.reconcile()
            assert store.search("nothing") == []
        store.reconcile()
        assert {note.title for note in store.list()} == {"First", "Second"}
    two.reopen()
    two.agree()


def test_who_closes_on_a_full_disk_forgets_nothing_that_was_agreed(two: Two) -> None:
    two.add("Kept")
    two.agree()
    met = two.store.root / "bridge.met"
    before = met.read_text()
    two.add("New", "new")
    with full_disk():
        two.bridge.close()
    assert met.read_text() == before
    two.store.delete(two.notes()[0].id)
    two.reopen()
    two.agree()
    assert [note.title for note in two.notes()] == ["New"]


def test_notes_that_cannot_be_read_are_in_nobodys_way(two: Two) -> None:
    for number in range(6):
        two.add(f"Title {number}", f"content {number}")
    two.agree()
    files = sorted((two.store.root / "memory").rglob("*.md"))
    texts = [file.read_text() for file in files]
    for file, text in zip(files, texts, strict=True):
        file.write_text(f"<<<<<<< ours\n{text}")
    two.bridge.mark_all_pending()
    two.store.refresh()
    two.add("New", "fresh")
    two.store.write(type="semantic", title="By hand", body="typed")
    assert two.bridge.follow(most=3)
    assert [note.title for note in two.store.search("fresh")] == ["New"]
    assert "By hand" in {row.title for row in two.rows()}
    files[0].unlink()
    files[1].write_text(texts[1].replace("content", "mended"))
    two.store.refresh()
    assert two.bridge.follow(most=3)
    assert sum(bool(row.deleted_at) for row in two.rows()) == 1
    assert sum("mended" in row.content for row in two.rows()) == 1
    for file, text in zip(files[2:], texts[2:], strict=True):
        file.write_text(text)
    two.agree()


def test_following_again_does_not_write_while_a_file_cannot_be_read(two: Two) -> None:
    """A daemon follows twice a second, and the file may stay broken for days."""
    two.add()
    two.agree()
    two.file_of("Title").write_text("broken")
    two.store.refresh()
    two.bridge.follow()
    statements: list[str] = []
    two.bridge._db.set_trace_callback(statements.append)
    assert two.bridge.follow()
    assert statements
    assert not [each for each in statements if each.startswith("BEGIN IMMEDIATE")]


def test_a_note_is_taken_over_though_a_broken_file_has_its_name(two: Two) -> None:
    id = two.add()
    two.agree()
    file = two.file_of("Title")
    file.rename(file.with_name("elsewhere.md"))
    file.write_text("broken")
    edited = file.with_name("elsewhere.md")
    edited.write_text(edited.read_text().replace("content", "edited"))
    two.store.refresh()
    assert two.bridge.follow(most=2)
    assert two.row(id).content == "edited"
    two.db.execute("UPDATE observations SET title = 'Other'")
    assert two.bridge.follow(most=2)
    assert "title: Other\n" in edited.read_text()


@pytest.mark.parametrize("left", [b"", b"\xff\xfe", None])
def test_a_home_whose_mark_was_lost_is_looked_at_anew(two: Two, left: bytes | None) -> None:
    two.add()
    two.agree()
    two.bridge.close()
    met: Path = two.store.root / "bridge.met"
    met.unlink() if left is None else met.write_bytes(left)
    two.reopen()
    two.agree()
    assert met.read_bytes().split() != []
    assert [note.title for note in two.notes()] == ["Title"]
