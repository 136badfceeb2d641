"""Splits a text into the word pieces that the model knows: BERT's uncased WordPiece. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

UNKNOWN = 100
_LONGEST_WORD = 100
_MOST_CACHED = 50_000
_WHITE = "\t\n\r"


class WordPiece:
    """A vocabulary, whose line numbers are the ids of the pieces."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._ids = {piece: id for id, piece in enumerate(vocabulary)}
        self._cache: dict[str, list[int]] = {}

    def ids(self, text: str, most: int) -> list[int]:
        """The ids of a text's first `most` pieces; a text without any has one unknown piece.

        A text is read up to where `most` words of the greatest length end: encoded data can be a word of megabytes.
        """
        found: list[int] = []
        cache = self._cache
        for word in _words(text[: most * (_LONGEST_WORD + 1)]):
            pieces = cache.get(word)
            if pieces is None:
                if len(cache) >= _MOST_CACHED:
                    cache.clear()
                pieces = cache[word] = self._pieces(word)
            found += pieces
            if len(found) >= most:
                return found[:most]
        return found or [UNKNOWN]

    def _pieces(self, word: str) -> list[int]:
        """The longest known piece at each position, from the left; a word with an unknown rest is unknown."""
        if len(word) > _LONGEST_WORD:
            return [UNKNOWN]
        pieces: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            for end in range(len(word), start, -1):
                if (id := self._ids.get(prefix + word[start:end])) is not None:
                    break
            else:
                return [UNKNOWN]
            pieces.append(id)
            start, prefix = end, "##"
        return pieces


def _words(text: str) -> list[str]:
    """The words of a text in lower case and without accents; each punctuation mark is a word."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered.translate(_ASCII).split()
    return "".join(map(_separated, unicodedata.normalize("NFD", lowered))).split()


def _separated(letter: str) -> str:
    """A character with the spaces around it that separate it from its neighbours; "" if it is no part of a word."""
    kind = unicodedata.category(letter)
    if kind[0] == "P" or letter in "$+<=>^`|~" or _is_cjk(letter):
        return f" {letter} "
    is_dropped = kind == "Mn" or letter == "\ufffd" or (kind[0] == "C" and letter not in _WHITE)
    return "" if is_dropped else letter


def _is_cjk(letter: str) -> bool:
    """Whether a character is a Chinese ideograph, which is a word of its own."""
    point = ord(letter)
    return point >= 0x3400 and (
        point <= 0x4DBF or 0x4E00 <= point <= 0x9FFF or 0xF900 <= point <= 0xFAFF or 0x20000 <= point <= 0x2FA1F
    )


_ASCII = {code: _separated(chr(code)) for code in range(128)}
