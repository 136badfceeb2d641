"""Shared by all formats: where a value goes, what the file must then contain, and the check of the result.
Knows no syntax."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from anamnesis.errors import AnamnesisError

# A string is a key, a number an index.
Step = str | int
KeyPath = Sequence[Step]
Splice = tuple[int, int, str]

_BOM = "\ufeff"


class Unparsable(AnamnesisError):
    """A settings file that is invalid, or cannot be edited without changing entries of others."""


class Dialect(Protocol):
    """What a format provides: finding a value in its text, and writing one."""

    def parse(self, text: str) -> Any:
        """The document; None if there are only blanks and comments."""

    def replace(self, text: str, path: KeyPath, value: Any) -> str:
        """Replace the value at `path`; the empty path is an empty document."""

    def insert(self, text: str, path: KeyPath, value: Any) -> str:
        """Add `value` as the last entry of the container at `path[:-1]`."""

    def remove(self, text: str, path: KeyPath) -> str:
        """Remove the entry at `path`."""

    def bare(self, text: str, path: KeyPath) -> bool:
        """Whether the empty container at `path` contains no comments either."""


@contextlib.contextmanager
def _within_reason() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise Unparsable("the file is nested too deeply to be read") from None


@dataclass(frozen=True, slots=True)
class Engine:
    """Edits the text of one format; each result was parsed again and verified, else `Unparsable` is raised.
    Texts keep the file's line ends and byte order mark."""

    dialect: Dialect

    @_within_reason()
    def read(self, text: str) -> Any:
        """The document; {} for an empty one."""
        document = self._parse(text)
        return {} if document is None else document

    @_within_reason()
    def put(self, text: str, path: KeyPath, value: Any) -> str:
        """Set the value at `path`, creating missing parents."""
        document = self._parse(text)
        depth, found = _follow(document, path)
        if depth == len(path) and _same(found, value):
            return text
        mark, body = _split_mark(text)
        if depth == len(path) or found is None:
            body = self.dialect.replace(body, path[:depth], _nest(path[depth:], value))
        elif _takes(found, path[depth]):
            body = self.dialect.insert(body, path[: depth + 1], _nest(path[depth + 1 :], value))
        else:
            raise _misfit(path, depth, found)
        return self._proven(mark + body, [_with(document, path, value)])

    @_within_reason()
    def append(self, text: str, path: KeyPath, value: Any) -> str:
        """Append to the list at `path`, creating it and its parents if missing."""
        depth, found = _follow(self._parse(text), path)
        if depth < len(path) or found is None:
            return self.put(text, path, [value])
        if not isinstance(found, list):
            raise _misfit((*path, 0), depth, found)
        return self.put(text, (*path, len(found)), value)

    @_within_reason()
    def drop(self, text: str, path: KeyPath, prune: bool = False) -> str:
        """Remove the entry at `path`, if any; with `prune` also parents that become empty."""
        document = self._parse(text)
        if not path or _follow(document, path)[0] < len(path):
            return text
        mark, body = _split_mark(text)
        text = self._proven(mark + self.dialect.remove(body, path), _without(document, path))
        parent = path[:-1]
        is_empty = prune and parent and _follow(self._parse(text), parent) in ((len(parent), {}), (len(parent), []))
        if is_empty and self.dialect.bare(_split_mark(text)[1], parent):
            return self.drop(text, parent, prune)
        return text

    def drop_item(self, text: str, path: KeyPath, index: int, prune: bool = False) -> str:
        """Remove one element of the list at `path`, if any."""
        return self.drop(text, (*path, index), prune)

    def _parse(self, text: str) -> Any:
        return self.dialect.parse(_split_mark(text)[1])

    def _proven(self, text: str, expected: Iterable[Any]) -> str:
        with contextlib.suppress(Unparsable):
            found = self.read(text)
            if any(_same(found, document) for document in expected):
                return text
        raise Unparsable("the file is written in a way that cannot be edited safely", "Edit it by hand.")


def splice(text: str, edits: Iterable[Splice]) -> str:
    """The text with each span replaced. Spans do not overlap; inserts at one position keep their order."""
    pieces, done = [], 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        pieces += [text[done:start], new]
        done = end
    return "".join(pieces) + text[done:]


def spell(path: KeyPath) -> str:
    """A path for a message."""
    return ".".join(map(str, path)) or "the whole file"


def _split_mark(text: str) -> tuple[str, str]:
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def _follow(document: Any, path: KeyPath) -> tuple[int, Any]:
    """How many steps of the path exist, and the value there."""
    for depth, step in enumerate(path):
        if not _has(document, step):
            return depth, document
        document = document[step]
    return len(path), document


def _has(container: Any, step: Step) -> bool:
    if isinstance(step, str):
        return isinstance(container, dict) and step in container
    return isinstance(container, list) and 0 <= step < len(container)


def _takes(container: Any, step: Step) -> bool:
    if isinstance(step, str):
        return isinstance(container, dict)
    return isinstance(container, list) and step == len(container)


def _misfit(path: KeyPath, depth: int, found: Any) -> Unparsable:
    kind = "an object" if isinstance(found, dict) else "a list" if isinstance(found, list) else "a plain value"
    wanted = "an object" if isinstance(path[depth], str) else "a list"
    if wanted == kind:
        return Unparsable(f"{spell(path[:depth])} has no element {path[depth]}")
    return Unparsable(f"{spell(path[:depth])} is {kind}, not {wanted}", f"{spell(path)} cannot be put there.")


def _nest(path: KeyPath, value: Any) -> Any:
    for step in reversed(path):
        if isinstance(step, int) and step != 0:
            raise Unparsable(f"there is no list yet that could have an element {step}")
        value = {step: value} if isinstance(step, str) else [value]
    return value


def _with(document: Any, path: KeyPath, value: Any) -> Any:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        fields = document or {}
        return {**fields, step: _with(fields.get(step), rest, value)}
    items = document or []
    return [*items[:step], _with(items[step] if step < len(items) else None, rest, value), *items[step + 1 :]]


def _without(document: Any, path: KeyPath) -> Iterable[Any]:
    """The valid results of removing one entry. A parent may disappear with its last entry."""
    parent = _follow(document, path[:-1])[1]
    kept = (
        {key: value for key, value in parent.items() if key != path[-1]}
        if isinstance(parent, dict)
        else [value for index, value in enumerate(parent) if index != path[-1]]
    )
    yield _with(document, path[:-1], kept)
    if not kept and len(path) > 1:
        yield from _without(document, path[:-1])


def _same(one: Any, other: Any, seen: set[tuple[int, int]] | None = None) -> bool:
    """Equality that distinguishes true, 1 and 1.0, and compares aliased parts of YAML only once."""
    if type(one) is not type(other):
        return False
    if not isinstance(one, (dict, list)):
        return bool(one == other or (one != one and other != other))
    seen = set() if seen is None else seen
    pair = (id(one), id(other))
    if pair in seen:
        return True
    seen.add(pair)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[key], seen) for key, value in one.items())
    return len(one) == len(other) and all(_same(*items, seen) for items in zip(one, other, strict=True))
