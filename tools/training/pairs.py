"""Training pairs: a query and a passage that answers it. Pure, except for reading and writing the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_MOST_WORDS, _MOST_LETTERS = 130, 1_100
_SHORTEST_QUERY, _LONGEST_QUERY, _SHORTEST_PASSAGE = 4, 400, 25
# Pairs with the same query are duplicates if their passages begin with the same characters.
_BEGINNING = 200
_DOCSTRING = re.compile(r'("""|\'\'\').*?\1', re.DOTALL)


class Pair(NamedTuple):
    source: str
    query: str
    passage: str


def accepted(pairs: Iterable[Pair], excluded: Iterable[str] = ()) -> Iterator[Pair]:
    """The useful pairs, truncated and without duplicates.

    `excluded` are texts of an evaluation set, which must not be learned.
    """
    evaluation = {fingerprint(text) for text in excluded}
    seen: set[tuple[str, str]] = set()
    for pair in pairs:
        query, passage = " ".join(pair.query.split()), pair.passage.strip()
        if not _SHORTEST_QUERY <= len(query) <= _LONGEST_QUERY or len(passage) < _SHORTEST_PASSAGE:
            continue
        key = query, passage[:_BEGINNING]
        if key in seen or fingerprint(passage) in evaluation:
            continue
        seen.add(key)
        yield Pair(pair.source, query, " ".join(passage.split(" ")[:_MOST_WORDS])[:_MOST_LETTERS])


def fingerprint(text: str) -> str:
    """The first letters of a text without docstrings, which copies of a function share."""
    return re.sub(r"\W+", "", _DOCSTRING.sub("", text))[:120]


def write(path: Path, pairs: Iterable[Pair]) -> dict[str, int]:
    """Write the pairs as JSON lines; returns the number of pairs per source."""
    counts: dict[str, int] = {}
    with path.open("w", encoding="utf-8") as file:
        for pair in pairs:
            counts[pair.source] = counts.get(pair.source, 0) + 1
            file.write(json.dumps(pair) + "\n")
    return counts


def read(path: Path) -> list[Pair]:
    with path.open(encoding="utf-8") as file:
        return [Pair(*json.loads(line)) for line in file]
