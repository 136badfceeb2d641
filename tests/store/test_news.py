"""A store notifies of checks and changes once per operation, outside of its lock, and not of its listeners' changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from anamnesis.notes import Memory, render
from anamnesis.store import MemoryStore, catalogue
from anamnesis.store.change_log import Written


def note(name: str, body: str = "b") -> Memory:
    return Memory(name, "semantic", "t", body, updated_at="2026-01-01T00:00:00+00:00")


@pytest.fixture
def heard(store: MemoryStore) -> list[str]:
    """The notifications of a store with the notes a and b, from now on."""
    store.put_all([note("a"), note("b")])
    told: list[str] = []
    store.on_change = lambda _: told.append("change")
    return told


CHANGES: dict[str, Callable[[MemoryStore], object]] = {
    "write": lambda store: store.write(type="semantic", title="t", body="b"),
    "put": lambda store: store.put(note("new")),
    "put over another": lambda store: store.put(note("a", "other")),
    "put_all": lambda store: store.put_all(note(f"n{number}") for number in range(3)),
    "update": lambda store: store.update("a", body="other"),
    "move": lambda store: store.move("a", "machine-local"),
    "delete": lambda store: store.delete("a"),
    "reindex": lambda store: store.reindex(),
}


@pytest.mark.parametrize("operation", CHANGES)
def test_an_operation_that_changes_notes_tells_it_once(store: MemoryStore, heard: list[str], operation: str) -> None:
    CHANGES[operation](store)
    assert heard == ["change"]


def test_restoring_tells_it_once(store: MemoryStore, heard: list[str]) -> None:
    store.delete("a")
    store.restore("a")
    assert heard == ["change"] * 2


def test_questions_and_whole_notes_tell_of_no_change(store: MemoryStore, heard: list[str]) -> None:
    store.put_whole([note("a", "other"), note("c")], store.files(["a"]), follower="bridge")
    store.update("a", body="other")
    store.refresh()
    assert store.search("other")
    assert store.list()
    assert store.file("a")
    assert heard == []


def test_others_changes_are_told_by_who_finds_them(store: MemoryStore, heard: list[str]) -> None:
    """A read reports them as a check, so that a listener for changes is not called by reads."""
    looks: list[int] = []
    path = store.memory_dir / "semantic" / "theirs.md"
    path.write_text(render(note("theirs")), "utf-8")
    store.on_refresh = lambda: looks.append(store.count())
    assert store.find("nobody") is None
    assert looks[-1:] == [3]
    looks.clear()
    path.write_text(render(note("theirs", "found by search, in place")), "utf-8")
    assert store.search("b", k=9)
    assert looks
    assert heard == []
    path.write_text(render(note("theirs", "found by refresh")), "utf-8")
    store.refresh()
    assert heard == ["change"]
    path.write_text(render(note("theirs", "received")), "utf-8")
    (store.memory_dir / "semantic" / "second.md").write_text(render(note("second")), "utf-8")
    store.refresh_files(["memory/semantic/theirs.md"])
    assert heard == ["change"] * 2
    assert store.count() == 4


def test_an_operation_that_fails_before_it_changes_anything_tells_nothing(store: MemoryStore, heard: list[str]) -> None:
    with pytest.raises(ValueError, match="title"):
        store.put(Memory("x", "semantic", " ", "b"))
    assert heard == []


def test_the_listener_may_use_the_store_and_does_not_hear_itself(store: MemoryStore, heard: list[str]) -> None:
    """It would block if it were called while the store's lock is held."""

    def listen(_: Written | None) -> None:
        heard.append("change")
        store.put(note("from-listener"))
        store.update("a", title="from listener")
        store.delete("b")

    store.on_change = listen
    store.update("a", body="other")
    assert heard == ["change"]
    assert {memory.id for memory in store.list()} == {"a", "from-listener"}
    assert heard == ["change"]


def test_what_a_listener_raises_costs_no_note_and_no_later_news(store: MemoryStore, heard: list[str]) -> None:
    def fail(_: Written | None) -> None:
        heard.append("change")
        raise ArithmeticError

    store.on_change = fail
    for name in ("x", "y"):
        with pytest.raises(ArithmeticError):
            store.put(note(name))
        assert store.get(name) == note(name)
    assert heard == ["change"] * 2


def test_a_thread_tells_its_changes_while_another_listens(store: MemoryStore) -> None:
    told: list[str] = []

    def listen(_: Written | None) -> None:
        told.append(threading.current_thread().name)
        if len(told) == 1:
            thread = threading.Thread(target=store.put, args=[note("b")], name="other")
            thread.start()
            thread.join()

    store.on_change = listen
    store.put(note("a"))
    assert told == [threading.current_thread().name, "other"]


def test_a_look_is_told_before_the_answer_and_not_more_than_once_a_second(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(catalogue, "time", SimpleNamespace(monotonic=lambda: now))
    store.put(note("a"))
    looks: list[int] = []

    def look() -> None:
        looks.append(store.count())
        store.put_whole([note(f"from-look-{looks[-1]}")], {}, follower="bridge")

    store.on_refresh = look
    for passed in (1.1, 0.9):
        now += passed
        for _ in range(30):
            store.put(note("a"))
            store.count()
    assert len(looks) == 1
    now += 1.1
    looks.clear()
    before = len(list(store.memory_dir.rglob("*.md")))
    assert store.count() == store.count() == before + 1
    assert looks == [before]
