"""Which notes an agent cited: by id, by title, or by a phrase of their text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from anamnesis.notes import Memory

_WORD = re.compile(r"[^\W_]++")
_ULID = re.compile(r"(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])")
# Two texts rarely share this many consecutive words by chance.
_PHRASE = 8
# Shorter titles also occur in unrelated text.
_LEAST_WORDS, _LEAST_CHARACTERS = 3, 15
# Of a longer note, only the beginning is compared.
_LONGEST_BODY = 20_000


def named_notes(texts: Iterable[str]) -> set[str]:
    """The note ids that occur in texts."""
    return {id for text in texts for id in _ULID.findall(text)}


def cited(notes: Iterable[Memory], texts: Sequence[str]) -> list[str]:
    """The ids of the notes that an agent cited in its texts."""
    known = {note.id: note for note in notes}
    found = named_notes(texts) & known.keys()
    titles = {id: title for id, note in known.items() if (title := _distinctive_title(note.title))}
    phrases = {phrase: id for id, note in known.items() for phrase in _phrases(_words(note.body[:_LONGEST_BODY]))}
    for text in texts:
        words = _words(text)
        said = f" {' '.join(words)} "
        found |= {id for id, title in titles.items() if f" {title} " in said}
        found |= {phrases[phrase] for phrase in _phrases(words) if phrase in phrases} if phrases else set()
    return sorted(found)


def _distinctive_title(title: str) -> str:
    """The title as words; "" if it is too short to identify a note."""
    words = _words(title)
    whole = " ".join(words)
    return whole if len(words) >= _LEAST_WORDS and len(whole) >= _LEAST_CHARACTERS else ""


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _phrases(words: Sequence[str]) -> Iterator[str]:
    return (" ".join(words[start : start + _PHRASE]) for start in range(len(words) - _PHRASE + 1))
