"""The kind and the depth of notes, their priority, and types that are clearly wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dream.repositories import found, note, run

from anamnesis.dream.kinds import KINDS, Kind, depth_of, kind_of, mistyped
from anamnesis.dream.priority import WEIGHTS, priority
from anamnesis.notes import TYPES, Memory
from anamnesis.store import MemoryStore

CAPTURED = "**Ask:** Fix the cart\n\n**Outcome:** It is fixed."


def of(body: str, type: str = "semantic", **fields: object) -> Memory:
    return Memory("X", type, "A title", body, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("memory", "kind", "depth"),
    [
        (of("Always run the linter first."), "Directive", 3),
        (of("Oscar prefers short functions."), "Preference", 3),
        (of("We decided to use SQLite."), "Decision", 3),
        (of("The root cause was a missing index."), "Bug", 2),
        (of("The daemon listens on port 7437."), "Config", 2),
        (of("The cart has three parts."), "Reference", 3),
        (of("First build, then ship.", "procedural"), "Heuristic", 2),
        (of("We talked.", "episodic"), "Session", 1),
        (of(CAPTURED), "Session", 1),
        (of("Whatever.", engram={"type": "bugfix"}), "Bug", 2),
        (of("Whatever.", tags=["Decision"]), "Decision", 3),
        (of("Always look.", engram={"type": "session_summary"}), "Session", 1),
    ],
)
def test_the_kind_and_the_depth_of_a_note(memory: Memory, kind: Kind, depth: int) -> None:
    assert kind_of(memory) == kind
    assert depth_of(memory) == depth


@given(st.text(max_size=200), st.sampled_from(TYPES), st.lists(st.sampled_from(["decision", "x", "session"])))
def test_every_note_has_a_kind_with_a_weight(body: str, type: str, tags: list[str]) -> None:
    memory = of(body, type, tags=tags)
    assert kind_of(memory) in KINDS
    assert depth_of(memory) in (1, 2, 3)
    assert 0 < WEIGHTS[kind_of(memory)] <= 1


@given(st.floats(0, 1e4), st.integers(1, 50), st.integers(1, 50), st.frozensets(st.sampled_from("abcdef")))
def test_a_priority_falls_with_age_and_likeness_and_rises_with_changes(
    age: float, revisions: int, duplicates: int, words: frozenset[str]
) -> None:
    counts = {"revision_count": revisions, "duplicate_count": duplicates}
    memory = of("The cart has three parts.", engram=counts)
    more = of("The cart has three parts.", engram={**counts, "revision_count": revisions + 1})
    value = priority(memory, age, [], words).value
    assert value == pytest.approx(2 * priority(memory, age + 7, [], words).value)
    assert value <= priority(more, age, [], words).value
    assert value >= priority(memory, age, [frozenset("abc")], words).value
    assert priority(memory, age, [words], words).value == 0
    assert priority(of("x"), 0).changes == 1


def test_only_what_is_clearly_of_another_type_is_proposed() -> None:
    plain = [of("We decided to use SQLite."), of("We talked about carts.", "episodic"), of(CAPTURED, "episodic")]
    captured = of("Always run it.", "episodic", prov_source="session-end", tags=["session"])
    assert [*mistyped([*plain, captured])] == []
    record, summary, rule = mistyped(
        [
            of(CAPTURED),
            of("## Goal\nShip.\n\n## Accomplished\nShipped.", "procedural"),
            of("Always run the linter. Never push on Fridays.", "episodic"),
        ]
    )
    assert (record.after[0].type, record.confidence >= 0.8) == ("episodic", True)
    assert (summary.after[0].type, summary.confidence >= 0.8) == ("episodic", False)
    assert (rule.after[0].type, rule.confidence >= 0.8) == ("procedural", False)


def test_a_captured_session_among_the_durable_notes_becomes_an_episode(store: MemoryStore) -> None:
    written = note(store, CAPTURED, 1)
    assert len(found(run(store, store.root), "classify")) == 1
    after = store.get(written.id)
    assert (after.type, after.body, after.updated_at) == ("episodic", written.body, written.updated_at)
    assert found(run(store, store.root), "classify") == []
