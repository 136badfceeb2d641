"""A backup contains everything that is not derived, is consistent under concurrent writes, and is restored exactly."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.disks import command_on, full_disk

from anamnesis.backup import back_up, restore
from anamnesis.errors import InvalidArgument, Unwritable
from anamnesis.store import MemoryStore


def engram_at(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE pairs (a INTEGER, b INTEGER)")
    db.commit()
    return db


def filled(home: Path) -> MemoryStore:
    store = MemoryStore(home)
    kept = store.write(type="semantic", title="Kept", body="One")
    store.update(kept.id, body="Two")
    store.delete(store.write(type="semantic", title="Deleted", body="Gone").id)
    store.write(type="semantic", title="Local", body="Here", scope="machine-local")
    (home / "memory" / "bare.md").write_text("# Bare\n\nText.\n")
    os.utime(home / "memory" / "bare.md", (1_700_000_000, 1_700_000_000))
    (home / "config.json").write_text('{"machine_id": "desk", "dream": "off"}')
    store.refresh()
    return store


def test_everything_that_is_not_derived_is_restored(tmp_path: Path) -> None:
    home, other, file = tmp_path / "home", tmp_path / "deep" / "other", tmp_path / "memory.zip"
    store, db = filled(home), engram_at(tmp_path / "engram" / "engram.db")
    db.execute("INSERT INTO pairs VALUES (1, 1)")
    db.commit()  # in the WAL, not in the file
    saved = back_up(home, tmp_path / "engram" / "engram.db", file)
    assert saved.bytes == file.stat().st_size and not saved.damaged and file.stat().st_mode & 0o777 == 0o600
    names = zipfile.ZipFile(file).namelist()
    assert not [name for name in names if name.startswith(("home/index.db", "home/vectors.db")) or ".lock" in name]
    assert restore(file, other, tmp_path / "new" / "engram.db", "now")[1] == []
    with MemoryStore(other) as restored:
        assert [restored.get(note.id) for note in restored.list()] == [store.get(note.id) for note in store.list()]
        assert [each.id for each in restored.trashed()] == [each.id for each in store.trashed()] != []
        kept = next(note for note in store.list() if note.title == "Kept")
        assert restored.kept.versions(kept.id) == store.kept.versions(kept.id) != []
    assert json.loads((other / "config.json").read_text()) == {"dream": "off"}
    assert sqlite3.connect(tmp_path / "new" / "engram.db").execute("SELECT * FROM pairs").fetchall() == [(1, 1)]
    store.close()
    db.close()


def test_a_backup_is_consistent_while_others_write(tmp_path: Path) -> None:
    home, engram = tmp_path / "home", tmp_path / "engram" / "engram.db"
    store, db = filled(home), engram_at(engram)
    db.close()
    begun, done = threading.Event(), threading.Event()

    def write() -> None:
        with sqlite3.connect(engram, timeout=30) as writer:
            for number in range(1_000_000):
                if done.is_set():
                    break
                writer.execute("INSERT INTO pairs VALUES (?, 0)", (number,))
                writer.execute("UPDATE pairs SET b = ? WHERE a = ?", (number, number))
                writer.commit()
                store.write(type="semantic", title=f"Note {number}", body="x")
                begun.set()

    writing = threading.Thread(target=write)
    writing.start()
    try:
        begun.wait(30)
        back_up(home, engram, tmp_path / "memory.zip")
    finally:
        done.set()
        writing.join(30)
    restore(tmp_path / "memory.zip", tmp_path / "other", tmp_path / "new" / "engram.db", "now")
    with sqlite3.connect(tmp_path / "new" / "engram.db") as copy:
        assert copy.execute("SELECT count(*) FROM pairs WHERE a <> b").fetchone() == (0,)
    with MemoryStore(tmp_path / "other") as restored:
        assert restored.problems() == [] and {"Kept", "Note 0"} <= {note.title for note in restored.list()}
    store.close()


def test_an_existing_home_is_replaced_only_with_replace_and_then_moved_aside(tmp_path: Path) -> None:
    home, file, engram = tmp_path / "home", tmp_path / "memory.zip", tmp_path / "engram" / "engram.db"
    filled(home).close()
    engram_at(engram).close()
    back_up(home, engram, file)
    (home / "memory" / "bare.md").write_text("# Changed\n")
    with pytest.raises(InvalidArgument, match="--replace"):
        restore(file, home, engram, "now")
    assert (home / "memory" / "bare.md").read_text() == "# Changed\n"
    _, aside = restore(file, home, engram, "now", replace=True)
    assert aside == [tmp_path / "home.before-now", tmp_path / "engram" / "engram.db.before-now"]
    assert (home / "memory" / "bare.md").read_text() == "# Bare\n\nText.\n"
    assert (aside[0] / "memory" / "bare.md").read_text() == "# Changed\n"


@pytest.mark.parametrize("name", ["home/../../out", "/etc/out", "home/a\\b", "out", "home", "home//x", "engram/other"])
def test_a_path_out_of_the_home_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / "evil.zip"
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    manifest = {"files": [{"name": name, "sha256": empty, "mtime_ns": 1, "kind": "file"}], "folders": []}
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("anamnesis-backup.json", json.dumps(manifest))
        archive.writestr(name, b"")
    with pytest.raises(InvalidArgument, match="not a readable backup"):
        restore(file, tmp_path / "home", tmp_path / "engram.db", "now")
    assert [path.name for path in tmp_path.iterdir()] == ["evil.zip"]


def test_a_damaged_backup_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "memory.zip"
    filled(home).close()
    back_up(home, None, file)
    whole = file.read_bytes()
    for damaged in (whole[:-100], whole[: len(whole) // 2], b"", whole.replace(b"PK\x03\x04", b"PK\x03\x05", 1)):
        file.write_bytes(damaged)
        with pytest.raises(InvalidArgument):
            restore(file, home, tmp_path / "engram.db", "now", replace=True)
    assert (home / "memory" / "bare.md").exists()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("other.txt", "no backup")
    with pytest.raises(InvalidArgument, match="not a readable backup"):
        restore(file, home, tmp_path / "engram.db", "now", replace=True)


def test_a_damaged_database_is_saved_unchanged_and_reported(tmp_path: Path) -> None:
    home = tmp_path / "home"
    filled(home).close()
    damaged = b"SQLite format 3\0" + b"\xaa" * 5000
    (home / "usage.db").write_bytes(damaged)
    saved = back_up(home, None, tmp_path / "memory.zip")
    assert saved.damaged == ["home/usage.db"]
    assert zipfile.ZipFile(tmp_path / "memory.zip").read("home/usage.db") == damaged


def test_a_full_disk_is_not_reported_as_a_damaged_database(tmp_path: Path) -> None:
    home, engram = tmp_path / "home", tmp_path / "engram" / "engram.db"
    filled(home).close()
    db = engram_at(engram)
    db.executemany("INSERT INTO pairs VALUES (?, ?)", [(7, 7)] * 100_000)
    db.commit()
    with full_disk(500_000), pytest.raises(Unwritable, match=r"engram\.db cannot be copied"):
        back_up(home, engram, tmp_path / "memory.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["engram", "home"]
    db.close()


def test_folders_and_settings_that_are_links_are_saved_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    filled(home).close()
    for name in ("memory", "config.json"):
        (home / name).rename(tmp_path / name)
        (home / name).symlink_to(tmp_path / name)
    (tmp_path / "memory" / "out").symlink_to("/etc")
    back_up(home, None, tmp_path / "memory.zip")
    restore(tmp_path / "memory.zip", tmp_path / "other", tmp_path / "engram.db", "now")
    with MemoryStore(tmp_path / "other") as restored:
        assert {note.title for note in restored.list()} == {"Kept", "Local", "Bare"}
    assert (tmp_path / "other" / "config.json").is_file() and not (tmp_path / "other" / "memory" / "out").exists()


def test_a_restore_that_cannot_write_engram_db_changes_nothing(tmp_path: Path) -> None:
    home, file, engram = tmp_path / "home", tmp_path / "memory.zip", tmp_path / "engram" / "engram.db"
    filled(home).close()
    db = engram_at(engram)
    db.close()
    back_up(home, engram, file)
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OSError):
        restore(file, home, tmp_path / "file" / "engram.db", "now", replace=True)
    assert (home / "memory" / "bare.md").exists() and not (tmp_path / "home.before-now").exists()


def test_the_command_saves_restores_and_keeps_the_history_in_git(tmp_path: Path) -> None:
    anamnesis = Command(tmp_path)
    anamnesis("write", "Lamp", "Red")
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", remote], check=True)
    anamnesis("config", "set", "remote", str(remote))
    assert anamnesis("sync").code == 0
    file = str(tmp_path / "memory.zip")
    assert anamnesis("backup", file).out.endswith(f"in {file}, and verified it.\n")
    refused = anamnesis("backup", "restore", file)
    assert refused.code == 1 and "--replace" in refused.err
    moved = anamnesis("backup", "restore", file, "--replace", "--json").json["moved_aside"]
    assert len(moved) == 1 and Path(moved[0]).is_dir()
    assert "Lamp" in anamnesis("list").out
    assert anamnesis("sync").code == 0 and anamnesis("doctor").code == 0
    assert anamnesis("backup").code == 2 and anamnesis("backup", "a", "b").code == 2
    assert anamnesis("backup", str(tmp_path / "no" / "file")).code == 1


@pytest.mark.parametrize("disk", ["read-only", "closed", "owned"])
def test_a_backup_of_a_read_only_home_writes_nothing_into_it(tmp_path: Path, disk: str) -> None:
    anamnesis = Command(tmp_path)
    anamnesis("write", "Lamp", "Red")
    before = sorted(anamnesis.home.rglob("*"))
    words = [sys.executable, "-m", "anamnesis", "backup", str(tmp_path / "memory.zip")]
    if disk == "owned":
        anamnesis.home.chmod(0o500)
    else:
        words = command_on(disk, anamnesis.home, words)
    done = subprocess.run(words, env=anamnesis.variables, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(anamnesis.home.rglob("*")) == before
    anamnesis.home.chmod(0o700)
    assert "home/memory/semantic" in " ".join(zipfile.ZipFile(tmp_path / "memory.zip").namelist())
