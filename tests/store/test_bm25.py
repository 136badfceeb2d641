"""The search by words and meaning is exact, although it scores few of the notes that match."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anamnesis.meaning.fusion import fused, weights
from anamnesis.meaning.model import WIDTH, Vectors
from anamnesis.notes import Memory, ulid
from anamnesis.recall.pruning import any_of
from anamnesis.store import MemoryStore
from anamnesis.store.bm25 import query_words
from anamnesis.store.fused import _compare
from anamnesis.store.index import Connection
from anamnesis.store.meaning import Meaning
from anamnesis.store.queries import Filter
from anamnesis.store.question import Question

NOTES = 2_400
WORDS = ["".join(letters) for letters in itertools.product("bcdfghklmnprtvz", repeat=3)][:2_000]
RANKS = [1 / rank for rank in range(1, len(WORDS) + 1)]


class Hashed:
    """Vectors of texts without a model: equal for equal texts, and of one cluster."""

    def query(self, text: str) -> Vectors:
        vector: Vectors = self.passages([text])[0]
        return vector

    def passages(self, texts: Sequence[str]) -> Vectors:
        found = np.array([np.random.default_rng(zlib.crc32(text.encode())).standard_normal(WIDTH) for text in texts])
        found[:, 0] += 12
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found, np.float32)


class Library:
    """Notes of any length over a vocabulary of common and rare words, some of them with identifiers."""

    def __init__(self, root: Path) -> None:
        chance = random.Random(5)
        self.store = MemoryStore(root)
        notes = []
        for number in range(NOTES):
            words = chance.choices(WORDS, RANKS, k=chance.choice((8, 30, 60, 200)))
            names = [f"do{one.title()}{other.title()}" for one, other in zip(words[::9], words[1::9], strict=False)]
            body = "\n".join([" ".join(words), *(names if number % 3 == 0 else [])])
            project = f"p{number % 10}"
            notes.append(Memory(ulid(1_700_000_000_000 + number, number), "semantic", f"n{number}", body, project))
        self.store.put_all(notes)
        model: Any = Hashed()
        self.meaning = Meaning(self.store._index, self.store.log, root / "vectors.db", lambda: model)
        self.meaning.follow()

    def query(self) -> str:
        names = [f"do{word.title()}" for word in WORDS[:50]]
        return " ".join(random.choices([*WORDS, *names], [*RANKS, *[0.01] * 50], k=random.randint(1, 7)))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    library = Library(tmp_path_factory.mktemp("library"))
    yield library
    library.store.close()


def compared(db: Connection, asked: Question, meaning: Meaning) -> dict[int, float]:
    """The scores of notes by their numbers; too low for those that cannot be among the best."""
    found = _compare(db, asked, meaning)
    scores = fused(found.close, found.of_note, found.of_passage, found.words.holders, found.words.total)
    return dict(zip(found.notes.tolist(), scores.tolist(), strict=True))


def scored(db: Connection, asked: Question, meaning: Meaning) -> dict[int, float]:
    """The scores of all notes, without a shortcut."""
    ids = [
        number
        for (number,) in db.execute(f"SELECT number FROM memories AS m WHERE {asked.wanted.sql}", asked.wanted.values)
    ]
    close = meaning.compare(db, meaning.query(asked.query))
    close = close.where(np.isin(close.notes, ids))
    words = query_words(db, asked.query)
    match = any_of(words.whole)
    of_note, of_text = {}, {}
    if match:
        query = "SELECT rowid, -bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH :match"
        of_note = dict(db.execute(query, {"match": match}))
        texts, of_texts = meaning.file.passage_scores(match, close.texts.tolist())
        of_text = dict(zip(texts.tolist(), of_texts.tolist(), strict=True))
    part = dict.fromkeys(ids, 0.0)
    for word in words.parts:
        for (number,) in db.execute("SELECT rowid FROM memory_parts WHERE memory_parts MATCH ?", (word.text,)):
            if number in part:
                part[number] += 0.8 * word.weight(words.total)
    numbers = close.notes.tolist()
    notes = np.array([of_note.get(number, 0) + part[number] for number in numbers], np.float32)
    best = [
        (of_note.get(number, 0) if count == 1 else of_text.get(text, 0)) + part[number]
        for number, count, text in zip(numbers, close.counts.tolist(), close.texts.tolist(), strict=True)
    ]
    scores = fused(close.closeness, notes, np.array(best, np.float32), words.holders, words.total)
    return dict(zip(numbers, scores.tolist(), strict=True))


@pytest.mark.parametrize("wanted", [Filter(), Filter("p3")])
def test_the_best_notes_are_those_of_a_search_without_shortcuts(library: Library, wanted: Filter) -> None:
    random.seed(3)
    for _ in range(30):
        asked = Question(library.query(), wanted, random.choice((1, 8, 50)))
        found = library.store._index.read(partial(compared, asked=asked, meaning=library.meaning))
        every = library.store._index.read(partial(scored, asked=asked, meaning=library.meaning))
        best = sorted(every.values(), reverse=True)[: asked.k]
        assert sorted(found.values(), reverse=True)[: asked.k] == pytest.approx(best, abs=1e-4), asked.query
        chosen = sorted(found, key=lambda number: -found[number])[: asked.k]
        assert [every[number] for number in chosen] == pytest.approx(best, abs=1e-4), asked.query


def test_notes_that_cannot_be_among_the_best_are_not_scored(library: Library) -> None:
    rare, common = " ".join(WORDS[700:704]), WORDS[4:8]
    asked = Question(f"{rare} {' '.join(common)}", Filter(), 1)
    found = library.store._index.read(lambda db: _compare(db, asked, library.meaning))
    match = " OR ".join(asked.query.split())
    query = "SELECT count(*) FROM memories_fts WHERE memories_fts MATCH :match"
    (matched,) = library.store._index.read(lambda db: db.execute(query, {"match": match}).fetchone())
    assert np.count_nonzero(found.of_note) < matched


def test_words_count_in_a_small_project_although_many_notes_of_others_hold_them() -> None:
    """The weight of a word is that among all notes, as in BM25."""
    close = np.linspace(0.2, 0.3, 20, dtype=np.float32)
    rare, common = weights(close, [100], 1_000), weights(close, [900], 1_000)
    assert 0 < rare.of_note < common.of_note
    assert 0 < rare.of_passage < common.of_passage
    assert rare.factor == common.factor > 0
