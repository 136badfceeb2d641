"""`.engram/`: we read Engram's chunks, Engram can read ours, and no row is lost or duplicated."""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anamnesis.engram import chunks, exchange, observations, prompts, sessions
from anamnesis.engram.chunks import Status
from anamnesis.engram.database import connect, prepare
from anamnesis.engram.observations import NewObservation
from anamnesis.errors import StoreUnavailable

SAMPLE = Path(__file__).with_name("golden") / "sample"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".engram"


@pytest.fixture
def other(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """The database of another machine."""
    prepare(tmp_path / "other" / "engram.db")
    with closing(connect(tmp_path / "other" / "engram.db")) as db:
        yield db


def save(db: sqlite3.Connection, title: str, project: str = "engram", at: str = "") -> str:
    """Keep something and return its sync_id."""
    session = f"s-{project}"
    sessions.create(db, session, project)
    saved = observations.add(db, NewObservation(session, title, f"about {title}", "manual", project=project))
    if at:
        db.execute("UPDATE observations SET created_at = ? WHERE id = ?", (at, saved.id))
        db.execute("UPDATE sessions SET started_at = ? WHERE id = ?", (at, session))
    return saved.observation.sync_id


def content(folder: Path, id: str) -> Any:
    return json.loads(gzip.decompress((folder / "chunks" / f"{id}.jsonl.gz").read_bytes()))


def known(db: sqlite3.Connection) -> set[str]:
    return {each.sync_id for each in exchange.export(db).observations}


def test_what_engram_wrote_is_read(empty: sqlite3.Connection) -> None:
    written = SAMPLE / "dot-engram"
    assert chunks.status(empty, written) == Status(0, 1, 1)
    result = chunks.import_(empty, written)
    assert (result.chunks, result.skipped, result.unreadable) == (1, 0, [])
    assert (result.sessions, result.observations, result.prompts) == (3, 50, 6)
    assert chunks.status(empty, written) == Status(1, 1, 0)
    assert chunks.import_(empty, written).skipped == 1
    given = json.loads((SAMPLE / "export.json").read_bytes())
    assert known(empty) == {each["sync_id"] for each in given["observations"]}


def test_a_chunk_of_the_same_rows_is_the_one_that_engram_wrote(tmp_path: Path, folder: Path) -> None:
    """Byte for byte, so its name is the same too, and a real Engram knows that it has it."""
    (tmp_path / "engram.db").write_bytes((SAMPLE / "engram.db").read_bytes())
    with closing(connect(tmp_path / "engram.db")) as db:
        db.execute("DELETE FROM sync_chunks")
        written = chunks.export(db, folder, "tester", None)
    (listed,) = json.loads((SAMPLE / "dot-engram" / "manifest.json").read_bytes())["chunks"]
    assert written
    assert written[0] == listed["id"]
    theirs = (SAMPLE / "dot-engram" / "chunks" / f"{listed['id']}.jsonl.gz").read_bytes()
    assert gzip.decompress((folder / "chunks" / f"{listed['id']}.jsonl.gz").read_bytes()) == gzip.decompress(theirs)
    (ours,) = json.loads((folder / "manifest.json").read_bytes())["chunks"]
    assert {**ours, "created_at": ""} == {**listed, "created_at": ""}
    assert list(ours) == list(listed)


def test_a_chunk_is_named_after_its_content(empty: sqlite3.Connection, folder: Path) -> None:
    save(empty, "one")
    written = chunks.export(empty, folder, "tester", None)
    assert written
    data = gzip.decompress((folder / "chunks" / f"{written[0]}.jsonl.gz").read_bytes())
    assert hashlib.sha256(data).hexdigest().startswith(written[0])
    assert list(json.loads(data)) == ["sessions", "observations", "prompts"]
    assert json.loads(data)["prompts"] is None


def test_only_what_is_new_is_written(empty: sqlite3.Connection, folder: Path) -> None:
    assert chunks.export(empty, folder, "tester", None) is None
    assert not folder.exists()
    save(empty, "old", at="2025-01-01 00:00:00")
    assert chunks.export(empty, folder, "tester", None)
    assert chunks.export(empty, folder, "tester", None) is None
    new = save(empty, "kept in the second of the last export")
    written = chunks.export(empty, folder, "tester", None)
    assert written
    assert [each["sync_id"] for each in content(folder, written[0])["observations"]] == [new]
    assert chunks.export(empty, folder, "tester", None) is None


def test_a_project_takes_its_sessions_along(empty: sqlite3.Connection, folder: Path) -> None:
    mine = save(empty, "mine", "mine")
    save(empty, "theirs", "theirs")
    prompts.add(empty, "s-mine", "what of it?", "theirs")
    written = chunks.export(empty, folder, "tester", "mine")
    assert written
    chunk = content(folder, written[0])
    assert [each["sync_id"] for each in chunk["observations"]] == [mine]
    assert [each["id"] for each in chunk["sessions"]] == ["s-mine"]
    assert len(chunk["prompts"]) == 1


def test_what_was_kept_before_a_colleague_exported_is_not_lost(
    empty: sqlite3.Connection, other: sqlite3.Connection, folder: Path
) -> None:
    older = save(empty, "kept by me", "a", at="2025-01-01 00:00:00")
    theirs = save(other, "kept by them", "b", at="2025-01-02 00:00:00")
    assert chunks.export(other, folder, "them", None)
    chunks.import_(empty, folder)
    written = chunks.export(empty, folder, "me", None)
    assert written
    assert [each["sync_id"] for each in content(folder, written[0])["observations"]] == [older]
    chunks.import_(other, folder)
    assert known(other) == known(empty) == {older, theirs}


def test_a_row_whose_session_is_in_no_chunk_comes_in_with_a_bare_one(
    empty: sqlite3.Connection, other: sqlite3.Connection, folder: Path
) -> None:
    save(empty, "first", at="2025-01-01 00:00:00")
    assert chunks.export(empty, folder, "tester", None)
    new = save(empty, "second")
    second = chunks.export(empty, folder, "tester", None)
    assert second
    assert not second[1].sessions
    manifest = json.loads((folder / "manifest.json").read_bytes())
    (folder / "chunks" / f"{manifest['chunks'][0]['id']}.jsonl.gz").unlink()
    result = chunks.import_(other, folder)
    assert (result.chunks, result.skipped, result.unreadable) == (1, 1, [])
    assert known(other) == {new}
    assert sessions.get(other, "s-engram")


@pytest.mark.parametrize(
    "data", [b"", b"no gzip", *(gzip.compress(text, mtime=0) for text in (b"{broken", b'{"sessions": 5}'))]
)
def test_a_chunk_that_cannot_be_read_stops_no_other(empty: sqlite3.Connection, folder: Path, data: bytes) -> None:
    listed = [{"id": "bad"}, {"id": "good"}, {"id": "../../etc/passwd"}, {"id": 5}, "nothing", {"id": "missing"}]
    (folder / "chunks").mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"version": 1, "chunks": listed}))
    (folder / "chunks" / "bad.jsonl.gz").write_bytes(data)
    sample = next((SAMPLE / "dot-engram" / "chunks").iterdir())
    (folder / "chunks" / "good.jsonl.gz").write_bytes(sample.read_bytes())
    result = chunks.import_(empty, folder)
    assert (result.chunks, result.observations) == (1, 50)
    assert len(result.unreadable) == 1
    assert "chunk bad" in result.unreadable[0]
    assert chunks.status(empty, folder).local == 1


@pytest.mark.parametrize("text", ["<<<<<<< HEAD", "[]", "", '{"chunks": 5}', "[" * 100_000])
def test_a_manifest_that_cannot_be_read_is_left_as_it_is(empty: sqlite3.Connection, folder: Path, text: str) -> None:
    save(empty, "one")
    folder.mkdir()
    (folder / "manifest.json").write_text(text)
    for action in (chunks.status, chunks.import_, lambda db, place: chunks.export(db, place, "tester", None)):
        with pytest.raises(StoreUnavailable, match=r"manifest\.json"):
            action(empty, folder)
    assert (folder / "manifest.json").read_text() == text


def test_what_a_later_engram_has_added_to_the_manifest_stays(empty: sqlite3.Connection, folder: Path) -> None:
    folder.mkdir()
    theirs = {"version": 2, "targets": {"a": [1]}, "chunks": [{"id": "x", "tombstones": 3}]}
    (folder / "manifest.json").write_text(json.dumps(theirs))
    save(empty, "one & <two>")
    chunks.export(empty, folder, "R&D <team>", None)
    text = (folder / "manifest.json").read_text()
    changed = json.loads(text)
    assert changed["chunks"][0] == theirs["chunks"][0]  # type: ignore[index]
    assert (changed["version"], changed["targets"], len(changed["chunks"])) == (2, {"a": [1]}, 2)
    assert r"R\u0026D \u003cteam\u003e" in text


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)


@settings(max_examples=30)
@given(st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=5))
def test_whatever_is_kept_arrives_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]]
) -> None:
    place = tmp_path_factory.mktemp("machines")
    paths = [place / name / "engram.db" for name in ("here", "there")]
    for path in paths:
        prepare(path)
    with closing(connect(paths[0])) as here, closing(connect(paths[1])) as there:
        sessions.create(here, "s", "p", "/w")
        for title, text, topic in rows:
            observations.add(here, NewObservation("s", title, text, "manual", project="p", topic_key=topic))
        assert chunks.export(here, place, "tester", None)
        assert chunks.import_(there, place).unreadable == []
        sent, arrived = exchange.export(here), exchange.export(there)
        assert arrived.sessions == sent.sessions
        assert [replace(each, id=0) for each in arrived.observations] == [
            replace(each, id=0) for each in sent.observations
        ]
