"""Selects the candidates of a search: an index query that finds all notes with a top score and few others. Pure.

The index has each word of a note, and again with a level if the word is frequent in it (`leveled` in the schema). The
index therefore bounds what a word can add to the score of a note, and a note that cannot reach the k-th best score is
never read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# A word has a level by its count in a note, divided by 0.25 + 0.75 * words / _LENGTH of the note; as in the schema.
_LEVELS = (1.5, 2.5, 4.0)
_LENGTH = 200
# A word adds less than this many times its weight.
_MOST = 2.2
# Up to this many notes of a word are scored directly, without intersecting them with other words.
_FEW = 100
# Words in one condition of the query; more make it long and hardly more selective.
_DEPTH = 2
# The likely score considers every combination of this many of the rarest words.
_COMBINED = 5


class Term(NamedTuple):
    """A word or phrase as stems, its weight, and how many notes hold it."""

    text: str
    weight: float
    notes: int


def likely_score(terms: Sequence[Term], total: int, notes: int, most: float = math.inf) -> float:
    """The score that about `notes` of `total` notes reach, if words are distributed at random.

    It is higher if more than `most` notes would reach it.
    """
    reached = [(sum(term.weight * _mean(term, total) for term in terms[_COMBINED:]), float(total))]
    for term in terms[:_COMBINED]:
        share, once = _shares(term, total)
        further = [(once, 1.0), (share - once, _saturated(_times(term, total)))]
        reached = [(score, count * (1 - share)) for score, count in reached] + [
            (score + term.weight * impact, count * part) for part, impact in further for score, count in reached
        ]
    held, likely = 0.0, 0.0
    for score, count in sorted(reached, reverse=True):
        if held >= notes or (held >= 1 and count > most):
            return likely
        held, likely = held + count, score
    return likely


def entries(terms: Sequence[Term], least: float) -> int:
    """About how many entries of the index a query for this score reads. `terms` are sorted, the rarest first."""
    rests = _rests(terms)
    return sum(term.notes for term, rest in zip(terms, rests, strict=False) if rest >= least)


def matching(terms: Sequence[Term], least: float, average: float) -> str:
    """Tsqueries, separated by `;`, for the notes that can reach a score in spaces of this average length of a note.

    An @ is replaced by the number of a space. `terms` are sorted, the rarest first. Several short queries are faster
    than one: the index evaluates a whole query for each note with one of its words.
    """
    bounds = [*(_bound(level, average) for level in _LEVELS), _MOST]
    return ";".join(_alternatives(terms, _rests(terms), bounds, 0, least, _DEPTH))


def _bound(level: float, average: float) -> float:
    """The maximum that a word below a level adds, in weights: the level is per length, so short notes decide it."""
    shortest = ((times, max(0.0, (times / level - 0.25) * _LENGTH / 0.75)) for times in range(1, 9))
    most = max(times / (0.25 + 0.75 * words / average) for times, words in shortest)
    return _saturated(max(most, level * average / _LENGTH))


def _alternatives(
    terms: Sequence[Term], rests: Sequence[float], bounds: Sequence[float], start: int, least: float, depth: int
) -> Iterator[str]:
    """Conditions; a note meets at least one of them if its terms from `start` on can add `least`."""
    for place in range(start, len(terms)):
        if rests[place] < least:
            return
        term, before = terms[place], ""
        is_phrase = " " in term.text
        for level, bound in enumerate([_MOST] if is_phrase else bounds):
            missing = least - bound * term.weight
            if missing > rests[place + 1]:
                continue
            if missing <= 0 or depth == 1 or term.notes <= _FEW:
                yield _lexemes(term, level)
                break
            others = " | ".join(_alternatives(terms, rests, bounds, place + 1, missing, depth - 1))
            if others != before:
                yield f"{_lexemes(term, level)} & ({others})"
                before = others


def _lexemes(term: Term, level: int) -> str:
    """A term with at least this level. Words are letters and digits, so that they need no escape."""
    words = " & ".join(f"'@{word}{f'/{level}' if level else ''}'" for word in term.text.split(" "))
    return f"({words})" if " " in term.text else words


def _rests(terms: Sequence[Term]) -> list[float]:
    """For each place, the maximum that the terms from there on add together; 0 at the end."""
    rests = [0.0]
    for term in reversed(terms):
        rests.append(rests[-1] + _MOST * term.weight)
    return rests[::-1]


def _saturated(times: float) -> float:
    """The contribution of a word to the score of a note of average length, in weights."""
    return _MOST * times / (times + 1.2)


def _shares(term: Term, total: int) -> tuple[float, float]:
    """The share of the notes that hold a word, and of those that hold it once."""
    share = min(term.notes / total, 1 - 0.5 / total)
    return share, -(1 - share) * math.log1p(-share)


def _times(term: Term, total: int) -> float:
    """How often a word is in a note that holds it more than once."""
    share, once = _shares(term, total)
    return (-math.log1p(-share) - once) / (share - once)


def _mean(term: Term, total: int) -> float:
    share, once = _shares(term, total)
    return once + (share - once) * _saturated(_times(term, total))
