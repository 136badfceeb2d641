"""Highlights are whole words that a search matched, never letters inside of words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.store.highlights import matches


def marked(text: str, query: str) -> list[str]:
    (spans,) = matches([text], query)
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("how do I avoid a lock", ["locks", "avoided", "Lock"]),
        ("connections", ["connection"]),
        ("a lock", ["locks", "Lock"]),
        ("lo", []),
        ("BUSY_TIMEOUT", ["busy_timeout"]),
        ('"busy timeout" connection', ["busy_timeout", "connection"]),
        ('"timeout busy"', []),
        ("naive", ["naïve"]),
        ("a", ["a"]),
        ("???", []),
        ("", []),
    ],
)
def test_whole_words_are_marked_by_their_stems_and_function_words_only_if_asked_alone(
    query: str, found: list[str]
) -> None:
    text = "Do locks block? Set busy_timeout on a connection; it avoided the naïve Lock. I\x02d\x03o."
    assert marked(text, query) == found


@given(
    st.text(st.characters()), st.lists(st.sampled_from(["lock", "Locked", "x", "\x02", "\x03", "\0", "\ud800", "é"]))
)
def test_spans_are_places_in_the_text_as_it_is(noise: str, words: list[str]) -> None:
    text = " ".join([noise, *words])
    (spans,) = matches([text], "lock")
    assert all(text[start:end].lower().startswith("lock") for start, end in spans if text[start:end] not in noise)
    assert len(spans) >= sum(word.lower() in ("lock", "locked") for word in words)


def test_texts_are_marked_each_by_itself() -> None:
    assert matches(["no", "lock", "", "a lock"], "lock") == [[], [(0, 4)], [], [(2, 6)]]
    assert matches([], "lock") == []
