"""Of two files with one id, one is the standing file; both are kept, and the other replaces it when it is removed."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from anamnesis.notes import Memory
from anamnesis.store import MemoryStore


def copy(store: MemoryStore, path: str, body: str, updated_at: str, **fields: str) -> Path:
    lines = {"id": "x", "type": "semantic", "title": body, "updated_at": updated_at, **fields}
    front = "".join(f"{name}: {value}\n" for name, value in lines.items())
    file = store.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\n{front}---\n{body}\n", "utf-8")
    return file


def standing(store: MemoryStore) -> str:
    """The body that get, list and search agree on."""
    (found,) = store.search("alpha beta gamma")
    assert [found] == store.list() == [store.get("x")]
    return found.body


@pytest.mark.parametrize("order", list(permutations(["alpha", "beta", "gamma"])))
def test_the_newest_file_stands_for_the_note_in_whatever_order_they_come(store: MemoryStore, order: list[str]) -> None:
    days = {"alpha": "2026-01-01", "beta": "2026-01-03", "gamma": "2026-01-02"}
    for name in order:
        copy(store, f"memory/semantic/{name}.md", name, days[name])
        store.refresh()
    assert standing(store) == "beta"
    store.reindex()
    assert standing(store) == "beta"


def test_of_equally_new_files_the_one_in_its_proper_place_stands(store: MemoryStore) -> None:
    copy(store, "memory/semantic/z.md", "alpha", "2026-01-01")
    copy(store, "memory/semantic/x.md", "beta", "2026-01-01")
    copy(store, "memory/zzz.md", "gamma", "2026-01-01")
    store.refresh()
    assert standing(store) == "beta"
    store.reindex()
    assert standing(store) == "beta"


def test_the_other_file_is_kept_and_reported(store: MemoryStore) -> None:
    older = copy(store, "memory/semantic/copy.md", "alpha", "2026-01-01")
    copy(store, "memory/semantic/x.md", "beta", "2026-01-02")
    store.refresh()
    (problem,) = store.problems()
    assert problem.path == "memory/semantic/copy.md"
    assert "memory/semantic/x.md" in problem.reason
    store.update("x", title="new")
    assert older.read_text("utf-8").endswith("alpha\n")


def test_the_second_file_takes_over_when_the_first_goes(store: MemoryStore) -> None:
    copy(store, "memory/semantic/copy.md", "alpha", "2026-01-01")
    first = copy(store, "memory/semantic/x.md", "beta", "2026-01-02")
    store.refresh()
    first.unlink()
    store.refresh()
    assert standing(store) == "alpha"
    assert store.problems() == []


def test_the_second_file_takes_over_in_the_search_that_misses_the_first(store: MemoryStore) -> None:
    copy(store, "memory/semantic/copy.md", "alpha beta", "2026-01-01")
    first = copy(store, "memory/semantic/x.md", "beta", "2026-01-02")
    store.refresh()
    first.unlink()
    assert [memory.body for memory in store.search("beta")] == ["alpha beta"]


def test_the_second_file_takes_over_when_the_first_becomes_older(store: MemoryStore) -> None:
    copy(store, "memory/semantic/copy.md", "alpha", "2026-01-02")
    copy(store, "memory/semantic/x.md", "beta", "2026-01-03")
    store.refresh()
    copy(store, "memory/semantic/x.md", "gamma", "2026-01-01")
    store.refresh()
    assert standing(store) == "alpha"


def test_the_second_file_takes_over_when_the_first_becomes_another_note(store: MemoryStore) -> None:
    copy(store, "memory/semantic/copy.md", "alpha", "2026-01-01")
    first = copy(store, "memory/semantic/x.md", "beta", "2026-01-02")
    store.refresh()
    first.write_text("---\nid: y\ntype: semantic\ntitle: t\n---\ndelta\n", "utf-8")
    store.refresh()
    assert {memory.id: memory.body for memory in store.list()} == {"x": "alpha", "y": "delta"}


def test_the_second_file_takes_over_when_the_first_becomes_unreadable(store: MemoryStore) -> None:
    copy(store, "memory/semantic/copy.md", "alpha", "2026-01-01")
    first = copy(store, "memory/semantic/x.md", "beta", "2026-01-02")
    store.refresh()
    first.write_text("<<<<<<< HEAD\n", "utf-8")
    store.refresh()
    assert [memory.body for memory in store.search("alpha beta")] == ["alpha"]


def test_a_copy_in_the_other_tree_counts_as_a_second_file(store: MemoryStore) -> None:
    copy(store, "local/semantic/x.md", "alpha", "2026-01-01")
    copy(store, "memory/semantic/x.md", "beta", "2026-01-02")
    store.refresh()
    assert standing(store) == "beta"
    store.put(Memory("x", "semantic", "t", "gamma", updated_at="2026-01-03"))
    assert standing(store) == "gamma"
    assert (store.local_dir / "semantic" / "x.md").exists()
