"""`anamnesis delete --purge`: nothing of a note is left but its id, whatever its state."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.remains import BODY, REVISED, TITLE, holding
from tests.sync.machine import git

from anamnesis.notes import Memory
from anamnesis.notes.merge import CONFLICT_TAG


@pytest.fixture
def engram(anamnesis: Command) -> Path:
    """The folder of an engram.db that is in step with the notes, some of which are others'."""
    folder = anamnesis.folder / "engram"
    anamnesis.variables["ENGRAM_DATA_DIR"] = str(folder)
    anamnesis("engram", "stats")
    for number in range(3):
        anamnesis("write", f"Other {number}", f"another text {number}")
    return folder


def write(anamnesis: Command, *options: str) -> str:
    return anamnesis("write", f"About {TITLE}", f"It says {BODY} here.", *options).out.strip()


def revise(anamnesis: Command, note_id: str) -> None:
    with anamnesis.store() as store:
        store.update(note_id, body=f"It says {REVISED} now.")
    anamnesis("list")  # the bridge follows


def live(anamnesis: Command) -> str:
    return write(anamnesis)


def revised(anamnesis: Command) -> str:
    note_id = write(anamnesis)
    revise(anamnesis, note_id)
    return note_id


def trashed(anamnesis: Command) -> str:
    """In the trash twice, in two versions."""
    note_id = write(anamnesis)
    anamnesis("delete", note_id)
    anamnesis("restore", note_id)
    revise(anamnesis, note_id)
    anamnesis("delete", note_id)
    anamnesis("restore", note_id)
    anamnesis("delete", note_id)
    return note_id


def hidden(anamnesis: Command) -> str:
    """Deleted through Engram."""
    note_id = write(anamnesis)
    with closing(sqlite3.connect(anamnesis.folder / "engram" / "engram.db")) as db, db:
        db.execute("UPDATE observations SET deleted_at = '2026-01-01 00:00:00' WHERE title LIKE ?", (f"%{TITLE}%",))
    anamnesis("list")
    return note_id


def machine_local(anamnesis: Command) -> str:
    return write(anamnesis, "--scope", "machine-local")


def unreadable(anamnesis: Command) -> str:
    note_id = write(anamnesis)
    [path] = anamnesis.home.glob(f"memory/*/{note_id}.md")
    path.write_text(path.read_text("utf-8").replace("type: semantic", "type: nonsense"), "utf-8")
    return note_id


def in_two_files(anamnesis: Command) -> str:
    note_id = write(anamnesis)
    [path] = anamnesis.home.glob(f"memory/*/{note_id}.md")
    shutil.copy(path, path.with_name("by another name.md"))
    return note_id


def in_conflict(anamnesis: Command) -> str:
    """With a version that a merge has set aside, and one that is in the trash since."""
    note_id = write(anamnesis)
    for number, text in enumerate((REVISED, BODY)):
        other = Memory(f"aside-{number}", "semantic", TITLE, text, tags=[CONFLICT_TAG])
        with anamnesis.store() as store:
            store.put(replace(other, extra={"tags": f"conflict_of: {note_id}\n"}))
    anamnesis("delete", "aside-1")
    return note_id


@pytest.mark.parametrize(
    "state", [live, revised, trashed, hidden, machine_local, unreadable, in_two_files, in_conflict]
)
def test_nothing_is_left_of_a_purged_note_but_its_id(
    anamnesis: Command, engram: Path, state: Callable[[Command], str]
) -> None:
    note_id = state(anamnesis)
    assert holding(anamnesis.home, engram)
    done = anamnesis("delete", "--purge", "--yes", note_id)
    assert (done.code, done.out.splitlines()[0], done.err) == (0, f"Purged: {note_id}", "")
    assert holding(anamnesis.home, engram) == {}
    assert {note["title"] for note in anamnesis("list", "--json").json} == {"Other 0", "Other 1", "Other 2"}
    assert len(anamnesis("search", "another", "--json").json) == 3
    assert "Found 3 memories" in anamnesis("engram", "search", "another").out
    assert anamnesis("doctor").code == 0


def test_a_purge_leaves_a_home_without_engram_without_a_trace_too(anamnesis: Command) -> None:
    note_id = revised(anamnesis)
    done = anamnesis("delete", "--purge", "--yes", "--json", note_id)
    no_git = {"commits": 0, "is_pushed": False, "commands": []}
    assert done.json == {"purged": [note_id], "is_erased": True, "git": no_git, "hub": []}
    assert holding(anamnesis.home) == {}


def test_in_a_pipe_a_purge_is_refused_without_yes(anamnesis: Command) -> None:
    note_id = write(anamnesis)
    done = anamnesis("delete", "--purge", note_id)
    assert (done.code, done.out) == (1, "")
    assert (
        done.err
        == "anamnesis: A purge cannot be undone, and there is no terminal to confirm it on. Add --yes to purge.\n"
    )
    assert anamnesis("show", note_id).code == 0


@pytest.mark.parametrize(("answer", "is_there"), [("n\n", True), ("\n", True), ("y\n", False)])
def test_on_a_terminal_a_purge_asks_first(anamnesis: Command, answer: str, is_there: bool) -> None:
    note_id = write(anamnesis)
    shown = anamnesis.on_terminal("delete", "--purge", note_id, typed=answer)
    assert f"  {note_id}  About {TITLE}\nRemove this note permanently?" in shown
    assert (anamnesis("show", note_id).code == 0) is is_there


def test_a_purge_of_several_notes_is_all_or_nothing(anamnesis: Command) -> None:
    note_id = write(anamnesis)
    done = anamnesis("delete", "--purge", "--yes", note_id, "nonsense")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("anamnesis: No note has the id nonsense.")
    assert anamnesis("show", note_id).code == 0


def test_a_purged_note_has_no_history_and_no_way_back(anamnesis: Command, engram: Path) -> None:
    note_id = revised(anamnesis)
    anamnesis("sync")
    anamnesis("delete", "--purge", "--yes", note_id)
    history, restored = anamnesis("history", note_id), anamnesis("restore", note_id)
    assert (history.code, restored.code) == (1, 1)
    assert history.err.startswith(f"anamnesis: The note {note_id} was purged. ")
    assert restored.err == f"anamnesis: The note {note_id} was purged and cannot be brought back.\n"
    assert anamnesis("restore").out == ""


def test_the_commands_that_it_prints_remove_the_note_from_git(anamnesis: Command, tmp_path: Path) -> None:
    """Also on the remote; all other notes and versions stay, and the next sync works."""
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    anamnesis("config", "set", "remote", str(remote))
    other = anamnesis("write", "Other", "another text").out.strip()
    note_id = write(anamnesis)
    anamnesis("sync")
    revise(anamnesis, note_id)
    anamnesis("sync")
    memory = anamnesis.home / "memory"
    [path] = memory.glob(f"*/{note_id}.md")
    path.rename(path.with_name("my own name.md"))
    anamnesis("sync")
    done = anamnesis("delete", "--purge", "--yes", "--json", note_id)
    past = done.json["git"]
    assert (past["commits"], past["is_pushed"]) == (3, True)
    shell = "\n".join(["set -e", *past["commands"]]).replace("anamnesis sync", "true")
    assert anamnesis("sync").code == 0
    environment = {**anamnesis.variables, "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e"}
    ran = subprocess.run(["bash", "-c", shell], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    for place in (memory, remote):
        for word in (TITLE, BODY, REVISED):
            assert git(place, "log", "--all", "-S", word) == ""
        assert git(place, "log", "--all", "--format=%H", "-S", "another text") != ""
    unreachable = git(memory, "cat-file", "--batch-check", "--batch-all-objects")
    texts = git(
        memory, "cat-file", "--batch", input="\n".join(line.split()[0] for line in unreachable.splitlines()).encode()
    )
    assert TITLE not in texts
    assert "synced" in anamnesis("sync").out
    assert anamnesis("show", other).code == 0
    assert "commit" not in anamnesis("delete", "--purge", "--yes", note_id).err


def test_a_file_of_another_note_that_mentions_the_id_is_not_touched(anamnesis: Command, engram: Path) -> None:
    """Neither the file nor the history that the printed commands rewrite."""
    note_id = write(anamnesis)
    other = anamnesis("write", "Newer", f"id: {note_id} was wrong", "--supersedes", note_id).out.strip()
    broken = anamnesis.home / "memory" / "semantic" / f"{note_id}-and-more.md"
    broken.write_text("no note", "utf-8")
    anamnesis("sync")
    done = anamnesis("delete", "--purge", "--yes", note_id)
    assert broken.exists()
    assert anamnesis("show", other).code == 0
    assert f"{note_id}.md" in done.err
    assert other not in done.err
    assert "and-more" not in done.err


def test_a_sync_that_was_killed_leaves_no_copy_behind_a_purge(anamnesis: Command) -> None:
    note_id = write(anamnesis)
    anamnesis("sync")
    stage = anamnesis.home / "memory" / ".git" / "anamnesis-new"
    stage.mkdir()
    (stage / ".0.1-1.tmp").write_text(f"It says {BODY} here.", "utf-8")
    anamnesis("delete", "--purge", "--yes", note_id)
    assert not stage.exists()


def long(text: str) -> str:
    """A text of several passages, whose words vectors.db holds too."""
    return "\n".join([text, *(f"Line {number} is about the weather and says nothing else." for number in range(40))])


def test_a_purge_removes_the_vectors_of_a_note_but_not_those_of_an_equal_text_in_another_note(
    anamnesis: Command,
) -> None:
    with anamnesis.store() as store:
        note = store.write(type="semantic", title="About it", body=long(BODY))
        store.embed()
        store.update(note.id, body=long(REVISED))
        other = store.write(type="semantic", title="Shared", body=long("nothing of that kind"))
        copy = store.write(type="semantic", title="Shared", body=long("nothing of that kind"))
        store.embed()
    assert "vectors.db" in {name.removesuffix("-wal") for name in holding(anamnesis.home)}
    assert anamnesis("delete", "--purge", "--yes", note.id, copy.id).code == 0
    assert holding(anamnesis.home) == {}
    with anamnesis.store() as store:
        assert [hit.memory.id for hit in store.hits("Shared", mode="meaning")] == [other.id]
        assert store.ranking.pending() == 0


def test_a_damaged_file_of_vectors_does_not_stop_a_purge(anamnesis: Command) -> None:
    note_id = write(anamnesis)
    (anamnesis.home / "vectors.db").write_bytes(b"no database at all, but long enough to be read as one" * 90)
    done = anamnesis("delete", "--purge", "--yes", "--json", note_id)
    assert done.json["is_erased"] is True
    assert holding(anamnesis.home) == {}
