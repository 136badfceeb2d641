"""BM25 for the fused search: exact for every note that can be among the best, a lower bound for the others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.fusion import Weights
from anamnesis.meaning.matrix import Numbers
from anamnesis.meaning.model import Vectors
from anamnesis.recall.identifiers import split_query
from anamnesis.recall.pruning import QueryWord, any_of, any_term, head_within, rarest_first
from anamnesis.store.word_search import MOST_ASKED, about_total, count_notes, counted, holding

if TYPE_CHECKING:
    from anamnesis.meaning.vectors import VectorFile
    from anamnesis.store.index import Connection

Scores = NDArray[np.floating[Any]]

# The weight of a word that a note holds only as a part of an identifier; a whole word held once weighs 1.
_PART = 0.8
# The weight that a match of the whole identifier or path adds.
_WHOLE = 3
# How many notes with the rarest words are scored first, for a threshold that rules most others out; 2 ms.
_FEW_NOTES = 1_500
# Scores that differ by less are equal.
_EQUAL = 1e-5


class Words(NamedTuple):
    """The words of a search: FTS5 searches for `whole`, the rarest first; `parts` are those of them that are parts of
    identifiers in notes. `notes` maps each word of the query to the number of notes, of `total`, that hold it whole or
    as a part. It includes words in half of the notes and words in none: a note with one incidental word of eight
    covers an eighth of the query, even if no note has the others.
    """

    whole: list[QueryWord]
    parts: list[QueryWord]
    notes: dict[str, int]
    total: int
    spelled: dict[str, list[str]]  # the parts of each identifier in the query, by its spelling

    @property
    def holders(self) -> list[int]:
        return list(self.notes.values())

    def most(self, start: int = 0) -> float:
        """The highest BM25 that a text can reach with the words from `start` on."""
        return sum(word.most(self.total) for word in self.whole[start:] if word.notes)


class SelectedNotes(NamedTuple):
    """The notes that a search selects: their numbers in ascending order, their positions by number (-1 for notes that
    are not selected), the closeness of each, and the numbers of their texts (-1 for a text of one passage).
    """

    numbers: Numbers
    places: Numbers
    closeness: Vectors
    texts: Numbers

    @property
    def is_short(self) -> NDArray[np.bool_]:
        return self.texts < 0

    def places_of(self, numbers: Numbers) -> Numbers:
        """The positions of these numbers, -1 for notes that are not selected."""
        known = numbers < len(self.places)
        return np.where(known, self.places[np.where(known, numbers, 0)], -1)


def query_words(db: Connection, query: str) -> Words:
    """The words of a query, without those that half of the notes hold, unless it has no others."""
    total = about_total(db)
    words, wholes, _ = split_query(query)
    whole = {word.text: word.notes for word in counted(db, words)}
    as_part = db.learned().part_counts
    parts = {text: 0 if " " in text else count_notes(db, "memory_parts", as_part, text) for text in words}
    every = [QueryWord(text, times, whole.get(text, 0) + parts[text]) for text, times in words.items()]
    known = rarest_first([word for word in every if word.notes])[:MOST_ASKED]
    known = [word for word in known if word.is_telling(total)] or known
    names = [word._replace(times=_WHOLE) for word in counted(db, Counter(wholes))]
    asked = [word._replace(notes=whole[word.text]) for word in known if word.text in whole]
    return Words(
        rarest_first([*asked, *names])[:MOST_ASKED],
        [word for word in known if parts[word.text]],
        {word.text: word.notes for word in every[:MOST_ASKED]},
        total,
        {word.text: wholes[word.text] for word in names},
    )


def held_words(db: Connection, words: Words, numbers: Sequence[int]) -> list[set[str]]:
    """The query's words that each of these notes holds: whole, as a part, or in an identifier that the query names."""
    known = [text for text, notes in words.notes.items() if notes]
    whole = holding(db, [*known, *words.spelled], numbers)
    parts = holding(db, [word.text for word in words.parts], numbers, table="memory_parts")
    named = {number: {part for text in whole[number] for part in words.spelled.get(text, ())} for number in numbers}
    return [(whole[number] | parts[number] | named[number]) & words.notes.keys() for number in numbers]


def holding_every(db: Connection, words: Words, places: Numbers) -> NDArray[np.bool_]:
    """Which notes hold every word of the query, by their numbers; none if a word is in no note."""
    found = np.zeros(len(places), np.bool_)
    if words.notes and all(words.notes.values()):
        match = " AND ".join(any_term([text]) for text in words.notes)
        rows = db.execute("SELECT rowid FROM memories_fts WHERE memories_fts MATCH :match", {"match": match}).fetchall()
        numbers = np.array(rows, np.int64).reshape(-1)
        found[numbers[numbers < len(places)]] = True
    return found


def best_bm25(
    db: Connection, file: VectorFile, words: Words, notes: SelectedNotes, weights: Weights, k: int
) -> tuple[Vectors, Vectors]:
    """BM25 of the notes and of their best passages; too low for notes that cannot be among the k best.

    FTS5 skips eight notes in the time it takes to score one. So the notes with the rarest words are scored first, and
    then only the notes whose highest possible score reaches the k-th best of these.
    """
    match = any_of(words.whole)
    passages = _in_passages(file, words)
    chosen = _possible_best(db, words, passages, notes, weights, k)
    of_note = _bm25(db, match, notes, chosen)
    as_parts = _as_parts(db, words, notes, chosen)
    of_passage = np.where(notes.is_short, of_note, np.float32(0))
    share = weights.share(of_note + as_parts, of_passage + as_parts)
    least = _last(notes.closeness + weights.added(share), k)
    most = notes.closeness + weights.added(share + np.float32(weights.of_passage * passages.most()))
    is_open = ~notes.is_short & (of_note > 0) & (most >= least)
    if is_open.any():
        texts = notes.texts[is_open]
        of_passage[is_open] = _of_texts(texts, *file.passage_scores(match, texts.tolist()))
    return of_note + as_parts, of_passage + as_parts


def _possible_best(
    db: Connection, words: Words, passages: Words, notes: SelectedNotes, weights: Weights, k: int
) -> NDArray[np.bool_] | None:
    """The notes that can be among the k best; None for all of them."""
    head = head_within(words.whole, _FEW_NOTES)
    if head == len(words.whole) or len(notes.numbers) <= _FEW_NOTES:
        return None
    if head:
        of_note = _bm25(db, any_of(words.whole[:head]), notes, None)
    else:
        closest = notes.closeness >= _last(notes.closeness, _FEW_NOTES)
        of_note = _bm25(db, any_of(words.whole), notes, closest)
    share = weights.share(of_note, np.where(notes.is_short, of_note, np.float32(0)))
    as_parts = _PART * sum(word.weight(words.total) for word in words.parts)
    in_note = words.most(head) + as_parts
    in_passage = max(words.most(head), passages.most(head)) + as_parts
    more = np.full_like(share, weights.of_note * in_note + weights.of_passage * in_passage)
    more[of_note > 0] += np.float32(weights.of_passage * (passages.most() - passages.most(head)))
    most = notes.closeness + weights.added(share + more)
    chosen: NDArray[np.bool_] = most >= _last(notes.closeness + weights.added(share), k)
    return chosen


def _last(scores: Scores, k: int) -> float:
    """The lowest score of the k best."""
    return float(np.partition(scores, -k)[-k]) - _EQUAL if len(scores) > k else -np.inf


def _in_passages(file: VectorFile, words: Words) -> Words:
    """The same words, counted by the passages that hold them, in the same order."""
    counts, total = file.passage_counts([word.text for word in words.whole])
    whole = [word._replace(notes=count) for word, count in zip(words.whole, counts, strict=True)]
    return words._replace(whole=whole, total=total)


def _bm25(db: Connection, match: str, notes: SelectedNotes, chosen: NDArray[np.bool_] | None) -> Vectors:
    """The BM25 of the notes, or of the chosen ones; 0 without a match."""
    of_note = np.zeros_like(notes.closeness)
    if match:
        query = "SELECT rowid, -bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH :match"
        rows = np.array(_among(db, query, match, notes, chosen), np.float64).reshape(-1, 2)
        places = notes.places_of(rows[:, 0].astype(np.int64))
        of_note[places[places >= 0]] = rows[places >= 0, 1]
    return of_note


def _as_parts(db: Connection, words: Words, notes: SelectedNotes, chosen: NDArray[np.bool_] | None) -> Vectors:
    """The scores of the notes, or of the chosen ones, for words that they hold as parts of identifiers."""
    scores = np.zeros_like(notes.closeness)
    for word in words.parts:
        query = "SELECT rowid FROM memory_parts WHERE memory_parts MATCH :match"
        rows = np.array(_among(db, query, any_term([word.text]), notes, chosen), np.int64).reshape(-1)
        places = notes.places_of(rows)
        scores[places[places >= 0]] += np.float32(_PART * word.weight(words.total))
    return scores


def _among(
    db: Connection, query: str, match: str, notes: SelectedNotes, chosen: NDArray[np.bool_] | None
) -> list[tuple[Any, ...]]:
    """The rows of a query, of all notes or of the chosen ones."""
    if chosen is None:
        return db.execute(query, {"match": match}).fetchall()
    # The `+` keeps FTS5 from looking up each number separately, which takes a millisecond each.
    query += " AND +rowid IN (SELECT value FROM json_each(:numbers))"
    return db.execute(query, {"match": match, "numbers": json.dumps(notes.numbers[chosen].tolist())}).fetchall()


def _of_texts(wanted: Numbers, texts: Numbers, scores: Vectors) -> Vectors:
    """The scores of the `wanted` texts, in their order; 0 for a text without a score."""
    if not len(texts):
        return np.zeros(len(wanted), np.float32)
    at = np.minimum(np.searchsorted(texts, wanted), len(texts) - 1)
    return np.where(texts[at] == wanted, scores[at], np.float32(0))
