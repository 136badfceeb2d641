"""How a text is cut into words, for notes and for queries alike; PostgreSQL stems them. Pure."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from anamnesis.light import lazy_pattern
from anamnesis.notes import Memory
from anamnesis.recall.identifiers import joined_parts

_WORD = lazy_pattern(r"[^\W_]+")
# A longer one is encoded data.
_LONGEST_WORD = 80
# What follows in a longer text is not searched.
_MOST_CHARACTERS = 150_000
# PostgreSQL has a megabyte for the words of a row: for each word, the number of its space and a count, and for each of
# its first places two bytes. Further words are not searched.
_MOST_BYTES = 1_000_000
_BYTES_OF_WORD, _BYTES_OF_PLACE = 16, 2


class Document(NamedTuple):
    """The words of a note: those of its title and tags, those of its body, and how many there are."""

    heading: str
    body: str
    words: int


def document(note: Memory) -> Document:
    room = _Room()
    title, text = note.title[:_MOST_CHARACTERS], note.body[:_MOST_CHARACTERS]
    heading = room.take(cut(f"{title} {' '.join(note.tags)[:_MOST_CHARACTERS]}"))
    body = room.take(cut(text))
    parts = room.take(cut(joined_parts(f"{title}\n{text}")))
    return Document(" ".join(heading), " ".join([*body, *parts]), len(heading) + len(body))


class _Room:
    """The bytes that PostgreSQL has for the words of one note."""

    def __init__(self) -> None:
        self._left = _MOST_BYTES
        self._known: set[str] = set()

    def take(self, words: list[str]) -> list[str]:
        """The first of the words, as far as there is room."""
        for number, word in enumerate(words):
            self._left -= _BYTES_OF_PLACE + (0 if word in self._known else _BYTES_OF_WORD + len(word.encode()))
            if self._left < 0:
                return words[:number]
            self._known.add(word)
        return words


def cut(text: str) -> list[str]:
    """The words of a text, in order, in lower case and without accents."""
    if not text.isascii():
        text = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    return [word for word in _WORD.findall(text.lower()) if len(word) <= _LONGEST_WORD]
