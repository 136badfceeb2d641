"""The keys by which near-duplicates are found: pairs of a note's rarest words, as numbers. Pure.

A reworded text keeps its names, values and rare words, and a truncated text keeps some of them. MinHash draws words
at random instead: it misses short sentences in which half the words were replaced, or finds too many others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import combinations
from typing import NamedTuple

from anamnesis import meaning
from anamnesis.dream.grammar import CLASS_OF, DROPPED, NUMBER_OF
from anamnesis.dream.thesaurus import stem
from anamnesis.light import blake2b, lazy_pattern
from anamnesis.notes import Memory

# To be incremented when the keys are computed differently.
VERSION = 2
_WORD = lazy_pattern(r"[\u3400-\u9fff\uac00-\ud7a3]|\w++", re.UNICODE)
# The number of rarest words that represent a part of a note, the words of a part, and the number of parts.
_RAREST, _PART, _MOST_PARTS = 8, 60, 8
_LONGEST_TEXT = 40_000
_MASK = (1 << 63) - 1


class Sketch(NamedTuple):
    """The keys of a note, and a number below 2**16 for each of its words.

    Notes of the same project and scope that share a key may say the same; the more words they share, the more likely.
    """

    keys: set[int]
    words: set[int]


def sketch_of(note: Memory) -> Sketch:
    seed = _number(f"{note.project}\n{note.scope}")
    found = _WORD.findall(f"{note.title}\n{note.body}"[:_LONGEST_TEXT].casefold())
    words = [word for word in map(_known, found) if word]
    keys = {(seed ^ (first * 3 + second)) & _MASK for part in _parts(words) for first, second in _pairs(part)}
    if len({*words}) == 1:
        keys.add((seed ^ words[0]) & _MASK)
    return Sketch(keys, {word & 0xFFFF for word in words})


def _parts(words: Sequence[int]) -> Iterator[Sequence[int]]:
    """All words, and those of each part of a long text: a truncated version may have only one of the parts."""
    yield words
    if len(words) > _PART:
        yield from (words[start : start + _PART] for start in range(0, len(words), _PART)[:_MOST_PARTS])


def _pairs(words: Sequence[int]) -> Iterator[tuple[int, int]]:
    return combinations(sorted([word & _MASK for word in sorted({*words})[:_RAREST]]), 2)


@lru_cache(maxsize=200_000)
def _known(word: str) -> int:
    """A number for a telling word, 0 for others: the rank of its stem (rarer is smaller), then the stem's hash."""
    if not _tells(word):
        return 0
    common, number = rarity(stem(word))
    return (len(_ranks()) + common) << 63 | number


def _tells(word: str) -> bool:
    """Whether a word is neither a function word nor a part of a date."""
    if word in DROPPED or word in CLASS_OF or word in NUMBER_OF:
        return False
    return (
        not word.isdecimal()
        or len(word) == 3
        or len(word) > 4
        or (len(word) == 4 and not word.startswith(("19", "20")))
    )


@lru_cache(maxsize=100_000)
def rarity(word: str) -> tuple[int, int]:
    """A sort key by rarity, the rarest first: words that are not in the model's vocabulary, then the others."""
    return -_ranks().get(word, len(_ranks())), _number(word)


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()) & _MASK


@cache
def _ranks() -> dict[str, int]:
    """The stems of the model's vocabulary, which is roughly in the order of frequency."""
    text = (files(meaning) / "data" / "vocab.txt").read_text("utf-8")
    found: dict[str, int] = {}
    for rank, word in enumerate(text.splitlines()):
        if word.isalpha() or word.isdecimal():
            found.setdefault(stem(word), rank)
    return found
