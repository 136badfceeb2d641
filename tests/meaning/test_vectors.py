"""Vectors on disk and in memory: nothing is computed twice, a damaged file is made anew, and scores are exact."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.meaning.fusion import closeness, fused, words_weight
from anamnesis.meaning.matrix import Matrix
from anamnesis.meaning.model import WIDTH, Vectors
from anamnesis.meaning.vectors import NewText, Text, VectorFile, hash_of, packed


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


def text(number: int, words: list[str], seed: int = 1) -> NewText:
    return NewText(hash_of(f"text {number}"), words, packed(some_vectors(len(words), seed + number)))


def test_a_text_is_found_by_its_hash_and_by_its_files(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "vectors.db")
    texts = [text(number, ["some words"] * (number % 3 + 1)) for number in range(1200)]
    numbers = file.add(texts)
    assert (tmp_path / "vectors.db").stat().st_mode & 0o077 == 0
    file.link((b"file" + each.hash, numbers[each.hash]) for each in texts)
    again = VectorFile(tmp_path / "vectors.db")
    assert again.known([*numbers, hash_of("unknown")]) == numbers
    found = again.texts_of([b"file" + each.hash for each in texts])
    assert all((found[b"file" + each.hash].passages == each.passages).all() for each in texts)


def test_a_text_that_is_saved_twice_is_one(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "vectors.db")
    assert file.add([text(1, ["red fox", "blue whale"])]) == file.add([text(1, ["red fox", "blue whale"])])
    numbers, scores = file.passage_scores('"whale"', [1])
    assert (len(numbers), len(scores)) == (1, 1)


def test_the_best_passage_of_a_text_counts(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "vectors.db")
    numbers = file.add([text(1, ["fox", "fox fox whale", "none"]), text(2, ["fox"]), text(3, ["bird", "fish"])])
    texts, scores = file.passage_scores('"fox" OR "whale"', [*numbers.values()])
    assert texts.tolist() == [numbers[hash_of("text 1")]]
    assert scores[0] > 0


def test_texts_that_no_file_holds_are_removed(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "vectors.db")
    numbers = file.add([text(1, ["kept fox", "kept"]), text(2, ["gone fox", "gone"])])
    file.link((name, number) for name, number in zip((b"one", b"two"), numbers.values(), strict=True))
    assert file.keep_only([b"one", b"three"]) == 1
    assert file.texts_of([b"one", b"two"]).keys() == {b"one"}
    assert len(file.passage_scores('"fox"', [*numbers.values()])[0]) == 1


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be read as one" * 9, b""])
def test_a_damaged_file_is_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vectors.db"
    path.write_bytes(content)
    file = VectorFile(path)
    assert file.known([hash_of("text 1")]) == {}
    file.add([text(1, ["a"])])
    assert len(file.known([hash_of("text 1")])) == 1


def test_a_file_of_another_model_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    file = VectorFile(path)
    file.add([text(1, ["a"])])
    file.close()
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 999")
    assert VectorFile(path).known([hash_of("text 1")]) == {}


def test_a_matrix_finds_the_closest_note_in_any_block() -> None:
    vectors = some_vectors(1500)
    matrix = Matrix()
    matrix.update({7 * number: Text(number, packed(vectors[number : number + 1])) for number in range(1500)})
    for number in (0, 511, 512, 1499):
        found = matrix.compare(vectors[number])
        assert found.notes[found.closeness.argmax()] == 7 * number
        assert found.texts[found.closeness.argmax()] == number
        assert found.closeness.max() == pytest.approx(1, abs=0.01)
    assert len(Matrix().compare(vectors[0]).notes) == 0


@given(st.lists(st.dictionaries(st.integers(0, 30), st.none() | st.integers(0, 99), max_size=8), max_size=8))
def test_a_changed_matrix_is_equal_to_a_new_one(steps: list[dict[int, int | None]]) -> None:
    vectors = packed(some_vectors(100))
    now = {note: Text(note % 100, vectors[note % 100 :][:1]) for note in range(1100)}
    small = Matrix()
    small.update(now)
    for step in steps:
        changes = {note: None if text is None else Text(text, vectors[text:][:2]) for note, text in step.items()}
        small.update(changes)
        now = {note: text for note, text in {**now, **changes}.items() if text}
    new = Matrix()
    new.update(now)
    query = some_vectors(1, 5)[0]
    one, two = small.compare(query), new.compare(query)
    assert dict(zip(one.notes.tolist(), one.texts.tolist(), strict=True)) == {note: now[note].number for note in now}
    order_one, order_two = np.argsort(one.notes), np.argsort(two.notes)
    assert (one.notes[order_one] == two.notes[order_two]).all()


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
    assert fused(flat, words, words, words_weight(flat, [1], 100)).argmax() == 42


def test_words_weigh_less_where_one_note_stands_out() -> None:
    close = np.full(100, 0.3, np.float32)
    close[7] = 0.9
    words = np.zeros(100, np.float32)
    words[42] = 2.0
    assert fused(close, words, words, words_weight(close, [30], 100)).argmax() == 7


def test_without_words_or_notes_meaning_is_all() -> None:
    close = np.array([0.1, 0.4], np.float32)
    none = np.zeros(2, np.float32)
    assert (fused(close, none, none, words_weight(close, [], 2)) == close).all()
    assert len(fused(close[:0], none[:0], none[:0], words_weight(close[:0], [3], 2))) == 0
