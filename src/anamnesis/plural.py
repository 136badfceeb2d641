"""Counts with their nouns, and lists of names, in English."""

from __future__ import annotations

from collections.abc import Iterable


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun, which gets an `s` unless its plural is given."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def these(count: int, noun: str) -> str:
    """A noun with a demonstrative: this note, these 3 notes."""
    return f"this {noun}" if count == 1 else f"these {counted(count, noun)}"


def listed(names: Iterable[str]) -> str:
    """Names joined for a sentence: a, b and c."""
    *others, last = [*names] or [""]
    return f"{', '.join(others)} and {last}" if others else last
