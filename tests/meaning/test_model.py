"""The model gives the vectors of its reference implementation, whose results are in reference.json."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import seconds

from anamnesis.meaning.model import WIDTH, Model, Vectors, load
from anamnesis.meaning.passages import passages

REFERENCE = json.loads((Path(__file__).parent / "reference.json").read_text("utf-8"))


def vector(encoded: str) -> Vectors:
    return np.frombuffer(base64.b64decode(encoded), "<f2").astype(np.float32)


@pytest.fixture(scope="module")
def model() -> Model:
    return load()


@pytest.mark.parametrize("case", REFERENCE, ids=lambda case: ascii(case["text"][:20]))
def test_pieces_are_those_of_the_reference(model: Model, case: dict[str, object]) -> None:
    assert model.pieces.ids(str(case["text"]), 256) == case["pieces"]


def test_vectors_are_those_of_the_reference(model: Model) -> None:
    found = model.passages([case["text"] for case in REFERENCE])
    for case, passage in zip(REFERENCE, found, strict=True):
        assert passage @ vector(case["passage"]) > 0.999, case["text"]
        assert model.query(case["text"]) @ vector(case["query"]) > 0.999, case["text"]


def test_a_vector_does_not_depend_on_the_texts_beside_it(model: Model) -> None:
    texts = [case["text"] for case in REFERENCE] * 3
    random.Random(1).shuffle(texts)
    together = model.passages(texts)
    for text, vector in zip(texts, together, strict=True):
        assert np.allclose(model.passages([text])[0], vector, atol=1e-5)


def test_no_texts_have_no_vectors(model: Model) -> None:
    assert model.passages([]).shape == (0, WIDTH)


def test_another_word_for_the_same_thing_is_close(model: Model) -> None:
    query = model.query("kubernetes")
    near, far = model.passages(["kubectl rollout restart deployment", "the recipe needs two eggs and flour"])
    assert query @ near > query @ far + 0.1


@given(st.text(max_size=3000))
def test_any_text_has_pieces_and_its_passages_hold_all_its_words(text: str) -> None:
    assert load().pieces.ids(text, 50)
    assert "\n".join(passages(text)).split() == text.split()


def test_passages_end_at_lines_and_are_short() -> None:
    text = "\n".join(f"line {number} of some eight words in all" for number in range(100))
    found = passages(text)
    assert "\n".join(found) == text
    assert all(80 < len(passage.split()) <= 110 for passage in found[:-1])
    assert [len(each.split()) for each in passages("word " * 250)] == [84, 84, 82]
    assert passages("") == [""]


def test_a_note_that_is_a_little_longer_than_a_passage_is_one() -> None:
    """A title and 120 words are not three passages, one of them of ten words."""
    assert [len(each.split()) for each in passages("A title of six words here\n" + "word " * 120)] == [126]
    assert [len(each.split()) for each in passages("word\n" * 131)] == [110, 21]
    assert [len(each.split()) for each in passages("word\n" * 230)] == [110, 120]


def test_a_word_of_megabytes_costs_no_more_than_one_of_kilobytes() -> None:
    long, short = ("é" * length for length in (8_000_000, 80_000))
    pieces = load().pieces
    turns = [[seconds(lambda text: pieces.ids(text, 256), text) for text in (long, short)] for _ in range(5)]
    fastest_long, fastest_short = map(min, zip(*turns, strict=True))
    assert fastest_long < 10 * fastest_short
