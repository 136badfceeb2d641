"""Counts with their nouns: 1 note, 2 notes."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun, which gets an `s` unless its plural is given."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
