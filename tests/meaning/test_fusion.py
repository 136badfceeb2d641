"""The score of a note: the specified function, on any data and in memories of any size."""

from __future__ import annotations

import numpy as np
import pytest

from anamnesis.meaning.fusion import closeness, fused, weights
from anamnesis.meaning.model import Vectors


def specified(close: Vectors, of_note: Vectors, of_passage: Vectors, holders: list[int]) -> Vectors:
    """cos + K·√n·exp(-a·z)·(0.7·bm25(note) + 0.3·bm25(best passage))/ideal, K = 4, a = 0.8."""
    held = np.asarray(holders, float)
    ideal = 2.2 * np.log(1 + (len(close) - held + 0.5) / (held + 0.5)).sum()
    z = (close.max() - close.mean()) / (close.std() + 1e-6)
    words = (0.7 * of_note + 0.3 * of_passage) / ideal
    return np.asarray(close + 4 * len(held) ** 0.5 * np.exp(-0.8 * z) * words)


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
    assert weights(np.ones(3, np.float32), []) == (0.0, 0.0)
