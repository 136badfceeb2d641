"""What is pending between notes and observations: hidden notes without an observation are not."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tests.bridge.memory import Two

from anamnesis.bridge.bridge import Bridge
from anamnesis.bridge.upkeep import read_state
from anamnesis.engram.database import connect, prepare
from anamnesis.notes import Memory
from anamnesis.notes.record import EngramValue
from anamnesis.store import MemoryStore

HIDDEN: dict[str, EngramValue] = {"type": "bugfix", "deleted_at": "2026-03-01 10:00:00"}


def test_hidden_notes_of_a_new_engram_db_are_neither_held_nor_waiting(tmp_path: Path) -> None:
    """As on another machine after a sync: nothing becomes of them, so nobody waits for them."""
    path = tmp_path / "engram.db"
    prepare(path)
    with MemoryStore(tmp_path / "store") as store:
        store.put_all(Memory(f"h{number}", "semantic", "t", "b", engram=HIDDEN) for number in range(5))
        store.put(Memory("shown", "semantic", "t", "b"))
        never = read_state(path, store)
        assert (never.notes, never.waiting.notes) == (1, 1)
        with contextlib.closing(Bridge(store, path, "here")) as bridge:
            assert (bridge.state().notes, bridge.state().waiting.notes) == (1, 1)
            bridge.reconcile()
            assert (bridge.state().notes, bridge.state().waiting.notes) == (1, 0)
            store.log.restart("bridge")
            assert bridge.state().waiting.notes == 1
        with contextlib.closing(connect(path)) as db:
            assert db.execute("SELECT count(*) FROM observations").fetchone() == (1,)


def test_a_note_that_was_hidden_or_removed_waits_for_its_observation(two: Two) -> None:
    for title in ("Hidden", "Removed"):
        two.add(title, f"content of {title}")
    two.agree()
    (hidden,) = [note for note in two.notes() if note.title == "Hidden"]
    two.store.update(hidden.id, engram={**hidden.engram, **HIDDEN})
    two.file_of("Removed").unlink()
    two.store.refresh()
    state = two.bridge.state()
    assert (state.notes, state.waiting.notes) == (0, 2)
