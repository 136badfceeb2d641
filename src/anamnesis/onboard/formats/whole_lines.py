"""Inserts and removes whole lines; the file ends with or without a newline as before."""

from __future__ import annotations

from collections.abc import Collection, Iterable


def split(text: str) -> list[str]:
    """The lines with their ends; only a line feed ends a line."""
    return [line + "\n" for line in text.split("\n")[:-1]] + ([last] if (last := text.rpartition("\n")[2]) else [])


def insert(lines: list[str], at: int, new: Iterable[str], newline: str) -> list[str]:
    """Insert lines, given without ends, before line `at`. A last line without an end stays without one."""
    added = [line + newline for line in new]
    at = min(at, len(lines))
    if added and at and not lines[at - 1].endswith("\n"):
        added[-1] = added[-1].removesuffix(newline)
        return [*lines[: at - 1], lines[at - 1] + newline, *added]
    return [*lines[:at], *added, *lines[at:]]


def cut(lines: list[str], numbers: Collection[int]) -> list[str]:
    """Remove lines; if the last line had no end, the new last one has none."""
    kept = [line for number, line in enumerate(lines) if number not in numbers]
    if kept and len(lines) - 1 in numbers and not lines[-1].endswith("\n"):
        kept[-1] = kept[-1].rstrip("\r\n")
    return kept
