"""Vectors on disk and in memory: nothing is computed twice, a damaged file is made anew, and scores are exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from anamnesis.meaning.fusion import closeness, fused
from anamnesis.meaning.matrix import Matrix
from anamnesis.meaning.model import WIDTH, Vectors
from anamnesis.meaning.vectors import VectorFile, hash_of, packed


def some_vectors(count: int, seed: int = 1) -> Vectors:
    found = np.random.default_rng(seed).standard_normal((count, WIDTH)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def test_packed_vectors_keep_their_cosines() -> None:
    vectors = some_vectors(200)
    small = packed(vectors)
    assert small.nbytes < vectors.nbytes / 3.9
    restored = small["values"] * small["scale"][:, None]
    assert np.abs(restored @ vectors.T - vectors @ vectors.T).max() < 0.005


def test_a_text_is_found_by_its_hash(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "vectors.db")
    texts = {hash_of(f"text {number}"): packed(some_vectors(number % 3 + 1, number)) for number in range(1200)}
    file.write(texts)
    assert (tmp_path / "vectors.db").stat().st_mode & 0o077 == 0
    found = VectorFile(tmp_path / "vectors.db").read([*texts, hash_of("unknown")])
    assert found.keys() == texts.keys()
    assert all((found[hash] == texts[hash]).all() for hash in texts)


def test_texts_that_no_note_has_are_removed(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "vectors.db")
    kept, gone = hash_of("kept"), hash_of("gone")
    file.write({kept: packed(some_vectors(1)), gone: packed(some_vectors(1))})
    assert file.keep_only([kept]) == 1
    assert file.read([kept, gone]).keys() == {kept}


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be read as one" * 9, b""])
def test_a_damaged_file_is_made_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vectors.db"
    path.write_bytes(content)
    file = VectorFile(path)
    assert file.read([hash_of("a")]) == {}
    file.write({hash_of("a"): packed(some_vectors(1))})
    assert len(file.read([hash_of("a")])) == 1


def test_a_matrix_finds_the_closest_note_in_any_block() -> None:
    vectors = some_vectors(1500)
    notes = {7 * number: packed(vectors[number : number + 1]) for number in range(1500)}
    matrix = Matrix(notes)
    for number in (0, 511, 512, 1499):
        close = matrix.closeness(vectors[number])
        assert matrix.numbers[close.argmax()] == 7 * number
        assert close.max() == pytest.approx(1, abs=0.01)
    assert len(Matrix({}).closeness(vectors[0])) == 0


def test_many_passages_are_no_advantage_by_themselves() -> None:
    """Of two notes that are equally close, the one that had more tries comes second."""
    cosines = np.array([0.8, 0.8, 0.1, 0.2, 0.3], np.float32)
    close = closeness(cosines, np.array([0, 1]))
    assert close[0] == pytest.approx(0.8)
    assert close[1] < close[0]


def test_words_decide_where_meaning_does_not() -> None:
    flat = np.full(100, 0.3, np.float32)
    words = np.zeros(100, np.float32)
    words[42] = 5.0
    assert fused(flat, words, words, [1]).argmax() == 42


def test_words_weigh_less_where_one_note_stands_out() -> None:
    close = np.full(100, 0.3, np.float32)
    close[7] = 0.9
    words = np.zeros(100, np.float32)
    words[42] = 2.0
    assert fused(close, words, words, [30]).argmax() == 7


def test_without_words_or_notes_meaning_is_all() -> None:
    close = np.array([0.1, 0.4], np.float32)
    none = np.zeros(2, np.float32)
    assert (fused(close, none, none, []) == close).all()
    assert len(fused(close[:0], none[:0], none[:0], [3])) == 0
