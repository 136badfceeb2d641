"""What is machine-local leaves the machine by no export of Engram's, and each export says what it leaves out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests import forking
from tests.engram_cli.program import Program

PRIVATE = ("Diary", "heron", "typed-in-private", "/secret/folder", "alone")
COUNTS = "2 observations, 1 session and 1 prompt"


def anamnesis(engram: Program, *arguments: str) -> tuple[str, str]:
    command = (str(engram.path.with_name("anamnesis")), *arguments)
    code, out, err = forking.run(command, b"", engram.folder, engram.environment({}))
    assert code == 0, err
    return out.decode(), err.decode()


def row_of(engram: Program, title: str) -> dict[str, object]:
    found = json.loads(anamnesis(engram, "list", "--json")[0])
    [note] = [each for each in found if each["title"] == title]
    return dict(note)


@pytest.fixture
def engram(tmp_path: Path) -> Program:
    """A home with a session whose only note is machine-local, and one with a machine-local and a portable note."""
    program = Program(tmp_path / "one")
    program.path.with_name("anamnesis").symlink_to(program.path.resolve())
    document = {
        "sessions": [
            {"id": "alone", "project": "p", "directory": "/secret/folder", "started_at": "2026-01-01 00:00:00"},
            {"id": "both", "project": "p", "directory": "/w", "started_at": "2026-01-01 00:00:00"},
        ],
        "observations": [
            {
                "id": number, "sync_id": f"obs-000000000000000{number}", "session_id": session, "type": "manual",
                "title": title, "content": content, "project": "p", "scope": "project",
                "created_at": "2026-01-01 00:00:00", "updated_at": "2026-01-01 00:00:00",
            }
            for number, session, title, content in (
                (1, "alone", "Diary alone", "heron"), (2, "both", "Diary", "heron"), (3, "both", "Shared", "stork")
            )
        ],
        "prompts": [
            {"id": 1, "sync_id": "p-1", "session_id": "alone", "content": "typed-in-private", "project": "p"},
            {"id": 2, "sync_id": "p-2", "session_id": "both", "content": "typed", "project": "p"},
        ],
    }  # fmt: skip
    (program.folder / "given.json").write_text(json.dumps(document))
    assert program("import", "given.json").code == 0
    for title in ("Diary alone", "Diary"):
        anamnesis(program, "move", str(row_of(program, title)["id"]), "--scope", "machine-local")
    return program


def arrived(engram: Program, tmp_path: Path, *verb: str) -> dict[str, object]:
    """What another home's memory holds after it has imported by a verb in the same folder."""
    other = Program(tmp_path / "two")
    other.folder = engram.folder
    done = other(*verb)
    assert done.code == 0, done.err
    assert other("export", "there.json").err == ""
    return dict(json.loads((engram.folder / "there.json").read_text()))


def assert_only_shared(document: dict[str, object]) -> None:
    text = json.dumps(document)
    assert [word for word in PRIVATE if word in text] == []
    assert "Shared" in text


def test_an_export_leaves_them_out_and_says_so(engram: Program, tmp_path: Path) -> None:
    done = engram("export", "here.json")
    assert done.err == f"Left out, as machine-local: {COUNTS}.\n"
    assert "  Observations: 1\n" in done.out
    assert_only_shared(arrived(engram, tmp_path, "import", "here.json"))


def test_a_sync_leaves_them_out_and_carries_what_becomes_portable_later(engram: Program, tmp_path: Path) -> None:
    done = engram("sync", "--all")
    assert done.err == f"Left out, as machine-local: {COUNTS}.\n"
    assert_only_shared(arrived(engram, tmp_path, "sync", "--import"))
    anamnesis(engram, "write", "Later", "of the session", "--project", "p")
    anamnesis(engram, "move", str(row_of(engram, "Diary alone")["id"]), "--scope", "portable", "--yes")
    assert engram("sync", "--all").err == "Left out, as machine-local: 1 observation.\n"
    chunks = sorted((engram.folder / ".engram" / "chunks").glob("*.gz"), key=lambda path: path.stat().st_mtime_ns)
    sent = json.loads(gzip.decompress(chunks[-1].read_bytes()))
    assert "Diary alone" in [each["title"] for each in sent["observations"]]
    assert "alone" in [each["id"] for each in sent["sessions"]]


def test_an_obsidian_export_leaves_them_out_and_removes_those_that_it_wrote(engram: Program) -> None:
    note = str(row_of(engram, "Shared")["id"])
    vault = engram.folder / "vault"
    assert engram("obsidian-export", "--vault", "vault").err == f"Left out, as machine-local: {COUNTS}.\n"
    assert any("stork" in path.read_text() for path in vault.rglob("*.md"))
    anamnesis(engram, "move", note, "--scope", "machine-local")
    engram("obsidian-export", "--vault", "vault")
    assert not any("stork" in path.read_text() or "heron" in path.read_text() for path in vault.rglob("*.md"))


def test_an_export_of_notes_in_engrams_format_leaves_them_out(engram: Program, tmp_path: Path) -> None:
    assert anamnesis(engram, "export", "engram", "here.json")[1] == "Left out, as machine-local: 2 notes.\n"
    out, _ = anamnesis(engram, "export", "engram", "here.json", "--json")
    assert json.loads(out) == {"exported": 1, "left_out": 2, "path": "here.json"}
    assert_only_shared(arrived(engram, tmp_path, "import", "here.json"))
