"""`anamnesis export` writes notes for other programs, and the result can be imported again."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command import Command


def test_notes_go_to_another_home_and_stay_as_they_were(anamnesis: Command, tmp_path: Path) -> None:
    for title in ("One", "Two"):
        anamnesis("write", title, f"Body of {title}", "--project", title.lower(), "--tag", "x")
    file = tmp_path / "notes.jsonl"
    assert anamnesis("export", "jsonl", str(file)).out == f"Exported 2 notes to {file}.\n"
    assert file.stat().st_mode & 0o777 == 0o600
    (tmp_path / "other").mkdir()
    other = Command(tmp_path / "other")
    assert other("import", "jsonl", str(file), "--own", "--json").json["new"] == 2
    assert other("list", "--json").json == anamnesis("list", "--json").json
    assert anamnesis("import", "rules", str(file), "--own").code == 2


def test_filters_choose_and_every_format_is_written(anamnesis: Command, tmp_path: Path) -> None:
    anamnesis("write", "One", "See [[Two]].", "--project", "lamp")
    anamnesis("write", "Two", "Body")
    portable, engram, vault = tmp_path / "memory-store.json", tmp_path / "engram.json", tmp_path / "vault"
    done = anamnesis("export", "portable-ai-memory", str(portable), "--project", "lamp", "--json").json
    assert done == {"exported": 1, "path": str(portable)}
    assert [each["summary"] for each in json.loads(portable.read_text())["memories"]] == ["One"]
    anamnesis("export", "engram", str(engram))
    assert len(json.loads(engram.read_text())["observations"]) == 2
    assert anamnesis("export", "obsidian", str(vault)).out.startswith("2 written")
    file = vault / "One.md"
    file.write_text(file.read_text().replace("See", "Look at"))
    assert anamnesis("import", "markdown", str(vault)).out.startswith("0 new, 1 updated, 1 unchanged")
    assert "Look at [[Two]]." in anamnesis("show", "One").out


def test_a_place_that_cannot_be_written_is_named(anamnesis: Command, tmp_path: Path) -> None:
    done = anamnesis("export", "jsonl", str(tmp_path / "no" / "file"))
    assert done.code == 1 and "cannot be written" in done.err and "Traceback" not in done.err
