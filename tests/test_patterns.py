"""Every regular expression takes linear time, so that no external text can stall the program."""

from __future__ import annotations

import importlib
import itertools
import math
import pkgutil
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.growth import is_long_for_a_few, seconds, superlinear

import anamnesis
from anamnesis.light import LazyPattern

# The standard library's own pattern parser; it has no types.
op: Any = importlib.import_module("re._constants")
_parser: Any = importlib.import_module("re._parser")
_METHODS = "search|match|fullmatch|finditer|findall|subn|sub|split"
_ANCHORED = {"match", "fullmatch"}
_MOST_SPELLINGS = 40
_LONGEST_START = 40
_MOST_STARTS = 60
_SCREENED = 2_000
_SUSPICIOUS_SECONDS = 0.05
_MEASURED_WHOLE = 3
_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s", op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
# Patterns that are called through another name, and by which method.
_CALLED = dict.fromkeys(
    (
        *(f"anamnesis.onboard.formats.toml.{name}" for name in ("_KEY", "_EQUALS", "_SKIP", "_SCALAR")),
        *(f"anamnesis.web.parser.{name}" for name in ("_FIRST_CHUNK", "_NEXT_CHUNK")),
    ),
    "match",
)
# Patterns that are not linear on every text, and why such a text never reaches them.
_GUARDED = {
    "anamnesis.onboard.formats.toml._NAMES": "reads only keys that _KEY has matched, in which every quote is closed",
}
# Characters that external texts repeat: breaks, blanks, digits, quotes, brackets, marks of markdown and JSON.
_USUAL = "\n \t\r0a_A\"'<>[]{}()*`#-=/\\.:;,@&|~+?%é"


@dataclass(frozen=True, slots=True)
class Named:
    """A pattern of the package, where it is, and how it is called."""

    name: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(anamnesis.__path__, "anamnesis."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def patterns_in(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, LazyPattern):
        yield re.compile(value.pattern, value.flags)
    elif isinstance(value, dict):
        yield from patterns_in([*value, *value.values()])
    elif isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from patterns_in(each)


@cache
def package_patterns() -> tuple[Named, ...]:
    found: dict[int, Named] = {}
    for module in modules():
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        for name, value in vars(module).items():
            called = {_CALLED[f"{module.__name__}.{name}"]} if f"{module.__name__}.{name}" in _CALLED else set()
            called |= set(re.findall(rf"\b{name}\.({_METHODS})\b", source))
            for pattern in patterns_in(value):
                known = found.get(id(pattern))
                owner = known.name if known else f"{module.__name__}.{name}"
                found[id(pattern)] = Named(
                    owner, pattern, frozenset(called) | (known.methods if known else frozenset())
                )
    return tuple(found.values())


def runs(named: Named) -> list[Callable[[Any], object]]:
    """The pattern called as the package calls it; by `finditer` if no call is found."""
    pattern = named.pattern
    if named.methods and named.methods <= _ANCHORED:
        return [getattr(pattern, method) for method in sorted(named.methods)]
    return [lambda text: deque(pattern.finditer(text), maxlen=0)]


def spellings(tree: Iterable[tuple[Any, Any]]) -> list[str]:
    """Short texts that a pattern matches, at least one for each alternative."""
    texts = [""]
    for kind, value in tree:
        pieces = list(dict.fromkeys(_pieces(kind, value)))
        # Nested alternatives each occur in one text at least, not in all combinations.
        texts = [f"{texts[i % len(texts)]}{pieces[i % len(pieces)]}" for i in range(max(len(texts), len(pieces)))]
    return texts[:_MOST_SPELLINGS]


def _pieces(kind: Any, value: Any) -> list[str]:
    if kind is op.LITERAL:
        return [chr(value)]
    if kind is op.NOT_LITERAL:
        return ["b" if value == ord("a") else "a"]
    if kind is op.ANY:
        return ["a"]
    if kind is op.IN:
        return [_member(value)]
    if kind is op.SUBPATTERN:
        return spellings(value[-1])
    if kind is op.ATOMIC_GROUP:
        return spellings(value)
    if kind is op.BRANCH:
        return [text for branch in value[1] for text in spellings(branch)]
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        least, most, inner = value
        return [text * max(1, least) for text in spellings(inner)] if most else [""]
    return [""]  # anchors, lookarounds and back references consume nothing here


def _member(items: list[tuple[Any, Any]]) -> str:
    """A character of a class, preferably one that is common in external texts."""
    negated = items[0][0] is op.NEGATE
    members = re.compile("|".join(f"(?:{_class(kind, value)})" for kind, value in items if kind is not op.NEGATE))
    usual = (each for each in "a0 \n" + _USUAL if bool(members.match(each)) != negated)
    kind, value = items[0]
    return next(usual, chr(value[0] if kind is op.RANGE else value) if kind in (op.RANGE, op.LITERAL) else "a")


def _class(kind: Any, value: Any) -> str:
    if kind is op.RANGE:
        return f"[\\U{value[0]:08x}-\\U{value[1]:08x}]"
    if kind is op.CATEGORY:
        return _CATEGORIES[value]
    return f"\\U{value:08x}"


def worst_inputs(pattern: re.Pattern[Any]) -> Iterator[Callable[[int], Any]]:
    """Functions that make texts of a given size from repeated beginnings of a match."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    texts = spellings(_parser.parse(source, pattern.flags & ~re.UNICODE & ~re.DEBUG))
    starts = {text[:length] for text in texts for length in range(1, min(len(text), _LONGEST_START) + 1)}
    starts = {*sorted(starts)[:: max(1, len(starts) // _MOST_STARTS)], *texts}
    own = {character for text in texts for character in text}
    few = [*itertools.islice(sorted(own, key=lambda each: (each.isalnum(), each)), 8), "\n", " ", "a", "0"]
    pumps = {*own, *_USUAL, *starts, *map("".join, itertools.product(few, repeat=2))}
    pumps |= {f"{each}{start}" for each in "\n a" for start in starts}
    heads = ["", *starts]
    shapes = {("", pump) for pump in pumps} | set(itertools.product(heads, few))
    for head, pump in sorted(shapes):
        yield partial(_repeated, head, pump, isinstance(pattern.pattern, bytes))


def _repeated(head: str, pump: str, as_bytes: bool, size: int) -> str | bytes:
    text = head + pump * (size // len(pump)) + "\0"  # most patterns do not match it
    return text.encode("utf-8") if as_bytes else text


def slow_inputs(named: Named) -> str:
    """An input for which a pattern takes more than linear time; "" if none was found."""
    for run in runs(named):
        timed = [(_screened(run, make), number, make) for number, make in enumerate(worst_inputs(named.pattern))]
        for screened, _, make in sorted(timed, reverse=True)[:_MEASURED_WHOLE]:
            slow = "a few characters took long" if screened == math.inf else superlinear(run, make, largest=62_000)
            if slow:
                return f"{slow}: {make(60)!r}"
    return ""


def _screened(run: Callable[[Any], object], make: Callable[[int], Any]) -> float:
    """The time for a short input; infinite if a very short one takes long, because a longer one might never end."""
    for size in (22, 300, _SCREENED):
        given = make(size)
        elapsed = seconds(run, given)
        if elapsed > _SUSPICIOUS_SECONDS and size < _SCREENED and is_long_for_a_few(run, given):
            return math.inf
    return elapsed


@pytest.mark.parametrize("named", package_patterns(), ids=lambda named: named.name.removeprefix("anamnesis."))
def test_a_pattern_takes_time_in_proportion_to_its_text(named: Named) -> None:
    if named.name not in _GUARDED:
        assert not slow_inputs(named)


@pytest.mark.parametrize("pattern", ["<private>.*?</private>", r"\s+$", "(a+)+b", r"#+\s*\n"])
def test_the_measurement_finds_patterns_that_are_not_linear(pattern: str) -> None:
    assert slow_inputs(Named("", re.compile(pattern, re.DOTALL), frozenset()))
