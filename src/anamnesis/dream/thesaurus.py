"""English words that can replace each other: forms of one word, and synonyms. data/NOTICES.md names the sources."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files

_SHORTEST = 3
_VOWELS = frozenset("aeiouy")


@cache
def _synonyms() -> dict[str, list[str]]:
    """The synonyms of each word. The file has each pair once."""
    found: dict[str, list[str]] = {}
    for line in _text()[0].splitlines():
        word, *others = line.split()
        found.setdefault(word, []).extend(others)
        for other in others:
            found.setdefault(other, []).append(word)
    return found


@cache
def _irregular() -> dict[str, str]:
    """The base form of each irregular form."""
    forms = (line.partition(" ") for line in _text()[1].splitlines())
    return {form: word for form, _, word in forms}


@cache
def _text() -> tuple[str, str]:
    pairs, _, irregular = (files("anamnesis.dream") / "data" / "thesaurus.txt").read_text("utf-8").partition("\n\n")
    return pairs, irregular


@lru_cache(maxsize=50_000)
def bases(word: str) -> frozenset[str]:
    """The possible base forms of a word in lower case: itself, and the word without an ending."""
    found = {word}
    if irregular := _irregular().get(word):
        found.add(irregular)
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        found.add(word[:-1])
        if word.endswith("es"):
            found.add(word[:-2])
        if word.endswith("ies"):
            found.add(f"{word[:-3]}y")
    for ending in ("ed", "ing"):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            found |= {rest, f"{rest}e"}
            if rest.endswith("i"):
                found.add(f"{rest[:-1]}y")
            if len(rest) > _SHORTEST and rest[-1] == rest[-2]:
                found.add(rest[:-1])
    return frozenset(
        each for each in found if each == word or (len(each) >= _SHORTEST and not _VOWELS.isdisjoint(each))
    )


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A key that the regular forms of a word share; other words may have the same key."""
    rest = min(bases(word), key=lambda each: (len(each), each))
    return rest[:-1] if rest.endswith("e") and len(rest) > _SHORTEST else rest


@lru_cache(maxsize=50_000)
def reach(word: str) -> frozenset[str]:
    """The base forms that can replace a word: its own base forms, and their synonyms."""
    found = bases(word)
    return found.union(*(_synonyms().get(base, ()) for base in found))


def are_alike(one: str, other: str) -> bool:
    """Whether two words, or phrases joined by "_", are forms of one word or of synonyms."""
    return not reach(one).isdisjoint(bases(other))


def is_ordinary(word: str) -> bool:
    """Whether a word in lower case is in the thesaurus, so that it is not a name."""
    return any(base in _synonyms() for base in bases(word))
