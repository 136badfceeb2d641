"""`anamnesis dream` finds the working copies by itself, and stops in them when it has to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.dream.repositories import PROJECT, Repository, found, note, run

from anamnesis.dream.cycle import Options, Stopped, dream
from anamnesis.dream.undoing import undo
from anamnesis.notes.marks import STALE, marks_of
from anamnesis.store import MemoryStore


def stale_notes(command: Command) -> list[str]:
    shown = command("dream", "--dry-run", "--json")
    assert shown.code == 0, shown.err
    return [id for each in shown.json["proposals"] if each["kind"] == "stale" for id in each["notes"]]


def removed_file(folder: Path, home: Path) -> str:
    """A repository in a folder without a file that a note names; returns the id of the note."""
    repository = Repository(folder)
    repository.commit(0, {"src/cart.py": "x\n"})
    with MemoryStore(home) as store:
        written = note(store, "The cart is in src/cart.py.", 1)
    repository.commit(2, {"src/cart.py": None})
    return written.id


def test_a_dream_looks_at_the_working_copy_that_a_hook_has_seen(tmp_path: Path) -> None:
    command = Command(tmp_path)
    written = removed_file(tmp_path / "shop", command.home)
    assert stale_notes(command) == []
    event = {"session_id": "s", "cwd": str(tmp_path / "shop"), "hook_event_name": "x"}
    assert command("inject", stdin=json.dumps(event)).code == 0
    assert stale_notes(command) == [written]
    assert command("dream").code == 0
    with MemoryStore(command.home) as store:
        assert "src/cart.py was removed in" in marks_of(store.get(written))[STALE]


def test_a_dream_by_hand_looks_at_the_working_copy_of_its_folder(tmp_path: Path) -> None:
    command = Command(tmp_path)
    written = removed_file(tmp_path / "shop", command.home)
    assert stale_notes(command) == []
    command.folder = tmp_path / "shop"
    assert stale_notes(command) == [written]


@pytest.mark.parametrize("calls", range(1, 12, 2))
def test_a_dream_stops_in_a_working_copy_and_the_next_one_goes_on(
    store: MemoryStore, tmp_path: Path, calls: int
) -> None:
    removed_file(tmp_path / "shop", store.root)
    store.refresh()
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) >= calls

    try:
        dream(store, Options(folders={PROJECT: tmp_path / "shop"}, stop=stop))
    except Stopped:
        assert len(found(run(store, tmp_path / "shop"))) == 1


def test_what_was_undone_is_not_marked_again(store: MemoryStore, tmp_path: Path) -> None:
    id = removed_file(tmp_path / "shop", store.root)
    store.refresh()
    outcome = run(store, tmp_path / "shop")
    assert outcome.change
    undo(store, outcome.change)
    assert STALE not in marks_of(store.get(id))
    for _ in range(2):
        assert run(store, tmp_path / "shop").decided.applied == []
    assert STALE not in marks_of(store.get(id))
