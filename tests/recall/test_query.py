"""The words of a query: what is asked for, of any text."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from anamnesis.recall.query import words

TEXT = st.text(st.characters())


@given(TEXT)
def test_the_words_are_the_runs_of_word_characters_in_their_order(query: str) -> None:
    assert list(words(query)) == list(dict.fromkeys(re.findall(r"\w+", query)))


@given(TEXT)
def test_no_word_can_act_as_an_operator_or_end_its_quotes(query: str) -> None:
    assert all(re.fullmatch(r"\w+", word) for word in words(query))


@given(st.lists(st.sampled_from(["one", "two", "Two", "naïve", "a_b"]), max_size=8))
def test_a_word_counts_as_often_as_it_stands_there(asked: list[str]) -> None:
    assert words(" ".join(asked)) == Counter(asked)


def test_the_example_of_the_specification() -> None:
    query = "how to configure a SQLite connection to avoid lock errors on concurrent writes"
    assert " OR ".join(f'"{word}"' for word in words(query).elements()) == (
        '"how" OR "to" OR "to" OR "configure" OR "a" OR "SQLite" OR "connection" OR "avoid" OR "lock"'
        ' OR "errors" OR "on" OR "concurrent" OR "writes"'
    )


def test_punctuation_alone_is_no_word() -> None:
    assert not words('-"*^():{}[]+.,;!?\0\ud800 \n')


def test_a_pasted_document_is_a_query_of_bounded_size() -> None:
    asked = words(" ".join(f"w{number % 50_000}" for number in range(200_000)) + " w0" * 10_000)
    assert len(asked) == 1_000
    assert max(asked.values()) <= 8
