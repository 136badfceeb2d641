"""Questions in other words than their notes, not used for fitting: found, not weak, and recalled at a prompt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import groupby

import pytest
from bench.paraphrases import Paraphrase
from tests.eval.paraphrases import EVERYDAY, FOREIGN, HELD_OUT

from anamnesis.eval import EvalCase, recall_at_k
from anamnesis.inject import select_recall
from anamnesis.store import MemoryStore

Field = tuple[MemoryStore, dict[str, Paraphrase]]


@pytest.fixture(scope="module")
def fields(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Field]]:
    """A memory of 15 notes for each field, and one with all 60; the paraphrases by the ids of their notes."""
    each = [list(some) for _, some in groupby(HELD_OUT, lambda paraphrase: paraphrase.field)]
    with ExitStack() as stack:
        stores = [stack.enter_context(MemoryStore(tmp_path_factory.mktemp("field"))) for _ in [*each, HELD_OUT]]
        yield [_field(store, some) for store, some in zip(stores, [*each, HELD_OUT], strict=True)]


def _field(store: MemoryStore, some: list[Paraphrase]) -> Field:
    notes = {store.write(type="semantic", title=each.title, body=each.body).id: each for each in some}
    store.embed()
    return store, notes


def test_a_note_that_is_found_first_by_its_meaning_is_mostly_not_weak(fields: list[Field]) -> None:
    best = [(id, store.hits(each.question, k=1)) for store, notes in fields for id, each in notes.items()]
    right = [hits[0] for id, hits in best if hits and hits[0].memory.id == id]
    assert len(right) >= 25
    assert sum(not hit.is_weak for hit in right) > 0.5 * len(right)


def test_a_question_about_something_else_finds_weak_notes_or_none(fields: list[Field]) -> None:
    fitting = [not hit.is_weak for store, _ in fields for query in FOREIGN for hit in store.hits(query, k=1)]
    assert sum(fitting) <= 0.05 * len(FOREIGN) * len(fields)


def test_words_that_a_note_holds_by_chance_cost_little_of_what_meaning_finds(fields: list[Field]) -> None:
    store, notes = fields[-1]
    cases = [EvalCase(each.question, [id], "paraphrase") for id, each in notes.items()]
    words, meaning, fused = (recall_at_k(store, cases, mode=mode).mrr for mode in ("words", "meaning", "fused"))
    assert fused > 1.5 * words
    assert fused > 0.85 * meaning


def test_a_prompt_in_other_words_recalls_its_note_and_an_everyday_prompt_nothing(fields: list[Field]) -> None:
    recalled, right = 0, 0
    for store, notes in fields[:-1]:
        for id, each in notes.items():
            found = [note.id for note in select_recall(store, each.question, project="global", known=set())]
            recalled += bool(found)
            right += id in found
    assert right >= 5
    assert right > 0.6 * recalled
    for store, _ in fields:
        given = [prompt for prompt in EVERYDAY if select_recall(store, prompt, project="global", known=set())]
        assert given == []
