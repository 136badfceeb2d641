"""A query and a passage that answers it: what the model learns from. Pure, but for reading and writing the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_MOST_WORDS, _MOST_LETTERS = 130, 1_100
_SHORTEST_QUERY, _LONGEST_QUERY, _SHORTEST_PASSAGE = 4, 400, 25
# Two pairs with one query are the same if their passages begin alike.
_BEGINNING = 200
_DOCSTRING = re.compile(r'("""|\'\'\').*?\1', re.DOTALL)


class Pair(NamedTuple):
    source: str
    query: str
    passage: str


def accepted(pairs: Iterable[Pair], excluded: Iterable[str] = ()) -> Iterator[Pair]:
    """The pairs that are worth learning, cut to the length that is read, each once.

    `excluded` are texts that may not be learned, because the model will be judged by them.
    """
    judged = {fingerprint(text) for text in excluded}
    seen: set[tuple[str, str]] = set()
    for pair in pairs:
        query, passage = " ".join(pair.query.split()), pair.passage.strip()
        if not _SHORTEST_QUERY <= len(query) <= _LONGEST_QUERY or len(passage) < _SHORTEST_PASSAGE:
            continue
        key = query, passage[:_BEGINNING]
        if key in seen or fingerprint(passage) in judged:
            continue
        seen.add(key)
        yield Pair(pair.source, query, " ".join(passage.split(" ")[:_MOST_WORDS])[:_MOST_LETTERS])


def fingerprint(text: str) -> str:
    """The first letters of a text without docstrings: what copies of one function have in common."""
    return re.sub(r"\W+", "", _DOCSTRING.sub("", text))[:120]


def write(path: Path, pairs: Iterable[Pair]) -> dict[str, int]:
    """Write one pair a line as JSON; returns how many pairs each source has."""
    counts: dict[str, int] = {}
    with path.open("w", encoding="utf-8") as file:
        for pair in pairs:
            counts[pair.source] = counts.get(pair.source, 0) + 1
            file.write(json.dumps(pair) + "\n")
    return counts


def read(path: Path) -> list[Pair]:
    with path.open(encoding="utf-8") as file:
        return [Pair(*json.loads(line)) for line in file]
