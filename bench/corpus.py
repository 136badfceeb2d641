"""Synthetic stores: notes of 120 words from a Zipf vocabulary, as files that every program can read."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator
from pathlib import Path

from anamnesis.notes import TYPES, Memory, render, ulid

WORDS_A_NOTE = 120
VOCABULARY = 20_000
PROJECTS = 20
_SYLLABLES = [a + b for a in "bcdfghjklmnprstvwz" for b in "aeiou"]


class Vocabulary:
    """Made-up words, the same for every seed; the r-th is drawn in proportion to 1/r, as in real text."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words = _made_up_words()
        self._weights = list(itertools.accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))

    def text(self, words: int) -> str:
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=words))


@functools.cache
def _made_up_words() -> list[str]:
    syllables = random.Random(7)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(syllables.choices(_SYLLABLES, k=syllables.randint(2, 4)))] = None
    return list(words)


def notes(count: int, seed: int = 7) -> Iterator[Memory]:
    vocabulary = Vocabulary(seed)
    for number in range(count):
        second = f"{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}"
        stamp = f"2026-{number // 86400 % 12 + 1:02d}-01T{second}+00:00"
        yield Memory(
            id=ulid(1_780_000_000_000 + number, number),
            type=TYPES[number % 3],
            title=vocabulary.text(6),
            body=vocabulary.text(WORDS_A_NOTE),
            project=f"github.com/acme/project-{number % PROJECTS}",
            machine_id="bench",
            tags=vocabulary.text(2).split(),
            created_at=stamp,
            updated_at=stamp,
        )


def write_store(root: Path, count: int) -> None:
    """Write only the files; each program builds its own index."""
    for kind in TYPES:
        (root / "memory" / kind).mkdir(parents=True, exist_ok=True)
    for note in notes(count):
        (root / "memory" / note.type / f"{note.id}.md").write_text(render(note), encoding="utf-8")


def queries(count: int, words: int, seed: int = 11) -> list[str]:
    """Queries with the notes' own mix of common and rare words."""
    vocabulary = Vocabulary(seed)
    return [vocabulary.text(words) for _ in range(count)]
