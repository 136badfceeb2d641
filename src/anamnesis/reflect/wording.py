"""Whether two statements say the same, by their words alone, so that the result is the same on every machine. Pure.

Precision goes before recall: statements that say the same in other words both stay, and a dream may merge them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from anamnesis.light import lazy_pattern
from anamnesis.recall.query import is_function_word
from anamnesis.reflect.cues import EMPTY, NEGATIONS, OPENERS, UNSPACED_NEGATIONS

# A word; in Chinese, Japanese and Korean, a character.
_UNSPACED = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = lazy_pattern(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]++(?:'[a-z]++)?")
_ENDING = lazy_pattern("(?:ing|ed|es|s|e)$")
_SHORTEST_STEM = 3
# Two statements are the same only if the shorter has this part of the words of the longer.
_LEAST_SHARED = 0.6
_FEWEST_WORDS = 3


class Wording(NamedTuple):
    """The stems of the meaningful words of a statement, in order, and the number of its negations."""

    words: tuple[str, ...]
    negations: int


@lru_cache(maxsize=10_000)
def wording(text: str) -> Wording:
    """The wording of a statement, without the words that introduce it."""
    plain = text.casefold().replace("’", "'")
    words = _TOKEN.findall(plain)
    negations = sum(word in NEGATIONS for word in words) + sum(plain.count(part) for part in UNSPACED_NEGATIONS)
    said = (word for word in words if not is_function_word(word) and word not in OPENERS and word not in NEGATIONS)
    return Wording(tuple(map(_stem, said)), negations)


def holds(one: Wording, other: Wording) -> bool:
    """Whether one says all that the other says: it has its words in the same order, and as many negations."""
    if not other.words or one.negations != other.negations:
        return False
    rest = iter(one.words)
    return all(word in rest for word in other.words)


def says_same(one: Wording, other: Wording) -> bool:
    short, long = sorted((one, other), key=lambda each: len(each.words))
    return holds(long, short) and len(short.words) >= _LEAST_SHARED * len(long.words)


def is_empty(text: str) -> bool:
    """Whether a statement says too little to be understood alone: "The fix was simple."."""
    return len([word for word in wording(text).words if word not in _EMPTY]) < _FEWEST_WORDS


def _stem(word: str) -> str:
    """A word without its English ending. Names with digits or underscores are whole."""
    if not word.isascii() or not word.isalpha():
        return word
    stem = _ENDING.sub("", word)
    if len(stem) < _SHORTEST_STEM:
        return word
    return stem[:-1] if len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2] else stem


_EMPTY = frozenset(map(_stem, EMPTY))
