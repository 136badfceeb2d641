"""The terms of a query, for any text."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from anamnesis.recall.query import query_terms, telling_words

TEXT = st.text(st.characters())
GRAMMAR = ["how", "do", "I", "a", "The", "what", "didn", "t"]


@given(TEXT.filter(lambda text: text.count('"') < 2))
def test_the_words_are_the_runs_of_word_characters_in_their_order(query: str) -> None:
    terms, around = query_terms(query)
    found = dict.fromkeys(re.findall(r"\w+", query))
    assert list(terms) == [word for word in found if word in terms]
    assert terms.keys() | around.keys() == found.keys()


@given(TEXT | st.text('"a b\n'))
def test_no_term_can_act_as_an_operator_or_end_its_quotes(query: str) -> None:
    for terms in query_terms(query):
        assert all(re.fullmatch(r"\w+( \w+)*", term) for term in terms)


@given(st.lists(st.sampled_from(["one", "two", "Two", "naïve", "a_b"]), max_size=8))
def test_a_word_counts_as_often_as_it_stands_there(words: list[str]) -> None:
    assert query_terms(" ".join(words)).terms == Counter(words)


@given(st.lists(st.sampled_from([*GRAMMAR, "lock", "door"]), max_size=8))
def test_function_words_are_asked_for_only_where_there_is_nothing_else(words: list[str]) -> None:
    telling = [word for word in words if word not in GRAMMAR]
    terms, around = query_terms(" ".join(words))
    assert list(terms.elements()) == list(Counter(telling or words).elements())
    assert around.total() == (len(words) - len(telling) if telling else 0)


def test_the_example_of_the_specification_without_its_function_words() -> None:
    query = "how to configure a SQLite connection to avoid lock errors on concurrent writes"
    terms, around = query_terms(query)
    assert list(terms) == ["configure", "SQLite", "connection", "avoid", "lock", "errors", "concurrent", "writes"]
    assert around == {"how": 1, "to": 2, "a": 1, "on": 1}


def test_a_quoted_phrase_is_one_term_and_its_function_words_count() -> None:
    assert query_terms('the "lock  on: the-door" of "if" db').terms == {"lock on the door": 1, "if": 1, "db": 1}
    assert query_terms('"lock" "" " "').terms == {"lock": 1}


def test_quotes_that_quote_nothing_mean_nothing() -> None:
    assert list(query_terms('a 5" disk, a 3" disk').terms) == ["5", "disk", "3"]
    assert list(query_terms('open "lock\nclosed" door').terms) == ["open", "lock", "closed", "door"]
    assert list(query_terms('"open door').terms) == ["open", "door"]
    assert query_terms(f'"{"open " * 99}door" lock').terms == {"open": 8, "door": 1, "lock": 1}


def test_the_telling_words_of_a_text_pass_over_quotes_and_case() -> None:
    assert telling_words('How do I set "busy timeout"? Set it.') == ["set", "busy", "timeout"]
    assert telling_words("what is it?") == []


def test_punctuation_alone_is_no_word() -> None:
    assert not query_terms('-"*^():{}[]+.,;!?\0\ud800 \n').terms


def test_a_pasted_document_is_a_query_of_bounded_size() -> None:
    terms = query_terms(" ".join(f"w{number % 50_000}" for number in range(200_000)) + " w0" * 10_000).terms
    assert len(terms) == 1_000
    assert max(terms.values()) <= 8
