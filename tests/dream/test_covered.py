"""Episodes whose statements durable notes hold are no longer injected, but are still found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.dream.test_chains import kinds, texts

from anamnesis.dream.cycle import Options, dream
from anamnesis.dream.undoing import undo
from anamnesis.inject import select_inject
from anamnesis.notes import Memory
from anamnesis.notes.marks import COVERED_BY, EDITED_BY, SOURCES, linked, with_link, with_mark
from anamnesis.store import MemoryStore

EPISODE, RULE, CAUSE = "01JEEEEEEEEEEEEEEEEEEEEEEE", "01JDDDDDDDDDDDDDDDDDDDDDDD", "01JCCCCCCCCCCCCCCCCCCCCCCC"
STATED = (
    "Migrations must be run before the workers start.",
    "The uploads failed because the proxy cut bodies at 1 MB.",
)
BODY = f"""**Ask:** Why do the uploads fail?

**Files touched (1):**
- proxy.conf
**Causes and fixes:**
- {STATED[1]}
**Rules and caveats:**
- {STATED[0]} (user)

**Outcome:** Done. All tests pass."""


def note(id: str, body: str, kind: str = "semantic", day: int = 1, **changes: object) -> Memory:
    stamp = f"2026-04-{day:02d}T10:00:00+00:00"
    source = "session-end" if kind == "episodic" else "reflection"
    made = Memory(id, kind, "Uploads and workers", body, "acme", created_at=stamp, updated_at=stamp, prov_source=source)
    return replace(made, **changes)  # type: ignore[arg-type]


def episode(body: str = BODY, **changes: object) -> Memory:
    return note(EPISODE, body, "episodic", 2, **changes)


RULES = note(RULE, f"How to deploy. {STATED[0]} The order matters.", "procedural")
CAUSES = note(CAUSE, STATED[1])


def test_an_episode_that_durable_notes_hold_leaves_injection_and_stays_found(store: MemoryStore) -> None:
    store.put_all([episode(), RULES, CAUSES])
    assert EPISODE in {each.id for each in select_inject(store, project="acme")}
    assert kinds(dream(store, Options(phases=("prune",)))) == ["covered"]

    marked = store.get(EPISODE)
    assert linked(marked, COVERED_BY) == [CAUSE, RULE]
    assert marked.tags == ["reflected"]
    assert (marked.updated_at, marked.body) == (episode().updated_at, BODY)
    assert EPISODE not in {each.id for each in select_inject(store, project="acme")}
    assert EPISODE in {each.id for each in store.search("uploads proxy", mode="words")}
    assert kinds(dream(store, Options())) == []


@pytest.mark.parametrize(
    "notes",
    [
        [episode(), RULES],
        [episode(), CAUSES, note(RULE, "Migrations must not be run before the workers start.")],
        [episode(), RULES, note(CAUSE, STATED[1].replace("1 MB", "8 MB"))],
        [episode(), RULES, replace(CAUSES, project="other")],
        [episode(), RULES, replace(CAUSES, type="episodic")],
        [episode(BODY + "\n\n**Next:** write the test of the proxy."), RULES, CAUSES],
        [episode("**Ask:** Look around.\n\n**Outcome:** Looked at the proxy."), RULES, CAUSES],
        [episode(BODY.replace("Done.", "The proxy now streams every body to the store of uploads.")), RULES, CAUSES],
        [episode(prov_source="human"), RULES, CAUSES],
        [with_mark(episode(), EDITED_BY, "human"), RULES, CAUSES],
    ],
    ids=[
        "one statement is held",
        "the opposite is held",
        "another number is held",
        "another project holds it",
        "another episode holds it",
        "something was left open",
        "nothing is stated",
        "its outcome says more",
        "a person wrote it",
        "a person edited it",
    ],
)
def test_an_episode_that_says_more_is_left_alone(store: MemoryStore, notes: list[Memory]) -> None:
    store.put_all(notes)
    outcome = dream(store, Options(phases=("prune",)))
    assert [*outcome.decided.applied, *outcome.decided.review] == []


def test_an_agents_episode_is_covered_only_if_every_sentence_is_held(store: MemoryStore) -> None:
    own = episode(" ".join(STATED), prov_source="human", prov_model="some-model")
    store.put_all([own, RULES, CAUSES])
    assert kinds(dream(store, Options(phases=("prune",)))) == ["covered"]
    more = replace(own, id="01JFFFFFFFFFFFFFFFFFFFFFFF", body=f"{own.body} The parser was split into three modules.")
    store.put(more)
    assert kinds(dream(store, Options(phases=("prune",)))) == []


def test_a_durable_note_that_comes_later_covers_an_episode(store: MemoryStore) -> None:
    store.put_all([episode(), RULES])
    assert kinds(dream(store, Options())) == []
    store.put(CAUSES)
    assert kinds(dream(store, Options())) == ["covered"]


def test_the_link_to_a_durable_note_that_is_gone_is_removed(store: MemoryStore) -> None:
    store.put_all([episode(), RULES, CAUSES])
    dream(store, Options())
    store.delete(CAUSE)
    assert kinds(dream(store, Options())) == ["resolved"]
    assert linked(store.get(EPISODE), COVERED_BY) == [RULE]


def test_an_episode_is_uncovered_when_its_durable_note_says_something_else(store: MemoryStore) -> None:
    store.put_all([episode(), RULES, CAUSES])
    before = texts(store.root)
    dream(store, Options())
    store.put(replace(CAUSES, body="The proxy was replaced.", updated_at="2026-04-09T10:00:00+00:00"))
    assert kinds(dream(store, Options())) == ["uncovered"]
    assert texts(store.root)[f"{EPISODE}.md"] == before[f"{EPISODE}.md"]


def test_what_a_reflection_says_in_other_words_stays_covered(store: MemoryStore) -> None:
    derived = with_link(note(RULE, "Start workers after migrations."), SOURCES, EPISODE)
    folded = with_link(episode(tags=["reflected"]), COVERED_BY, RULE)
    store.put_all([folded, derived])
    dream(store, Options())
    assert kinds(dream(store, Options())) == []
    assert store.get(EPISODE) == folded


def test_undo_gives_the_episode_back_byte_for_byte(store: MemoryStore) -> None:
    store.put_all([episode(), RULES, CAUSES])
    before = texts(store.root)
    change = dream(store, Options()).change
    assert change
    undo(store, change)
    assert texts(store.root) == before
