"""Notes that Engram soft-deleted: no query shows them, and nothing of them is lost."""

from __future__ import annotations

from operator import methodcaller
from typing import Any

import pytest

from anamnesis.inject import select_inject, select_recall
from anamnesis.notes import Memory, render
from anamnesis.store import MemoryStore
from anamnesis.store.lookup import named

DELETED = {"type": "bugfix", "deleted_at": "2026-03-01 10:00:00"}
STAMP = "2026-02-01T00:00:00+00:00"


def note(name: str, **fields: Any) -> Memory:
    values: dict[str, Any] = {
        "id": name,
        "type": "semantic",
        "title": f"lantern {name}",
        "body": "the harbour lantern of the town",
    }
    return Memory(**{**values, "created_at": STAMP, "updated_at": STAMP, **fields})


@pytest.fixture
def harbour(store: MemoryStore) -> MemoryStore:
    """One note that is shown, one that is hidden."""
    hidden = note("hidden", engram=DELETED, tags=["sea"], supersedes="shown", project="github.com/a/b")
    store.put_all([note("shown", tags=["sea"]), hidden])
    return store


def test_no_question_shows_a_hidden_note(harbour: MemoryStore) -> None:
    assert [memory.id for memory in harbour.search("lantern harbour", mode="words")] == ["shown"]
    assert [hit.memory.id for hit in harbour.hits("lantern", type="semantic", mode="words")] == ["shown"]
    assert harbour.hits("lantern", project="github.com/a/b", mode="words") == []
    assert [memory.id for memory in harbour.list()] == ["shown"]
    assert harbour.list(project="github.com/a/b") == []
    assert (harbour.count(), harbour.count(type="semantic"), harbour.count(project="github.com/a/b")) == (1, 1, 0)
    assert harbour.stats().total == 1
    assert harbour.stats().by_project == {"global": 1}
    assert harbour.activity("2026-01-01") == {"2026-02-01": 1}
    assert harbour.tagged("sea") == ["shown"]


def test_a_hidden_note_is_not_told_to_an_agent(harbour: MemoryStore) -> None:
    assert [memory.id for memory in select_inject(harbour, project="github.com/a/b")] == ["shown"]
    told = select_recall(harbour, "the harbour lantern of the town", project="github.com/a/b", known=set())
    assert "hidden" not in [memory.id for memory in told]


def test_a_hidden_note_supersedes_nothing(harbour: MemoryStore) -> None:
    assert harbour.superseded_ids() == set()


def test_hidden_notes_do_not_weigh_words(store: MemoryStore) -> None:
    store.put_all([note(f"n{number}", body=f"word{number}") for number in range(5)])
    before = store.coverage(["word1", "lantern", "unheard"], ["n1"])
    store.put_all([note(f"h{number}", body="word1", engram=DELETED) for number in range(50)])
    assert store.coverage(["word1", "lantern", "unheard"], ["n1"]) == before


def test_a_hidden_note_is_there_for_who_asks_for_it(harbour: MemoryStore) -> None:
    assert harbour.get("hidden").engram == DELETED
    assert harbour.find("hidden") == harbour.get("hidden")
    assert [note.id for note in named(harbour, "hid")] == ["hidden"]
    found = harbour.file("hidden")
    assert found
    assert found.memory == harbour.get("hidden")
    assert harbour.update("hidden", title="renamed").engram == DELETED
    harbour.delete("hidden")
    assert harbour.restore("hidden").title == "renamed"
    assert harbour.problems() == []


def test_a_second_file_of_a_hidden_note_is_a_problem(harbour: MemoryStore) -> None:
    (harbour.memory_dir / "copy.md").write_text(render(note("hidden", updated_at="2020-01-01T00:00:00+00:00")), "utf-8")
    harbour.refresh()
    assert [problem.path for problem in harbour.problems()] == ["memory/copy.md"]
    assert harbour.count() == 1


def test_a_note_is_hidden_and_shown_again_as_its_file_says(harbour: MemoryStore) -> None:
    harbour.put_whole([note("hidden"), note("shown", engram=DELETED)], harbour.files(["hidden", "shown"]), follower="x")
    assert [memory.id for memory in harbour.search("lantern", mode="words")] == ["hidden"]
    shown = note("shown", engram={**DELETED, "deleted_at": None})
    harbour.put_whole([shown], harbour.files(["shown"]), follower="x")
    assert {memory.id for memory in harbour.search("lantern", mode="words")} == {"hidden", "shown"}
    assert harbour.count() == len(harbour.list()) == 2


def test_a_reindex_finds_the_same_notes_hidden(harbour: MemoryStore) -> None:
    assert harbour.reindex() == 1
    assert [memory.id for memory in harbour.list()] == ["shown"]
    assert harbour.get("hidden").is_hidden


def test_an_index_of_the_release_before_is_rebuilt_with_hidden_notes(harbour: MemoryStore) -> None:
    harbour._index.write(lambda db: db.execute("PRAGMA user_version = 10") and None)
    harbour.close()
    with MemoryStore(harbour.root) as again:
        assert [memory.id for memory in again.list()] == ["shown"]


def test_counting_reads_an_index_only(store: MemoryStore) -> None:
    plans = [
        "SELECT count(*) FROM memories AS m WHERE m.deleted_at IS NULL",
        "SELECT count(*) FROM memories AS m WHERE m.deleted_at IS NULL AND m.project = 'p'",
        "SELECT count(*) FROM memories AS m WHERE m.deleted_at IS NULL AND m.type = 't' AND m.scope = 's'",
    ]
    for query in plans:
        [plan] = store._index.read(methodcaller("execute", f"EXPLAIN QUERY PLAN {query}"))
        assert "COVERING INDEX" in plan[3]


def test_a_hidden_note_that_was_deleted_too_is_shown_when_it_is_restored(harbour: MemoryStore) -> None:
    harbour.delete("hidden")
    assert not harbour.restore("hidden").is_hidden
    assert "hidden" in {memory.id for memory in harbour.list()}
