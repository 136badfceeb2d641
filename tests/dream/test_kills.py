"""After a kill at any point of a cycle or an undo, the next opening finds all of its changes or none."""

from __future__ import annotations

import contextlib
import multiprocessing
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

import pytest
from tests.dream.memory import propose, tree, write
from tests.killing import fork, wait_for

from anamnesis.dream.cycle import Options, dream
from anamnesis.dream.proposal import Proposal
from anamnesis.dream.undoing import undo
from anamnesis.store import MemoryStore, changeset
from anamnesis.store.question import Mode

# Each run is a process that does a few hundred operations; with a stride and two starts, all kinds are met.
STRIDE = 5
MERGED = "01JD0000000000000000000000"
WORD = "lighthouse"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two notes that say the same, and two that a proposal makes a new note of."""
    root = tmp_path_factory.mktemp("memory") / "home"
    with MemoryStore(root) as store:
        apart = [write(store, f"The {WORD} is {colour}.") for colour in ("red", "white")]
        dream(store, Options())
        merged = replace(apart[0], id=MERGED, body=f"The {WORD} is red and white.", supersedes=[n.id for n in apart])
        write(store)
        write(store)
        propose(store, Proposal("test", tuple(note.id for note in apart), "", 1.0, (merged,)))
    return root


def _dream(root: Path) -> None:
    with MemoryStore(root) as store:
        dream(store, Options(share=1))


def _undo(root: Path) -> None:
    with MemoryStore(root) as store:
        undo(store, next(change for change in changeset.changes(store) if change.files))


def _killed(memory: Path, folder: Path, work: Callable[[Path], None]) -> Iterator[Path]:
    """The memory after the work was killed at one point after the other, until it was not."""
    number = 1
    is_killed = True
    while is_killed:
        home = folder / str(number)
        shutil.copytree(memory, home)
        is_killed = wait_for(fork(lambda home=home: work(home), number))  # type: ignore[misc]
        yield home
        shutil.rmtree(home)
        number += STRIDE


def test_a_cycle_that_is_killed_has_done_nothing_or_all(memory: Path, tmp_path: Path) -> None:
    before = tree(MemoryStore(memory))
    states = set()
    for home in _killed(memory, tmp_path, _dream):
        with MemoryStore(home) as store:
            found = tree(store)
            states.add(len(found))
            assert {path: data for path, data in found.items() if path in before} == before or len(found) == 5
            assert len(store.superseded_ids()) == (3 if len(found) == 5 else 0)
            assert not changeset.is_pending(store)
            assert {note.body for note in store.search(WORD)}
            dream(store, Options(share=1))
            assert len(store.search("tunnel migration")) == 1, "what was killed is done by the next"
            assert not store.problems()
    assert states == {4, 5}


def test_an_undo_that_is_killed_has_done_nothing_or_all_after_it_is_opened(memory: Path, tmp_path: Path) -> None:
    before = tree(MemoryStore(memory))
    shutil.copytree(memory, tmp_path / "dreamt")
    _dream(tmp_path / "dreamt")
    after = tree(MemoryStore(tmp_path / "dreamt"))
    assert len(after) == 5
    for home in _killed(tmp_path / "dreamt", tmp_path, _undo):
        with MemoryStore(home) as store:
            found = tree(store)
            assert found in (before, after)
            change = next(change for change in changeset.changes(store) if change.files)
            assert change.state == ("done" if found == after else "undone")
            if change.state == "done":
                undo(store, change)
            assert tree(store) == before
            assert not dream(store, Options(share=1)).decided.applied, "also if it was killed, an undo is a rejection"


def _search(root: Path, mode: Mode, rounds: Synchronized[int], misses: Synchronized[int]) -> None:
    with MemoryStore(root) as store:
        while rounds.value >= 0:
            if not store.search(WORD, mode=mode):
                misses.value += 1
            rounds.value += 1 if rounds.value >= 0 else 0


@pytest.mark.parametrize("mode", ["words", "fused"])
def test_whoever_searches_meanwhile_finds_the_merged_note_or_its_sources(
    memory: Path, tmp_path: Path, mode: str
) -> None:
    """At all times, also during the undo."""
    home = tmp_path / "home"
    shutil.copytree(memory, home)
    context = multiprocessing.get_context("spawn")
    rounds, misses = context.Value("i", 0), context.Value("i", 0)
    searcher = context.Process(target=_search, args=(home, mode, rounds, misses))
    searcher.start()
    with MemoryStore(home) as store, contextlib.ExitStack() as ended:
        ended.callback(searcher.join)
        ended.callback(lambda: setattr(rounds, "value", -(10**6)))
        notes = [note for note in store.list() if WORD in note.body]
        merged = replace(notes[0], id=MERGED, supersedes=[note.id for note in notes])
        done = 0
        while done < 20 or rounds.value < 50:
            change = changeset.apply(store, [merged], kind="dream", reason="Test.", ready=store.ranking.embed_few)
            assert [note.id for note in store.search(WORD)] == [MERGED]
            changeset.undo(store, change.id)
            assert len(store.search(WORD)) == 2
            done += 1
        assert misses.value == 0
