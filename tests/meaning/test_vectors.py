"""Vectors on disk and in memory: nothing is computed twice, a damaged file is rebuilt, and scores are exact."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.meaning.fusion import closeness, fused
from anamnesis.meaning.matrix import EmbeddedNote, Matrix
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
    file.add(texts, {each.hash: [b"file" + each.hash] for each in texts})
    assert (tmp_path / "vectors.db").stat().st_mode & 0o077 == 0
    again = VectorFile(tmp_path / "vectors.db")
    assert again.link({b"copy": texts[0].hash, b"new": hash_of("unknown")}) == [b"new"]
    assert again.texts_of([b"copy", b"new"]).keys() == {b"copy"}
    found = again.texts_of([b"file" + each.hash for each in texts])
    assert all((found[b"file" + each.hash].passages == each.passages).all() for each in texts)


def test_a_text_that_is_saved_twice_is_one(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "vectors.db")
    for name in (b"one", b"two"):
        file.add([text(1, ["red fox", "blue whale"])], {hash_of("text 1"): [name]})
    assert len({each.number for each in file.texts_of([b"one", b"two"]).values()}) == 1
    numbers, scores = file.passage_scores('"whale"', [1])
    assert (len(numbers), len(scores)) == (1, 1)


def test_the_best_passage_of_a_text_counts(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "vectors.db")
    new = [text(1, ["fox", "fox fox whale", "none"]), text(2, ["fox"]), text(3, ["bird", "fish"])]
    file.add(new, {each.hash: [each.hash] for each in new})
    texts, scores = file.passage_scores('"fox" OR "whale"', [1, 2, 3])
    assert texts.tolist() == [file.texts_of([hash_of("text 1")])[hash_of("text 1")].number]
    assert scores[0] > 0


def test_texts_that_no_file_holds_are_removed(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "vectors.db")
    new = [text(1, ["kept fox", "kept"]), text(2, ["gone fox", "gone"])]
    file.add(new, {new[0].hash: [b"one", b"three"], new[1].hash: [b"two"]})
    assert file.keep_only(lambda: [b"one", b"four"]) == 1
    assert file.texts_of([b"one", b"two"]).keys() == {b"one"}
    assert len(file.passage_scores('"fox"', [1, 2])[0]) == 1


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be read as one" * 9, b""])
def test_a_damaged_file_is_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vectors.db"
    path.write_bytes(content)
    file = VectorFile(path)
    assert file.texts_of([b"file"]) == {}
    file.add([text(1, ["a"])], {hash_of("text 1"): [b"file"]})
    assert len(file.texts_of([b"file"])) == 1


def test_a_file_of_another_model_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    file = VectorFile(path)
    file.add([text(1, ["a"])], {hash_of("text 1"): [b"file"]})
    before = file.identity
    file.close()
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 999")
    assert VectorFile(path).texts_of([b"file"]) == {}
    assert VectorFile(path).identity != before


def test_a_matrix_finds_the_closest_note_in_any_block() -> None:
    vectors = some_vectors(1500)
    matrix = Matrix()
    for start in (0, 700):
        numbers = range(start, start + 800)
        matrix.update(
            {f"n{each}": EmbeddedNote(7 * each, Text(each, packed(vectors[each : each + 1]))) for each in numbers}
        )
    for number in (0, 511, 512, 1499):
        found = matrix.compare(vectors[number])
        assert found.notes[found.closeness.argmax()] == 7 * number
        assert found.texts[found.closeness.argmax()] == number
        assert found.closeness.max() == pytest.approx(1, abs=0.01)
    assert len(Matrix().compare(vectors[0]).notes) == 0


@given(st.lists(st.dictionaries(st.integers(0, 30), st.none() | st.integers(0, 99), max_size=8), max_size=20))
def test_a_changed_matrix_is_equal_to_a_new_one(steps: list[dict[int, int | None]]) -> None:
    vectors = packed(some_vectors(101))
    now = {f"n{note}": EmbeddedNote(note, Text(note % 100, vectors[note % 100 :][:1])) for note in range(1100)}
    changed, new = Matrix(), Matrix()
    changed.update(now)
    for step in steps:
        changes = {
            f"n{note}": None if text is None else EmbeddedNote(note + 2_000, Text(text, vectors[text:][:2]))
            for note, text in step.items()
        }
        changed.update(changes)
        now = {id: note for id, note in {**now, **changes}.items() if note}
    new.update(now)
    assert len(changed) == len(new) == len(now)
    query = some_vectors(1, 5)[0]
    one, two = changed.compare(query), new.compare(query)
    order_one, order_two = np.argsort(one.notes), np.argsort(two.notes)
    for name in ("notes", "texts", "counts", "closeness"):
        assert np.allclose(getattr(one, name)[order_one], getattr(two, name)[order_two], atol=1e-6)


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


def test_nobody_else_saves_a_text_while_the_files_that_count_are_listed(tmp_path: Path) -> None:
    """Otherwise a file that is embedded meanwhile would lose its text, and nothing would embed it again."""
    path = tmp_path / "vectors.db"
    file = VectorFile(path)
    file.add([text(1, ["a"])], {hash_of("text 1"): [b"file"]})

    def files() -> list[bytes]:
        other = sqlite3.connect(path, timeout=0)
        with contextlib.closing(other), pytest.raises(sqlite3.OperationalError):
            other.execute("BEGIN IMMEDIATE")
        return [b"file"]

    assert file.keep_only(files) == 0
    assert file.texts_of([b"file"])
