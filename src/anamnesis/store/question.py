"""The question of a search, and its hits: notes by their ids, before their files are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from anamnesis.notes.foreign import Origin
from anamnesis.recall.query import MODES, Mode
from anamnesis.store.queries import Filter

__all__ = ["MODES", "Mode", "Question", "Ranked", "Ranker", "Why", "by_words_alone"]

# A reason is shown with at most this many words, and with the beginnings of long texts.
_MOST_WORDS = 16
_LONGEST_WORD, _LONGEST_PASSAGE = 60, 300


# Below this probability, a hit is more likely to miss the question than to answer it.
_FITTING = 0.5


def is_weak(fit: float | None) -> bool:
    """Whether a hit with this probability of answering the question is more likely to miss it."""
    return fit is not None and fit < _FITTING


class Question(NamedTuple):
    """A query, the filter of the notes, and how they are ranked.

    `like` is the id of a note, given instead of a query, to find the notes that are close to it. `warm` uses only a
    model that is already loaded; without one nothing is found.
    """

    query: str
    wanted: Filter
    k: int
    mode: Mode = "fused"
    explain: bool = False
    # The current project, if the filter has none: of notes with nearly equal scores, its own come first.
    at_hand: str | None = None
    like: str = ""
    warm: bool = False


class Why(NamedTuple):
    """The reasons for a hit.

    `words` are those that matched, each with its BM25. `passage` is the one that is closest in meaning. The `parts` sum
    up to the score. `evidence` has the inputs of `fit`. `use` has the strength of a note that was used on this machine,
    the number of its uses and of their sessions; the part of the score that the strength adds is among the parts.
    """

    words: dict[str, float]
    passage: str
    parts: dict[str, float]
    evidence: dict[str, float]
    use: dict[str, float]

    def shown(self) -> dict[str, Any]:
        """The reasons in a readable length."""
        words = [(word[:_LONGEST_WORD], weight) for word, weight in self.words.items()][:_MOST_WORDS]
        return {
            "words": _rounded(dict(words)),
            "passage": self.passage[:_LONGEST_PASSAGE],
            "parts": _rounded(self.parts),
            "evidence": _rounded(self.evidence),
            "use": _rounded(self.use),
        }


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


class Marks(NamedTuple):
    """The marks of a note: the notes that outdate it and those that contradict it, newest first, and what is stale;
    in a hit also its origin, if it is foreign."""

    outdated_by: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    stale: str = ""
    origin: Origin | None = None

    def as_marks(self) -> dict[str, str]:
        """The marks as in the front matter of the note."""
        return {
            "updated_by": " ".join(self.outdated_by),
            "contradicts": " ".join(self.contradicts),
            "stale": self.stale,
        }

    @property
    def brief(self) -> str:
        """The marks in a few words."""
        words = {"outdated": self.outdated_by, "contradicted": self.contradicts, "stale": self.stale}
        found = [word for word, value in words.items() if value]
        return ", ".join([self.origin.brief, *found] if self.origin else found)

    def sentences(self) -> list[str]:
        """The marks in words."""
        from anamnesis.notes.marks import mark_sentences  # hooks need not import it

        found = mark_sentences(self.as_marks())
        return [self.origin.sentence, *found] if self.origin else found

    def shown(self) -> dict[str, Any]:
        """The marks that the note has, as surfaces show them."""
        marks = {
            "outdated_by": next(iter(self.outdated_by), ""),
            "contradicts": list(self.contradicts),
            "stale": self.stale,
        }
        found = {name: value for name, value in marks.items() if value}
        return self.origin.shown() | found if self.origin else found


# Ranks notes by meaning; returns None if it cannot, and the search then uses words alone.
Ranker = Callable[[Question], list[Ranked] | None]


def by_words_alone(question: Question) -> None:
    """The ranker of a process that does not compare meaning."""


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}
