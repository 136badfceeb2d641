"""A memory that cannot be read is named with reason and remedy, and a note that cannot be read is counted."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import Command, Done
from tests.disks import command_on
from tests.mcp.test_stdio import Server

UNREADABLE = "anamnesis: 1 file could not be read as a note: anamnesis doctor\n"
REMEDY = "change them, or ask its owner."


def closed(anamnesis: Command, folder: Path, *arguments: str) -> Done:
    """The command of a user who may not even look into the folder."""
    words = [sys.executable, "-m", "anamnesis", *arguments]
    unreadable = f"chmod 000 {shlex.quote(str(folder))} && exec {shlex.join(words)}"
    command = command_on("closed", folder, ["sh", "-c", unreadable])
    done = subprocess.run(command, env=anamnesis.variables, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    folder.chmod(0o700)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("arguments", [("list",), ("list", "--json"), ("search", "tide"), ("show", "Tide", "--json")])
def test_a_note_with_broken_front_matter_is_counted_on_stderr(anamnesis: Command, arguments: tuple[str, ...]) -> None:
    anamnesis("write", "Tide", "It turns at six.")
    expected = anamnesis(*arguments)
    broken = anamnesis.home / "memory" / "semantic" / "broken.md"
    broken.write_text("---\nid: [\ntitle: Tide\n---\nIt turns at seven.\n")
    done = anamnesis(*arguments)
    assert (done.code, done.err) == (0, UNREADABLE)
    if arguments[0] == "list":
        assert done.out == expected.out
    broken.unlink()
    assert anamnesis(*arguments).err == ""


def test_a_note_that_is_not_found_may_be_the_broken_one(anamnesis: Command) -> None:
    anamnesis("write", "Tide", "It turns at six.")
    next((anamnesis.home / "memory" / "semantic").glob("*.md")).write_text("---\nid: [\n---\nIt turns at six.\n")
    done = anamnesis("show", "Tide")
    assert done.code == 1
    assert done.err.startswith(UNREADABLE)


WORDS = [
    "list",
    "write a b",
    "search a",
    "status",
    "show a",
    "reindex",
    "dream",
    "export jsonl x",
    "import",
    "uninstall",
]


@pytest.mark.parametrize("words", WORDS)
def test_a_closed_home_is_one_sentence_with_path_reason_and_remedy(anamnesis: Command, words: str) -> None:
    anamnesis.home.mkdir()
    done = closed(anamnesis, anamnesis.home, *words.split())
    assert done.code == 1
    *_, last = done.err.splitlines()
    assert last.startswith("anamnesis: ")
    assert str(anamnesis.home) in last
    assert last.endswith(REMEDY)
    assert "Traceback" not in done.err


def test_doctor_lists_a_closed_home_as_a_fault(anamnesis: Command) -> None:
    anamnesis.home.mkdir()
    done = closed(anamnesis, anamnesis.home, "doctor", "--json")
    assert done.code == 1
    (fault,) = [each for each in done.json["faults"] if each["subject"] == str(anamnesis.home)]
    assert fault["fix"].endswith(REMEDY)


def test_a_closed_folder_of_git_is_no_traceback(anamnesis: Command) -> None:
    anamnesis("write", "Tide", "It turns at six.")
    done = closed(anamnesis, anamnesis.home / "memory", "status")
    assert done.code == 1
    assert done.err.startswith(f"anamnesis: {anamnesis.home / 'memory'}")
    assert done.err.endswith(f"{REMEDY}\n")


def test_a_loop_of_links_in_place_of_the_notes_is_named(anamnesis: Command) -> None:
    anamnesis.home.mkdir()
    (anamnesis.home / "memory").symlink_to("memory")
    for words in ("list", "write a b", "status", "search a"):
        done = anamnesis(*words.split())
        assert done.code == 1
        assert str(anamnesis.home / "memory") in done.err
        assert "Traceback" not in done.err


def test_an_agent_is_told_which_path_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "memory").symlink_to("memory")
    server = Server(tmp_path / "home", "serve")
    for name, arguments in (("memory_list", {}), ("memory_status", {}), ("memory_search", {"query": "tide"})):
        result = server.ask("tools/call", {"name": name, "arguments": arguments})["result"]
        assert result["isError"]
        assert str(tmp_path / "home" / "memory") in json.dumps(result)
    server.end()


def test_a_backup_and_engrams_verbs_name_what_they_cannot_read(anamnesis: Command) -> None:
    anamnesis.home.mkdir()
    for words in (["backup", str(anamnesis.folder / "b.zip")], ["engram", "stats"]):
        done = closed(anamnesis, anamnesis.home, *words)
        assert done.code == 1
        assert f"{anamnesis.home}/engram.db cannot be used: Permission denied. Its permissions" in done.err
