"""The reasons for a hit, and the priors that decide between near-ties."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anamnesis.notes import Memory
from anamnesis.recall.query import MODES, query_terms
from anamnesis.store import MemoryStore
from anamnesis.store.priors import MOST

DAY = "2026-01-{:02}T00:00:00+00:00"
FILLER = "\n".join(f"Line {number} is about the weather of the day and says nothing else." for number in range(40))


def note(name: str, body: str = "kubectl rollout restart deployment web", **fields: Any) -> Memory:
    times = {"created_at": DAY.format(1), "updated_at": DAY.format(1)}
    return Memory(name, "semantic", "Restarting pods", body, **{**times, **fields})


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path)


def test_the_parts_sum_up_to_the_score_and_the_words_to_their_bm25(store: MemoryStore) -> None:
    store.put_all([note("pods"), note("cake", "eggs, flour"), note("long", f"{FILLER}\nkubernetes restart\n{FILLER}")])
    for mode in MODES:
        hits = store.hits("restart the kubernetes deployment", mode=mode, explain=True)
        assert hits
        for hit in hits:
            assert hit.why
            assert sum(hit.why.parts.values()) == pytest.approx(hit.score, abs=1e-4)
            if mode == "words":
                assert sum(hit.why.words.values()) == pytest.approx(hit.score)
    assert all(hit.why is None for hit in store.hits("restart"))


def test_a_note_that_holds_every_word_of_the_query_gets_something_for_that(store: MemoryStore) -> None:
    """Two words of a note name it, in a memory of thousands too, where other notes are closer in meaning."""
    store.put_all([note("pods"), note("one", "kubectl get pods"), note("cake", "eggs and flour for a deployment")])
    whys = {hit.memory.id: hit.why for hit in store.hits("kubectl deployment", explain=True)}
    assert {id: "every word" in why.parts for id, why in whys.items() if why} == {
        "pods": True,
        "one": False,
        "cake": False,
    }
    assert not any(hit.why and "every word" in hit.why.parts for hit in store.hits("kubectl sonata", explain=True))


def test_the_passage_is_the_one_that_is_closest(store: MemoryStore) -> None:
    store.put_all([note("long", f"{FILLER}\nThe lock of the database is released by a checkpoint.\n{FILLER}")])
    (hit,) = store.hits("sqlite lock", explain=True)
    assert hit.why
    assert "released by a checkpoint" in hit.why.passage
    assert len(hit.why.passage.split()) < 120


def test_a_note_that_is_not_embedded_yet_explains_its_words(store: MemoryStore) -> None:
    store.put(note("pods"))
    store.ranking.embed_seconds, store.ranking.wake = 0, lambda: None
    (hit,) = store.hits("kubectl", explain=True)
    assert hit.why
    assert hit.why.words.keys() == {"kubectl"}
    assert hit.why.passage == ""


@pytest.mark.parametrize(
    "better",
    [
        {"updated_at": DAY.format(28)},
        {"confidence": 1.0},
        {"engram": {"strength": "0.9"}},
        {"project": "github.com/acme/web"},
    ],
    ids=["newer", "surer", "stronger", "of the project at hand"],
)
def test_of_notes_that_match_alike_the_better_one_comes_first(store: MemoryStore, better: dict[str, Any]) -> None:
    store.put_all([note("a", **{"confidence": 0.5, **better}), note("b", confidence=0.5)])
    assert [hit.memory.id for hit in store.hits("kubernetes", at_hand="github.com/acme/web")] == ["a", "b"]


def test_no_prior_moves_a_note_past_one_that_is_clearly_better(store: MemoryStore) -> None:
    """All priors together add less than a fiftieth to a score."""
    assert MOST <= 0.02
    favoured = note("b", "docker compose restart", updated_at=DAY.format(28), project="web")
    store.put_all([note("a", confidence=0.0), favoured])
    first, second = store.hits("kubectl restart", at_hand="web", explain=True)
    assert (first.memory.id, second.memory.id) == ("a", "b")
    assert second.why
    priors = ("recent", "sure", "strong", "at hand")
    assert sum(second.why.parts.get(name, 0) for name in priors) <= MOST


def test_a_filter_by_project_leaves_nothing_at_hand(store: MemoryStore) -> None:
    store.put(note("a", project="web"))
    (hit,) = store.hits("kubectl", project="web", at_hand="web", explain=True)
    assert hit.why
    assert "at hand" not in hit.why.parts


@pytest.mark.parametrize("moment", ["", "yesterday", "2026-01-01", "0001-01-01T00:00:00+00:00"])
def test_a_time_that_cannot_be_read_is_not_recent(store: MemoryStore, moment: str) -> None:
    path = store.memory_dir / "semantic" / "x.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nid: x\ntype: semantic\ntitle: Pods\nupdated_at: {moment!r}\n---\nkubectl\n")
    store.refresh()
    assert [hit.memory.id for hit in store.hits("kubectl")] == ["x"]


def test_words_count_in_a_project_whatever_other_projects_hold(store: MemoryStore) -> None:
    """The weight of a word is bounded by the score of a note with every word."""
    others = [
        note(f"o{number}", f"gateway {number}" if number < 10 else f"text {number}", project="other")
        for number in range(40)
    ]
    store.put_all(
        [*others, note("a", "the gateway", project="mine"), note("b", "a proxy for requests", project="mine")]
    )
    first = store.hits("gateway", project="mine", explain=True)[0]
    assert first.memory.id == "a"
    assert first.why
    assert 0 < first.why.parts["words"] + first.why.parts["passage"] <= 4.0


@pytest.mark.parametrize("query", ["", "  ", "?!", '""', "the of", '"busy timeout"', "word " * 10_000, "\0", "漢字"])
@pytest.mark.parametrize("notes", [0, 1, 2, 3])
def test_any_query_has_an_answer_in_a_memory_of_hardly_any_notes(store: MemoryStore, notes: int, query: str) -> None:
    store.put_all([note(f"n{number}", f"Set busy timeout {number}") for number in range(notes)])
    hits = store.hits(query, explain=True)
    assert not hits or query_terms(query).terms
    for hit in hits:
        assert hit.score == hit.score
        assert hit.fit is not None
        assert 0 <= hit.fit <= 1


@pytest.mark.parametrize("notes", [2, 3, 5])
def test_an_exact_identifier_comes_first_in_a_small_memory(store: MemoryStore, notes: int) -> None:
    names = ["find_user_by_id", "find_user_by_name", "find_group_by_id", "delete_user", "rename_user"]
    store.put_all(note(name, f"Call {name} of accounts.py.") for name in names[:notes])
    for name in names[:notes]:
        best = store.hits(f'"{name}"')[0]
        assert (best.memory.id, best.is_weak) == (name, False)
