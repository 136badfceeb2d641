"""The answer of `memory_search` if no note clearly fits, and its explanations."""

from __future__ import annotations

import pytest
from tests.mcp.test_answers import Agent
from tests.store.test_linked import NEWER, OLDER, QUERY, newer, older

from anamnesis.notes.marks import UPDATED_BY, with_link
from anamnesis.store import MemoryStore


@pytest.fixture
def agent(store: MemoryStore) -> Agent:
    store.write(type="semantic", title="Restarting pods", body="kubectl rollout restart deployment web")
    store.write(type="semantic", title="Pancakes", body="Two eggs, flour and milk for a large dinner.")
    return Agent(store)


def test_weak_notes_are_marked_and_a_search_with_only_weak_ones_has_a_notice(agent: Agent) -> None:
    query = "which restaurant did grandmother choose for her birthday dinner in Lisbon?"
    result = agent.result("memory_search", query=query)
    assert [note.get("weak") for note in result["structuredContent"]["result"]] == [True]
    assert result["content"][-1]["text"] == result["structuredContent"]["notice"]
    assert "clearly fits" in result["structuredContent"]["notice"]


def test_a_note_that_fits_is_not_marked(agent: Agent) -> None:
    result = agent.result("memory_search", query="kubernetes")
    assert "weak" not in result["structuredContent"]["result"][0]
    assert "notice" not in result["structuredContent"]
    assert len(result["content"]) == 1


def test_a_search_explains_itself_in_any_mode(agent: Agent) -> None:
    (found,) = agent("memory_search", query="restart", mode="words", explain=True)
    assert found["why"]["words"].keys() == {"restart"}
    assert "fit" not in found
    found = agent("memory_search", query="kubernetes", mode="meaning", explain=True)[0]
    assert found["why"]["passage"].startswith("Restarting pods\nkubectl")
    assert found["fit"] > 0.5


def test_an_unknown_mode_is_refused(agent: Agent) -> None:
    assert agent.result("memory_search", query="x", mode="magic")["isError"]


@pytest.mark.parametrize("mode", ["words", "fused", "meaning"])
def test_an_outdated_note_comes_after_the_newer_one_and_names_it(agent: Agent, store: MemoryStore, mode: str) -> None:
    store.put_all([with_link(older(), UPDATED_BY, NEWER), newer()])
    found = agent("memory_search", query=QUERY, mode=mode)
    assert [(note["id"], note.get("outdated_by")) for note in found[:2]] == [(NEWER, None), (OLDER, NEWER)]
    assert agent("memory_get", id=OLDER)["outdated_by"] == NEWER
