"""The fused search, by words and meaning together: exact, over all notes that a filter selects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from anamnesis.meaning.fusion import COMPLETE, Weights, average, fit, weights
from anamnesis.meaning.matrix import Close, Numbers
from anamnesis.meaning.model import Vectors
from anamnesis.recall.query import query_terms
from anamnesis.recall.relevance import rarity
from anamnesis.store.bm25 import SelectedNotes, Words, best_bm25, held_words, holding_every, query_words
from anamnesis.store.priors import Candidate, candidates, priors, with_use
from anamnesis.store.projects import by_any_name
from anamnesis.store.queries import Filter
from anamnesis.store.question import Question, Ranked, Why
from anamnesis.store.word_search import ranked, word_scores

if TYPE_CHECKING:
    from anamnesis.store.index import Connection
    from anamnesis.store.meaning import Meaning
    from anamnesis.store.usage import Usage

# The priors can lift a note into the k best from this many places below.
_TIED = 24
# The least closeness of a hit that holds no word of the query. Of 3,700 answers to questions about conversations and
# code, one was less close; of notes unrelated to a question, two of three were. A query of one or two words can be
# close to anything, so there the fit is required as well; for longer questions in other words than the note's, the fit
# of a right answer can be low.
LEAST_CLOSE = 0.48
LEAST_FIT, SHORT = 0.2, 2
# A smaller part of a score is rounding.
_NOTHING = 1e-6


class _Comparison(NamedTuple):
    """The notes that a filter selects, the closeness of each to the query, the BM25 of the note and of its best
    passage, its bonus for holding every word, and the weights of words.
    """

    notes: Numbers
    close: Vectors
    of_note: Vectors
    of_passage: Vectors
    complete: Vectors
    by: Weights
    words: Words
    embedded: NDArray[np.bool_]


class _Chosen(NamedTuple):
    """One of the best notes: its position among those compared, its score, and the part of it that its priors add."""

    place: int
    note: Candidate
    score: float
    priors: dict[str, float]


def fused_search(db: Connection, question: Question, meaning: Meaning, usage: Usage) -> list[Ranked]:
    """The k best notes, the newest first on a tie. A note without a word of the query has to be close to it.

    A note that is not embedded yet gets the average closeness, and its fit is None.
    """
    if not query_terms(question.query).terms:
        return []
    compared = _compare(db, question, meaning)
    chosen = _best(db, compared, question, usage)
    held, evidence = _evidence(db, compared, chosen)
    whys = _whys(db, question, meaning, compared, chosen, evidence) if question.explain else [None] * len(chosen)
    found = ranked(db, [(-each.score, each.note.updated_at, each.note.id, each.note.number) for each in chosen])
    # For a quoted phrase, only notes that hold it are wanted.
    has_phrase = '"' in question.query
    least_fit = LEAST_FIT if len(compared.words.notes) <= SHORT else 0.0
    hits = []
    for hit, each, known, words, why in zip(found, chosen, evidence, held, whys, strict=True):
        fits = fit(**known) if compared.embedded[each.place] else None
        is_near = known["closeness"] >= LEAST_CLOSE and (fits or 0.0) >= least_fit
        if words or (fits is not None and not has_phrase and is_near):
            hits.append(hit._replace(fit=fits, why=why))
    return hits


def _compare(db: Connection, question: Question, meaning: Meaning) -> _Comparison:
    notes = selected(db, by_any_name(db, question.wanted))
    of_note = np.zeros(len(notes), np.float32)
    if not len(notes):
        no_words = Words([], [], {}, 0, {})
        return _Comparison(notes, of_note, of_note, of_note, of_note, weights(of_note, []), no_words, of_note > 0)
    places = np.full(int(notes[-1]) + 1, -1)
    places[notes] = np.arange(len(notes))
    close = within(meaning.compare(db, meaning.query(question.query)), places)
    closeness = np.full(len(notes), close.closeness.mean() if len(close.notes) else 0, np.float32)
    closeness[places[close.notes]] = close.closeness
    embedded = np.zeros(len(notes), np.bool_)
    embedded[places[close.notes]] = True
    words = query_words(db, question.query)
    by = weights(closeness, words.holders, words.total)
    of_passage = complete = of_note
    if question.mode == "fused":
        complete = np.float32(COMPLETE) * holding_every(db, words, places)[notes]
        texts = np.full(len(notes), -1)
        long = close.counts > 1
        texts[places[close.notes[long]]] = close.texts[long]
        compared = SelectedNotes(notes, places, closeness + complete, texts)
        of_note, of_passage = best_bm25(db, meaning.file, words, compared, by, question.k + _TIED)
    return _Comparison(notes, closeness, of_note, of_passage, complete, by, words, embedded)


def _best(db: Connection, compared: _Comparison, question: Question, usage: Usage) -> list[_Chosen]:
    """The k best notes by their scores and priors."""
    if not len(compared.notes) or not question.k:
        return []
    score = compared.by.scores(compared.close, compared.of_note, compared.of_passage)
    score += compared.complete
    places = _highest(score, question.k + _TIED)
    notes = with_use(candidates(db, compared.notes[places].tolist()), usage)
    added = priors(db, notes, question.at_hand) if question.mode == "fused" else [{}] * len(notes)
    chosen = [
        _Chosen(place, note, float(score[place]) + sum(some.values()), some)
        for place, note, some in zip(places, notes, added, strict=True)
    ]
    chosen.sort(key=lambda each: (each.note.updated_at, each.note.id), reverse=True)
    chosen.sort(key=lambda each: -round(each.score, 6))
    return chosen[: question.k]


def _highest(scores: Vectors, count: int) -> list[int]:
    """The places of the highest scores, the highest first."""
    some = np.argpartition(-scores, count)[:count] if count < len(scores) else np.arange(len(scores))
    return [int(place) for place in some[np.argsort(-scores[some], kind="stable")]]


def _evidence(
    db: Connection, compared: _Comparison, chosen: list[_Chosen]
) -> tuple[list[set[str]], list[dict[str, float]]]:
    """The words of the query that each note holds, and the inputs of its fit."""
    said = {word: rarity(notes, compared.words.total) for word, notes in compared.words.notes.items()}
    asked_for = sum(said.values()) or 1.0
    held = held_words(db, compared.words, [each.note.number for each in chosen])
    usual = average(compared.close)
    return held, [
        {
            "closeness": float(compared.close[each.place]),
            "average": usual,
            "coverage": sum(said[word] for word in words) / asked_for,
            "notes": float(len(compared.notes)),
        }
        for each, words in zip(chosen, held, strict=True)
    ]


def _whys(
    db: Connection,
    question: Question,
    meaning: Meaning,
    compared: _Comparison,
    chosen: list[_Chosen],
    evidence: list[dict[str, float]],
) -> list[Why]:
    query = meaning.query(question.query)
    words = word_scores(db, compared.words.whole, [each.note.number for each in chosen])
    by = compared.by
    share = by.share(compared.of_note, compared.of_passage)
    added = by.added(share) / np.maximum(share, np.float32(1e-9))
    found = []
    for each, known in zip(chosen, evidence, strict=True):
        close = float(compared.close[each.place])
        passage, cosine = meaning.closest(db, each.note.id, query)
        by_meaning = {"meaning": cosine, "length": close - cosine} if passage else {"average": close}
        by_words = {
            "words": by.of_note * float(added[each.place] * compared.of_note[each.place]),
            "passage": by.of_passage * float(added[each.place] * compared.of_passage[each.place]),
            "every word": float(compared.complete[each.place]),
        }
        parts = {**by_meaning, **by_words, **each.priors}
        shown = {name: part for name, part in parts.items() if abs(part) > _NOTHING}
        found.append(Why(words[each.note.number], passage, shown, known, _use(each.note)))
    return found


def _use(note: Candidate) -> dict[str, float]:
    if note.use is None or note.strength is None:
        return {}
    return {"strength": note.strength, "uses": note.use.uses, "sessions": note.use.sessions}


def selected(db: Connection, wanted: Filter) -> Numbers:
    """The numbers of the notes that a filter selects and no other note supersedes, in order."""
    selected: dict[tuple[Filter, frozenset[str]], Numbers] = db.learned().selected
    key = wanted, db.idle()
    if key not in selected:
        notes = _numbers(db, f"SELECT m.number FROM memories AS m WHERE {wanted.sql}", wanted.values)
        hidden = "SELECT superseded_id FROM supersessions WHERE hides(memory_id)"
        superseded = _numbers(db, f"SELECT number FROM memories WHERE id IN ({hidden})", {})
        selected[key] = np.setdiff1d(notes, superseded, assume_unique=True) if len(superseded) else notes
    return selected[key]


def _numbers(db: Connection, query: str, values: Mapping[str, Any]) -> Numbers:
    """The numbers that a query selects, in order. As one text they take a quarter of the time of 50,000 rows."""
    (text,) = db.execute(f"SELECT group_concat(number) FROM ({query})", values).fetchone()
    return np.sort(np.fromstring(text or "", np.int64, sep=","))


def within(close: Close, places: Numbers) -> Close:
    """Those of the compared notes that are selected."""
    known = close.notes < len(places)
    known[known] = places[close.notes[known]] >= 0
    return close.where(known)


def newest_first(db: Connection, notes: Numbers, scores: Vectors) -> list[tuple[float, str, str, int]]:
    """The notes as rows for `ranked`: with their scores (lower is better), times and ids; newest first on a tie."""
    known = zip(candidates(db, notes.tolist()), scores.tolist(), strict=True)
    found = [(-score, note.updated_at, note.id, note.number) for note, score in known]
    newest = sorted(found, key=lambda row: row[1:3], reverse=True)
    return sorted(newest, key=lambda row: round(row[0], 6))
