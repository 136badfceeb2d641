"""ULIDs: 48 bits of milliseconds and 80 random bits in 26 characters that sort by time."""

from __future__ import annotations

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid(milliseconds: int, randomness: int) -> str:
    """The ULID of a moment and 80 random bits."""
    number = (milliseconds << 80) | randomness
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
