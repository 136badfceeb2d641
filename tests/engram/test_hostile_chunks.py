"""`.engram/` of a hostile clone: nothing is read or written outside of it, and no chunk fills the memory."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from pathlib import Path

import pytest
from tests.engram_cli.program import Program

from anamnesis.engram import chunks, exchange, sessions
from anamnesis.engram.record import Observation


@pytest.fixture
def engram(tmp_path: Path, bounded: None) -> Program:
    return Program(tmp_path)


def listed(folder: Path, id: str, data: bytes, **facts: str) -> None:
    """A chunk as a clone has it."""
    (folder / "chunks").mkdir(parents=True)
    (folder / "chunks" / f"{id}.jsonl.gz").write_bytes(data)
    (folder / "manifest.json").write_text(json.dumps({"version": 1, "chunks": [{"id": id, **facts}]}))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{}," * (30 << 20), "it unpacks to more than 32 MB"),
        (b"[" * (16 << 20), "it holds more than 1,000,000 values"),
        (b'{"observations":[' + b"{}," * (8 << 20) + b"{}]}", "it holds more than 1,000,000 values"),
        (b'{"x":[' + b'["\\"",1],' * (2 << 20) + b"1]}", "it holds more than 1,000,000 values"),
    ],
    ids=["long", "nested", "objects", "lists"],
)
def test_a_chunk_that_would_fill_the_memory_is_named_in_one_sentence(
    engram: Program, content: bytes, reason: str
) -> None:
    listed(engram.folder / ".engram", "bomb", gzip.compress(content), created_by="tester", created_at="2020-01-01")
    done = engram("sync", "--import")
    assert (done.code, done.err) == (1, f"engram: chunk bomb: {reason}\n")
    engram("save", "title", "content", "--project", "proj")
    done = engram("sync")
    assert (done.code, done.err) == (0, f"engram: chunk bomb: {reason}\n")
    assert "Created chunk" in done.out


def test_a_long_text_full_of_commas_and_quotes_is_not_taken_for_many_values() -> None:
    text = json.dumps({"content": '1,[{\\"' * 400_000}).encode()
    assert chunks.unpack(chunks.pack(text)) == text


def test_what_is_too_much_for_one_chunk_is_written_as_several_that_can_be_read(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    rows = [(f"obs-{number}", "x" * (12 << 20)) for number in range(5)]
    for sync_id, text in rows:
        db.execute(
            "INSERT INTO observations (sync_id, session_id, type, title, content, project, scope)"
            " VALUES (?, 's1', 'manual', 't', ?, 'engram', 'project')",
            (sync_id, text),
        )
    folder = tmp_path / ".engram"
    written = chunks.export(db, folder, "tester", None)
    assert written
    assert written[0].count(",") == len(list((folder / "chunks").iterdir())) - 1 > 0
    assert chunks.export(db, folder, "tester", None) is None
    db.execute("DELETE FROM sync_chunks")
    db.execute("DELETE FROM observations")
    result = chunks.import_(db, folder)
    assert (result.unreadable, result.observations) == ([], 5)
    found: dict[str, Observation] = {each.sync_id: each for each in exchange.export(db).observations}
    assert [(id, found[id].content) for id, _ in rows] == rows
    assert sessions.get(db, "s1")


@pytest.mark.parametrize("name", [".engram", ".engram/chunks", ".engram/manifest.json"])
def test_nothing_is_read_or_written_through_a_link(engram: Program, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    listed(outside / "real", "theirs", gzip.compress(b"{}"))
    before = sorted(outside.rglob("*"))
    link = engram.folder / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to({".engram": outside / "real", ".engram/chunks": outside / "real/chunks"}.get(name, outside / "no"))
    engram("save", "title", "content", "--project", "proj")
    for arguments in (("sync",), ("sync", "--import"), ("sync", "--status")):
        done = engram(*arguments)
        if name != ".engram/chunks" or arguments == ("sync",):
            assert (done.code, done.err.count("\n")) == (1, 1)
            assert f"{name} is a symbolic link" in done.err
    assert sorted(outside.rglob("*")) == before


def test_a_manifest_that_is_a_pipe_or_endless_or_odd_is_refused_at_once(engram: Program) -> None:
    manifest = engram.folder / ".engram/manifest.json"
    manifest.parent.mkdir()
    os.mkfifo(manifest)
    assert "manifest.json is not a regular file" in engram("sync", "--status").err
    manifest.unlink()
    manifest.symlink_to("/dev/zero")
    assert "manifest.json is a symbolic link" in engram("sync", "--status").err
    manifest.unlink()
    manifest.write_text('{"chunks": 5}')
    assert "manifest.json is not a manifest of Engram" in engram("sync", "--status").err
    manifest.write_text("[" * 100_000)
    done = engram("sync", "--status")
    assert (done.code, done.err.count("\n")) == (1, 1)
    manifest.write_bytes(b" " * (5 << 20))
    assert "manifest.json has more than 4,194,304 bytes" in engram("sync", "--status").err


def test_a_chunk_of_the_manifest_cannot_lie_elsewhere(engram: Program, tmp_path: Path) -> None:
    os.mkfifo(engram.folder / "theirs.jsonl.gz")
    engram("save", "title", "content", "--project", "proj")
    assert engram("sync").code == 0


def test_an_export_follows_no_link_that_a_clone_has_under_its_name(engram: Program, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("mine")
    (engram.folder / "engram-export.json").symlink_to(kept)
    assert engram("export").code == 0
    assert kept.read_text() == "mine"
    assert json.loads((engram.folder / "engram-export.json").read_bytes())["version"]
