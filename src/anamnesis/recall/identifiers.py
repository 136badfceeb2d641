"""Identifiers and their parts: `getUserById` is get, user, by and id, and so is `get_user_by_id`. Pure."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import NamedTuple

from anamnesis.light import lazy_pattern
from anamnesis.recall.query import MOST_REPEATS, MOST_WORDS, is_function_word, query_terms

# `IDs` is one part, not two.
_PART = "[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_PARTS = lazy_pattern(_PART)
# Most texts have no capital or digit after a letter. Finding that out takes a sixth of the time of `_JOINED`.
_BORDER = lazy_pattern(r"[A-Z0-9](?<=[A-Za-z].)")
# A word of several parts. With more of them it is a hash or encoded data; so is most of what begins with a digit.
_JOINED = lazy_pattern(rf"(?<![^\W_])(?=[A-Za-z])(?>{_PART}){{2,8}}+(?![^\W_])")
# A numbered name such as worker17 is searched for as a whole: its parts would find all the others.
_NUMBERED = lazy_pattern("[A-Za-z]+[0-9]+")
_WORD = lazy_pattern(r"[^\W_]+")
# A path, a dotted name, a hyphenated word: words with nothing but such marks between them.
_CHAIN = lazy_pattern(r"(?<!\w)\w++(?:[-./:\\]{1,2}\w++){1,16}")
_MOST_CHAINS = 16


def joined_parts(text: str) -> str:
    """The parts of identifiers that the index has as one word, without parts that are also words of the text."""
    if not _BORDER.search(text):
        return ""
    parts = {part for word in _JOINED.findall(text) for part in _split(word)}
    return " ".join(sorted(parts - set(_WORD.findall(text.lower())))) if parts else ""


def parts_of(word: str) -> list[str]:
    """The parts of an identifier, in lower case; none for a word that has no parts."""
    joined = [inner for inner in word.split("_") if inner]
    parts = [part for inner in joined for part in (_split(inner) if _JOINED.fullmatch(inner) else [inner.lower()])]
    return parts if len(parts) > 1 else []


def _split(word: str) -> list[str]:
    return [part.lower() for part in _PARTS.findall(word)]


class SplitQuery(NamedTuple):
    """The terms of a query, with its identifiers split into parts.

    `words` are its words and phrases, with the parts in place of the identifiers. `wholes` are all spellings of the
    identifiers, each with its parts, and its paths as phrases. `named` are the parts of each identifier.
    """

    words: Counter[str]
    wholes: dict[str, list[str]]
    named: list[list[str]]


def split_query(query: str) -> SplitQuery:
    words, wholes, named = Counter[str](), dict[str, list[str]](), []
    for term, times in query_terms(query).terms.items():
        parts = parts_of(term)
        if parts:
            spellings = " ".join(parts), "".join(parts)
            parts = list(dict.fromkeys(part for part in parts if not is_function_word(part)) or parts)
            named.append(parts)
            if _NUMBERED.fullmatch(term):
                parts = [term.lower()]
            wholes |= dict.fromkeys(spellings, parts)
        for word in parts or [term.lower()]:
            if len(words) < MOST_WORDS or word in words:
                words[word] = min(words[word] + times, MOST_REPEATS)
    for match in islice(_CHAIN.finditer(query), _MOST_CHAINS):
        wholes.setdefault(" ".join(_WORD.findall(match[0].lower())), [])
    return SplitQuery(words, {whole: parts for whole, parts in wholes.items() if whole and whole not in words}, named)
