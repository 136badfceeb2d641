"""The score of a note: the specified function, on any data and in memories of any size."""

from __future__ import annotations

import numpy as np
import pytest

from anamnesis.meaning.fusion import closeness, fit, fused, weights
from anamnesis.meaning.model import Vectors


def specified(close: Vectors, of_note: Vectors, of_passage: Vectors, holders: list[int]) -> Vectors:
    """cos + K·√n·exp(√(2 ln N) - z)·x·(1 + x), K = 0.17, x = (0.7·bm25(note) + 0.3·bm25(best passage))/ideal."""
    held = np.asarray(holders, float)
    ideal = 2.2 * np.log(1 + (len(close) - held + 0.5) / (held + 0.5)).sum()
    z = (close.max() - close.mean()) / (close.std() + 1e-6)
    share = (0.7 * of_note + 0.3 * of_passage) / ideal
    weight = 0.17 * len(held) ** 0.5 * np.exp((2 * np.log(len(close))) ** 0.5 - z)
    return np.asarray(close + weight * share * (1 + share))


@pytest.mark.parametrize("notes", [2, 3, 30, 3_000])
@pytest.mark.parametrize("words", [1, 4, 40])
def test_the_score_is_the_specified_one(notes: int, words: int) -> None:
    random = np.random.default_rng(notes + words)
    close = random.normal(0.4, 0.1, notes).astype(np.float32)
    of_note = (random.random(notes) * (random.random(notes) < 0.3) * 9).astype(np.float32)
    of_passage = (of_note * random.random(notes)).astype(np.float32)
    holders = random.integers(1, notes, words, endpoint=True).tolist()
    expected = specified(close, of_note, of_passage, holders)
    assert np.allclose(fused(close, of_note, of_passage, holders), expected, atol=1e-4)


def test_a_note_is_as_close_as_its_best_passage_less_what_its_length_gives_by_chance() -> None:
    random = np.random.default_rng(5)
    texts = [random.random(count).astype(np.float32) for count in (1, 7, 2, 30, 1)]
    cosines = np.concatenate(texts)
    starts = np.cumsum([0, *map(len, texts[:-1])])
    by_chance = [0.25 * cosines.std() * np.sqrt(2 * np.log(len(text))) for text in texts]
    expected = [text.max() - less for text, less in zip(texts, by_chance, strict=True)]
    assert np.allclose(closeness(cosines, starts), expected, atol=1e-6)


@pytest.mark.parametrize("holders", [[], [0], [1], [1, 1, 1]])
@pytest.mark.parametrize("notes", [0, 1, 2, 3])
def test_a_memory_of_hardly_any_notes_has_scores(notes: int, holders: list[int]) -> None:
    close = np.linspace(0.1, 0.5, notes, dtype=np.float32)
    score = fused(close, np.ones(notes, np.float32), np.ones(notes, np.float32), holders)
    assert score.shape == (notes,)
    assert np.isfinite(score).all()


def test_words_weigh_nothing_where_nothing_was_asked() -> None:
    assert weights(np.ones(3, np.float32), []) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("notes", [5, 50, 500, 5_000, 50_000])
def test_the_best_of_many_notes_has_to_stand_out_more_before_words_weigh_less(notes: int) -> None:
    """The weight of the words depends on how far the best note stands out beyond chance, in memories of any size."""
    random = np.random.default_rng(notes)
    by_chance = [weights(random.normal(0.4, 0.05, notes).astype(np.float32), [1, 1]).factor for _ in range(50)]
    assert 0.2 < np.median(by_chance) < 0.8


def test_a_note_needs_to_be_closer_where_more_notes_are_compared() -> None:
    fits = [fit(closeness=0.6, average=0.45, coverage=0.0, notes=notes) for notes in (1, 5, 50, 500, 5_000, 50_000)]
    assert fits == sorted(fits, reverse=True)
    assert fits[1] > 0.5 > fits[-1]


def test_words_held_by_chance_say_little_and_most_of_the_words_much() -> None:
    none, some, most = (fit(closeness=0.58, average=0.45, coverage=part, notes=500) for part in (0.0, 0.2, 0.8))
    assert some - none < 0.1
    assert most > 0.5
