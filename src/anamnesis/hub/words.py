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
# PostgreSQL's limit for the words of a row is a megabyte; what follows in a longer note is not searched.
_MOST_CHARACTERS = 150_000


class Document(NamedTuple):
    """The words of a note: those of its title and tags, those of its body, and how many there are."""

    heading: str
    body: str
    words: int


def document(note: Memory) -> Document:
    heading = cut(f"{note.title} {' '.join(note.tags)}")
    text = note.body[:_MOST_CHARACTERS]
    body = cut(text)
    parts = cut(joined_parts(f"{note.title}\n{text}"))
    return Document(" ".join(heading), " ".join([*body, *parts]), len(heading) + len(body))


def cut(text: str) -> list[str]:
    """The words of a text, in order, in lower case and without accents."""
    if not text.isascii():
        text = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    return [word for word in _WORD.findall(text.lower()) if len(word) <= _LONGEST_WORD]
