"""What a search asks for, and what it finds: notes by their ids, before their files are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from anamnesis.store.queries import Filter

# By words and meaning together, by words alone, or by meaning alone.
Mode = Literal["fused", "words", "meaning"]
MODES = get_args(Mode)


class Question(NamedTuple):
    """A query, the notes that it is about, and how they are ranked.

    Instead of a query, the id of a note: `like` asks for the notes that are close to it. `warm` asks only a model that
    is loaded; without one nothing is found.
    """

    query: str
    wanted: Filter
    k: int
    mode: Mode = "fused"
    explain: bool = False
    like: str = ""
    warm: bool = False


class Why(NamedTuple):
    """The parts of a hit's score: the weight of each word that matched, and the passage that is closest in meaning."""

    words: dict[str, float]
    passage: str
    parts: dict[str, float]


class Ranked(NamedTuple):
    """A search hit, with the size and mtime of its file when it was indexed. A higher score is better.

    `fit` is the probability that the note answers the query, where meaning was compared.
    """

    id: str
    path: str
    score: float
    seen: tuple[int, int]
    fit: float | None = None
    why: Why | None = None


# Ranks notes by meaning; None if it cannot, and then words alone decide.
Ranker = Callable[[Question], list[Ranked] | None]


def by_words_alone(question: Question) -> None:
    """The ranker of a process that does not compare meaning."""
