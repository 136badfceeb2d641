"""Pruning leaves out only what cannot matter: judged by BM25 as FTS5 computes it, over all notes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anamnesis.recall.pruning import QueryWord, any_of, head_deciding, head_holding, is_settled, rarest_first

K1, B = 1.2, 0.75
VOCABULARY = "abcdefgh"
DOCUMENTS = st.lists(st.lists(st.sampled_from(VOCABULARY + "z" * 4), min_size=1, max_size=30), min_size=1, max_size=40)
QUERY = st.dictionaries(st.sampled_from(VOCABULARY), st.integers(1, 3), min_size=1)
# Deleted notes leave gaps in the numbers by which the store counts.
DELETED = st.integers(0, 20)


def part(word: QueryWord, document: Sequence[str], documents: Sequence[Sequence[str]]) -> float:
    """What one word of the query adds to a document's score, as fts5_aux.c has it."""
    count = len(documents)
    idf = max(math.log((count - word.notes + 0.5) / (word.notes + 0.5)), 1e-6)
    average = sum(map(len, documents)) / count
    frequency = document.count(word.text)
    length = K1 * (1 - B + B * len(document) / average)
    return word.times * idf * frequency * (K1 + 1) / (frequency + length)


def score(words: Sequence[QueryWord], document: Sequence[str], documents: Sequence[Sequence[str]]) -> float:
    return sum(part(word, document, documents) for word in words)


def counted(query: dict[str, int], documents: Sequence[Sequence[str]]) -> list[QueryWord]:
    """The words of the query that any document holds, the rarest first."""
    held = {text: sum(text in document for document in documents) for text in query}
    return rarest_first([QueryWord(text, query[text], notes) for text, notes in held.items() if notes])


@given(QUERY, DOCUMENTS, DELETED)
def test_no_word_adds_more_than_its_most(query: dict[str, int], documents: list[list[str]], deleted: int) -> None:
    for word in counted(query, documents):
        most = word.most(len(documents) + deleted)
        assert all(part(word, document, documents) < most for document in documents)


@given(QUERY, DOCUMENTS, DELETED, st.data())
def test_a_document_without_a_deciding_word_is_below_the_score(
    query: dict[str, int], documents: list[list[str]], deleted: int, data: st.DataObject
) -> None:
    words = counted(query, documents)
    assume(words)
    wanted = score(words, data.draw(st.sampled_from(documents)), documents)
    head = words[: head_deciding(words, len(documents) + deleted, wanted)]
    assert head
    for document in documents:
        if not any(word.text in document for word in head):
            assert score(words, document, documents) < wanted or wanted == 0


@given(QUERY, DOCUMENTS, st.integers(1, 8))
def test_the_best_documents_all_hold_a_deciding_word(query: dict[str, int], documents: list[list[str]], k: int) -> None:
    words = counted(query, documents)
    assume(words)
    best = sorted(documents, key=lambda document: -score(words, document, documents))[:k]
    lowest = score(words, best[-1], documents)
    assume(lowest > 0)
    head = words[: head_deciding(words, len(documents), lowest)]
    assert all(any(word.text in document for word in head) for document in best)


@given(QUERY, DOCUMENTS)
def test_a_word_that_tells_nothing_has_the_least_weight(query: dict[str, int], documents: list[list[str]]) -> None:
    for word in counted(query, documents):
        if not word.is_telling(len(documents)):
            assert word.most(len(documents)) == pytest.approx(word.times * 2.2e-6)


COUNTS = st.lists(st.integers(1, 1_000), min_size=1, max_size=10)


@given(COUNTS, st.integers(1, 5_000))
def test_a_head_is_the_shortest_that_holds_so_many_notes(counts: list[int], notes: int) -> None:
    words = rarest_first([QueryWord(str(number), 1, count) for number, count in enumerate(counts)])
    head = head_holding(words, notes)
    assert 1 <= head <= len(words)
    held = [word.notes for word in words]
    assert sum(held[: head - 1]) < notes
    assert sum(held[:head]) >= notes or head == len(words)


def test_one_rare_word_decides_against_many_common_ones() -> None:
    words = rarest_first(
        [QueryWord("the", 1, 9_000), QueryWord("of", 1, 6_000), QueryWord("flock", 1, 3), QueryWord("note", 1, 2_000)]
    )
    assert [word.text for word in words] == ["flock", "note", "of", "the"]
    assert [word.text for word in words if word.is_telling(10_000)] == ["flock", "note"]
    assert head_deciding(words, 10_000, score=10.0) == 1
    assert head_deciding(words, 10_000, score=3.0) == 2
    assert head_deciding(words, 10_000, score=0.0) == 4


@given(
    st.lists(st.floats(-100, 0), min_size=1, max_size=8).map(sorted),
    st.floats(0, 5),
    st.lists(st.floats(0, 1), min_size=8, max_size=8),
)
def test_a_settled_order_stands_whatever_is_added(scores: list[float], most: float, parts: list[float]) -> None:
    assume(is_settled(scores, most))
    changed = [score - most * part for score, part in zip(scores, parts, strict=False)]
    assert all(better < worse for better, worse in pairwise(changed))


def test_equal_scores_are_not_settled() -> None:
    assert not is_settled([-2.0, -2.0], 0.0)
    assert is_settled([-2.0], 1.0)
    assert is_settled([], 1.0)


def test_the_expression_asks_for_a_word_as_often_as_the_query_does() -> None:
    assert any_of([QueryWord("near", 2, 1), QueryWord("a_b", 1, 1)]) == '"near" OR "near" OR "a_b"'
