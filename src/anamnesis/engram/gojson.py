"""JSON as Go's encoding/json writes and reads it.

A dataclass is a Go struct: fields in order; an optional scalar is omitted if it is None.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import operator
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from anamnesis.engram.strings import valid

T = TypeVar("T")

_SCALARS = (str, int, float, bool)
_SURROGATES = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\n\r]*")
_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_INT64 = range(-(2**63), 2**63)
_INFINITE = (math.inf, -math.inf)
# Python limits the digits of an int, Go the size of the number.
_MOST_DIGITS = 400


class InvalidJSON(ValueError):
    """The data is not JSON, or not of the expected shape."""


def dumps(value: object) -> bytes:
    """The value as Go's `json.Marshal` writes it. An empty list is null, like Go's nil slice."""
    text = _written(value)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = _SURROGATES.sub(r"\\ufffd", text).encode()
    # These five occur only inside strings, so they can be replaced in the whole text.
    data = data.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
    return data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")


def _written(value: Any) -> str:
    return _WRITERS.get(type(value), _struct)(value)


def _list(values: Sequence[object]) -> str:
    return f"[{','.join(map(_written, values))}]" if values else "null"


def _map(values: Mapping[str, object]) -> str:
    return f"{{{','.join([f'{encode_basestring(key)}:{_written(values[key])}' for key in sorted(values)])}}}"


def _struct(value: Any) -> str:
    kind: Any = type(value)
    keys, read = _members(kind)
    pairs = [
        key + _WRITERS.get(type(each), _struct)(each)
        for (key, is_optional), each in zip(keys, read(value), strict=True)
        if each is not None or not is_optional
    ]
    return f"{{{','.join(pairs)}}}"


@functools.cache
def _members(kind: type) -> tuple[list[tuple[str, bool]], Callable[[Any], Iterable[Any]]]:
    """The key of each field and whether it is omitted if None; and a function that reads all fields."""
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    keys = [(encode_basestring(name) + ":", _optional(hints[name]) in _SCALARS) for name in names]
    return keys, operator.attrgetter(*names) if len(names) > 1 else lambda value: [getattr(value, *names)]


def _float(value: float) -> str:
    """The shortest form that reads back the same; without exponent from 1e-6 to 1e21, as in Go."""
    if not math.isfinite(value):
        raise ValueError(f"JSON has no number for {value}.")
    if value and not 1e-6 <= abs(value) < 1e21:
        return repr(value).replace("e-0", "e-")
    return format(Decimal(repr(value)), "f").removesuffix(".0")


_WRITERS: dict[type, Callable[[Any], str]] = {
    str: encode_basestring,
    int: int.__repr__,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
    float: _float,
    list: _list,
    tuple: _list,
    dict: _map,
}


def loads(data: bytes, kind: type[T], *, alone: bool = False) -> T:
    """A dataclass from a JSON object, as Go's decoder fills a struct.

    Only the first value is read, unless `alone`. Keys match in any case, unknown keys are ignored, the last of
    repeated keys wins, and missing fields are zero.
    """
    # One replacement character per invalid byte, as in Go; "replace" would write one for several.
    text = data.decode("utf-8", "surrogateescape")
    start = _SPACE.match(text).end()  # type: ignore[union-attr]
    try:
        value, end = _DECODER.raw_decode(text, start)
    except RecursionError as error:
        raise InvalidJSON("it is nested too deeply") from error
    except ValueError as error:
        reason = getattr(error, "msg", str(error)).lower()
        raise InvalidJSON(f"{reason} at character {getattr(error, 'pos', 0) + 1}" if text else "EOF") from error
    if alone and _SPACE.match(text, end).end() != len(text):  # type: ignore[union-attr]
        raise InvalidJSON(f"something follows the value at character {end + 1}")
    filled: T = _filled(value, kind, "the body")
    return filled


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < _MOST_DIGITS else math.inf


def _refuse(name: str) -> None:
    raise InvalidJSON(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(object_pairs_hook=tuple, parse_int=_number, parse_constant=_refuse)


def _filled(value: Any, kind: Any, where: str) -> Any:
    """The value converted to a type; null is its zero value."""
    wanted = _optional(kind)
    if value is None:
        return None if wanted else _zero(kind)
    kind = wanted or kind
    if kind in _SCALARS:
        return _scalar(value, kind, where)
    if get_origin(kind) in (list, tuple):
        if not isinstance(value, list):
            raise InvalidJSON(f"{where} has to be a list")
        (inner, *_) = get_args(kind)
        return get_origin(kind)(_filled(each, inner, where) for each in value)
    if not isinstance(value, tuple):
        raise InvalidJSON(f"{where} has to be an object")
    shape = _shape(kind)
    found = {name: _zero(hint) for name, hint in shape.items()}
    for key, each in value:
        # Go folds the long s and the Kelvin sign to ASCII letters.
        name = key if key in shape else key.lower().replace("ſ", "s")
        if name in shape and not (each is None and _optional(shape[name]) is None):
            found[name] = _filled(each, shape[name], name)
    return kind(**found)


def _scalar(value: Any, kind: Any, where: str) -> Any:
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind or (kind is int and value not in _INT64) or value in _INFINITE:
        raise InvalidJSON(f"{where} has to be {_NAMES[kind]}")
    return valid(value) if kind is str else value


def _zero(kind: Any) -> Any:
    if _optional(kind):
        return None
    if kind in _SCALARS:
        return kind()
    if get_origin(kind) in (list, tuple):
        return get_origin(kind)()
    return kind(**{name: _zero(hint) for name, hint in _shape(kind).items()})


@functools.cache
def _shape(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@functools.cache
def _optional(kind: Any) -> Any:
    """The X of `X | None`; None for another type."""
    if get_origin(kind) not in (typing.Union, types.UnionType):
        return None
    return next(each for each in get_args(kind) if each is not types.NoneType)
