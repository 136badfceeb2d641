"""What went as a whole was not deleted note by note: a folder of notes, or a home brought back from an older copy."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bridge.memory import Two, connected, observations_of

from anamnesis.engram.database import connect
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore


@pytest.fixture
def home(two: Two) -> Path:
    """A home with a note of its own and one of an observation, which nobody has open."""
    two.add("Observed", "of engram")
    two.store.put(Memory("written", "semantic", "Written", "by hand", tags=["sea"]))
    two.store.put(Memory("private", "semantic", "Private", "stays", scope="machine-local"))
    two.agree()
    two.bridge.close()
    two.store.close()
    return two.store.root


@contextlib.contextmanager
def opened(two: Two) -> Iterator[MemoryStore]:
    with connected(two.store.root, two.path) as vault:
        vault.notes.refresh()
        vault.reconcile()
        yield vault.notes


def live(two: Two) -> set[str]:
    with contextlib.closing(connect(two.path)) as db:
        return {row.title for row in observations_of(db).values() if not row.deleted_at}


@pytest.mark.parametrize("how", ["removed", "emptied", "away", "without an index"])
def test_a_folder_of_notes_that_has_gone_comes_back(two: Two, home: Path, how: str) -> None:
    memory = home / "memory"
    if how == "away":
        memory.rename(home / "elsewhere")
    else:
        shutil.rmtree(memory)
    if how == "emptied":
        memory.mkdir()
    if how == "without an index":
        (home / "index.db").unlink()
    with opened(two) as store:
        assert {note.title for note in store.list()} == {"Observed", "Written", "Private"}
        assert store.get("written").tags == ["sea"]
    assert live(two) == {"Observed", "Written", "Private"}


def test_more_notes_come_back_than_are_taken_over_at_a_time(two: Two, home: Path) -> None:
    with opened(two) as store:
        store.put_all(Memory(f"n{number}", "semantic", f"N {number}", "many") for number in range(450))
    shutil.rmtree(home / "memory")
    with opened(two) as store:
        assert store.count() == 453
    assert len(live(two)) == 453


def test_a_folder_that_goes_under_a_running_bridge_comes_back(two: Two, home: Path) -> None:
    with connected(two.store.root, two.path) as vault:
        shutil.rmtree(home / "memory")
        vault.notes.refresh()
        vault.follow(100)
        vault.reconcile()
        assert {note.title for note in vault.list()} == {"Observed", "Written", "Private"}
    assert live(two) == {"Observed", "Written", "Private"}


def test_a_file_that_has_gone_from_its_folder_is_deleted_be_it_the_last(two: Two, home: Path) -> None:
    for path in (home / "memory").rglob("*.md"):
        path.unlink()
    with opened(two) as store:
        assert {note.title for note in store.list()} == {"Private"}
    assert live(two) == {"Private"}


@pytest.mark.parametrize("has_index", [True, False])
def test_an_older_copy_of_a_home_takes_nothing_away(two: Two, home: Path, has_index: bool) -> None:
    copy = home.with_name("copy")
    shutil.copytree(home, copy)
    with opened(two) as store:
        store.write(type="semantic", title="Late", body="since then", tags=["new"])
        store.update("written", body="changed since then")
    shutil.rmtree(home)
    copy.rename(home)
    if not has_index:
        (home / "index.db").unlink()
    with opened(two) as store:
        notes = {note.title: note for note in store.list()}
        assert notes.keys() == {"Observed", "Written", "Private", "Late"}
        assert store.get(notes["Written"].id).body == "changed since then"
        assert store.get(notes["Late"].id).tags == ["new"]
    assert live(two) == {"Observed", "Written", "Private", "Late"}


def test_a_home_that_was_lost_comes_back_with_what_engram_has_no_place_for(two: Two, home: Path) -> None:
    shutil.rmtree(home)
    with opened(two) as store:
        assert store.get("written").tags == ["sea"]
        assert store.get("private").scope == "machine-local"
        assert store.count() == 3
