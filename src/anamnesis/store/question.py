"""What a search asks for, and what it finds: notes by their ids, before their files are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from anamnesis.recall.query import MODES, Mode
from anamnesis.store.queries import Filter

__all__ = ["MODES", "Mode", "Question", "Ranked", "Ranker", "Why", "by_words_alone"]

# How much of a reason is shown to a reader: this many words, and the beginnings of long texts.
_MOST_WORDS = 16
_LONGEST_WORD, _LONGEST_PASSAGE = 60, 300


# Below this probability, a hit is more likely to miss the question than to answer it.
_FITTING = 0.5


def is_weak(fit: float | None) -> bool:
    """Whether a hit with this probability to answer the question probably does not."""
    return fit is not None and fit < _FITTING


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
    # The project that is being worked on, where no other is asked for: of notes that score alike, its own come first.
    at_hand: str | None = None
    like: str = ""
    warm: bool = False


class Why(NamedTuple):
    """The reasons for a hit.

    `words` are those that matched, each with its BM25. `passage` is the one that is closest in meaning. The `parts` sum
    up to the score. `evidence` is what `fit` is computed from. `use` is the strength of a note that was used on this
    machine, how often that was, and in how many sessions; what the strength adds to the score is among the parts.
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


class Marked(NamedTuple):
    """The notes that outdate a note and those that contradict it, the newest first; and what makes it stale."""

    outdated_by: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    stale: str = ""

    def as_marks(self) -> dict[str, str]:
        """The marks as in the front matter of the note."""
        return {
            "updated_by": " ".join(self.outdated_by),
            "contradicts": " ".join(self.contradicts),
            "stale": self.stale,
        }

    @property
    def brief(self) -> str:
        """The marks in one word each."""
        words = {"outdated": self.outdated_by, "contradicted": self.contradicts, "stale": self.stale}
        return ", ".join(word for word, value in words.items() if value)

    def told(self) -> list[str]:
        """The marks in words."""
        from anamnesis.notes.marks import told  # hooks need not import it

        return told(self.as_marks())

    def shown(self) -> dict[str, Any]:
        """The marks as surfaces show them: only those that there are."""
        marks = {
            "outdated_by": next(iter(self.outdated_by), ""),
            "contradicts": list(self.contradicts),
            "stale": self.stale,
        }
        return {name: value for name, value in marks.items() if value}


# Ranks notes by meaning; None if it cannot, and then words alone decide.
Ranker = Callable[[Question], list[Ranked] | None]


def by_words_alone(question: Question) -> None:
    """The ranker of a process that does not compare meaning."""


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}
