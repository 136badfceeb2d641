"""`anamnesis doctor` names each fault with its fix, and fixes those where nothing can be lost."""

from __future__ import annotations

import os
import sqlite3

import pytest
from tests.cli.command import Command


def test_each_fault_is_named_and_the_safe_fixes_are_applied(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Title", "body").out.strip()
    folder = anamnesis.home / "memory/semantic"
    (folder / "readme.md").write_text("")
    (folder / "bad.md").write_text("---\nid: bad\ntype: semantic\ntitle: t\nconfidence: high\n---\n")
    (folder / "copy.md").write_text((folder / f"{note_id}.md").read_text())
    (folder / "link.md").symlink_to("/etc/passwd")
    leftover = folder / ".x.md.1-1.tmp"
    leftover.write_text("half")
    os.utime(leftover, (0, 0))
    anamnesis.home.chmod(0o755)
    (anamnesis.home / "config.json").write_text('{"remote": "-o x"}')

    done = anamnesis("doctor", "--json")
    assert done.code == 1
    faults = {fault["subject"]: fault for fault in done.json["faults"]}
    in_notes = "memory/semantic"
    assert faults[f"{in_notes}/readme.md:1"]["fault"].startswith("memory file missing YAML front-matter.")
    assert faults[f"{in_notes}/bad.md:5"]["fault"] == "confidence 'high' is not a number. Use 0.0 to 1.0."
    assert faults[f"{in_notes}/copy.md"]["fixable"]
    assert faults[f"{in_notes}/link.md"]["fault"] == "It is a symbolic link, and links are not followed."
    assert faults[f"{in_notes}/.x.md.1-1.tmp"]["fixable"]
    assert faults[str(anamnesis.home)]["fix"] == f"chmod 700 {anamnesis.home}"
    assert str(anamnesis.home / "config.json") in faults

    fixed = anamnesis("doctor", "--fix", "--json").json
    left = {fault["subject"] for fault in fixed["faults"]}
    assert left == {
        f"{in_notes}/readme.md:1",
        f"{in_notes}/bad.md:5",
        f"{in_notes}/link.md",
        str(anamnesis.home / "config.json"),
    }
    assert not leftover.exists()
    assert [path.read_text() for path in (anamnesis.home / "trash").rglob("*.tmp~*")] == ["half"]
    assert (folder / f"{note_id}.md").exists()
    assert len(list((anamnesis.home / "trash").rglob("*.md"))) == 1
    assert (folder / "bad.md").exists()


def test_a_full_text_index_that_lost_rows_is_found_and_rebuilt(anamnesis: Command) -> None:
    anamnesis("write", "Title", "zebra")
    db = sqlite3.connect(anamnesis.home / "index.db")
    db.execute("DELETE FROM memories_fts_data WHERE id > 10")
    db.commit()
    db.close()
    done = anamnesis("doctor", "--json")
    assert done.code == 1
    (fault,) = done.json["faults"]
    assert fault["fault"].startswith("It is damaged:")
    assert anamnesis("doctor", "--fix").code == 0
    assert "Title" in anamnesis("search", "zebra").out


@pytest.mark.parametrize("tree", ["memory", "local"])
@pytest.mark.parametrize("kind", ["file", "link", "broken link", "pipe"])
def test_a_file_in_the_place_of_a_types_folder_is_named_and_moved_to_the_trash(
    anamnesis: Command, tree: str, kind: str
) -> None:
    scope = "portable" if tree == "memory" else "machine-local"
    anamnesis("write", "Other", "other", "-t", "procedural", "--scope", scope)
    place = anamnesis.home / tree / "semantic"
    if kind == "file":
        place.write_text("kept")
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(anamnesis.folder if kind == "link" else "nowhere")
    refused = anamnesis("write", "Title", "body", "--scope", scope)
    assert refused.code == 1
    assert "anamnesis doctor" in refused.err
    done = anamnesis("doctor", "--json")
    (fault,) = done.json["faults"]
    assert (done.code, fault["subject"], fault["fixable"]) == (1, f"{tree}/semantic", True)
    assert anamnesis("doctor", "--fix").code == 0
    assert anamnesis("write", "Title", "body", "--scope", scope).code == 0
    (moved,) = (anamnesis.home / "trash" / tree).iterdir()
    assert moved.name.startswith("semantic~")
    if kind == "file":
        assert moved.read_text() == "kept"


def test_no_advice_about_two_files_of_a_note_removes_the_only_copy_of_a_text(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Title", "body").out.strip()
    file = anamnesis.home / "memory/semantic" / f"{note_id}.md"
    file.with_name("copy.md").write_text(file.read_text())
    file.with_name("edited.md").write_text(file.read_text().replace("body", "another body"))
    (same, other) = anamnesis("doctor", "--json").json["faults"]
    assert (same["subject"], same["fix"]) == (
        "memory/semantic/copy.md",
        "Move this file to the trash: both say the same.",
    )
    assert (other["subject"], other["fix"]) == (
        "memory/semantic/edited.md",
        "Keep both texts: make a note of each.",
    )
    assert anamnesis("doctor", "--fix").code == 0
    assert {note["body"] for note in anamnesis("search", "body", "--json").json} == {"body", "another body"}
    (conflict,) = anamnesis("conflicts", "--json").json
    assert (conflict["id"], conflict["diff"]) == (note_id, "-body\n+another body\n")


def test_a_fresh_store_has_no_fault(anamnesis: Command) -> None:
    done = anamnesis("doctor")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_notes_that_supersede_others_are_not_damage(anamnesis: Command) -> None:
    old = anamnesis("write", "Old", "body").out.strip()
    anamnesis("write", "New", "body", "--supersedes", old)
    done = anamnesis("doctor")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_a_fault_that_a_fix_reveals_is_fixed_too(anamnesis: Command) -> None:
    anamnesis("engram", "save", "Title", "zebra")
    (file,) = (anamnesis.home / "memory").rglob("*.md")
    file.with_name("copy.md").write_bytes(file.read_bytes())
    file.write_text(file.read_text() + "giraffe\n")
    assert anamnesis("doctor").code == 1
    assert anamnesis("doctor", "--fix").code == 0
    assert "giraffe" in anamnesis("engram", "search", "giraffe").out
