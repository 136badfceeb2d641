"""TOML: finds the lines of each table and key, and formats new ones. `tomllib` validates, so broken files need no
handling here."""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from dataclasses import dataclass
from typing import Any

from anamnesis.onboard.formats import whole_lines as whole
from anamnesis.onboard.formats.brackets import Entry, Layout, Node, find, insertion, newline_of, removal
from anamnesis.onboard.formats.editing import KeyPath, Step, Unparsable, spell, splice

_NAME = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]++|\\.)*+"|'[^'\n]*+')"""
_NAMES = re.compile(_NAME)
_KEY = re.compile(rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*+")
_HEADER = re.compile(rf"(\[\[?)[ \t]*({_KEY.pattern})[ \t]*\]\]?")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_SKIP = re.compile(r"(?:\s++|#[^\n]*+)*+")
_SCALAR = re.compile(
    r'''"""(?:[^"\\]++|\\[\s\S]|"{1,2}(?!"))*+"{3,5}'''
    r"""|'''(?:[^']++|'{1,2}(?!'))*+'{3,5}"""
    r"""|"(?:[^"\\\n]++|\\.)*+"|'[^'\n]*\'"""
    r"""|[^\s,\]}#]+(?:[ ][0-9]{2}:[^\s,\]}#]+)?"""
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LITERAL = re.compile(r"[^'\x00-\x1f\x7f]*")


@dataclass(frozen=True, slots=True)
class _Statement:
    """A key with its value, or a header without one; `table` is the enclosing table, or the header's own."""

    path: tuple[Step, ...]
    table: tuple[Step, ...]
    start: int
    end: int
    first: int
    last: int
    node: Node | None = None


def parse(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise Unparsable(str(error)) from None


def replace(text: str, path: KeyPath, value: Any) -> str:
    statements = _read(text)
    if host := _host(statements, path):
        node, _ = find(text, *host, True)
        return splice(text, [(node.start, node.end, _inline(value))])
    first = next((each.first for each in statements if each.node is None and _is_within(each.path, path)), None)
    if first is None or not _is_table(value):
        return insert(remove(text, path), path, value)
    lines, new = whole.split(text), _block(path, value)[1:]
    old = _lines_of(statements, lines, path) - {first - 1}
    lines = whole.insert(lines, first, new, newline_of(text))
    return "".join(whole.cut(lines, {number + len(new) if number >= first else number for number in old}))


def insert(text: str, path: KeyPath, value: Any) -> str:
    statements = _read(text)
    if host := _host(statements, path[:-1]):
        container, inline = find(text, *host, True)
        entry = (f"{_key(path[-1])} = " if isinstance(path[-1], str) else "") + _inline(value)
        inline = inline or text[container.start] == "{"  # an inline table must be on one line
        return splice(text, insertion(text, container, inline, Layout(newline_of(text)), lambda *_: entry))
    lines = whole.split(text)
    if isinstance(path[-1], int) or _is_table(value):
        at = _place_for_table(statements, path[:-1], len(lines))
        return "".join(whole.insert(lines, at, _block(path, value)[not lines :], newline_of(text)))
    at, table = _place_for_key(statements, lines, path[:-1])
    name = ".".join(_key(step) for step in path[len(table) :])
    return "".join(whole.insert(lines, at, [f"{name} = {_inline(value)}"], newline_of(text)))


def remove(text: str, path: KeyPath) -> str:
    statements = _read(text)
    host = _host(statements, path[:-1])
    if host:
        container, _ = find(text, *host, True)
        return splice(text, removal(text, container, container.index(path[-1])))
    lines = whole.split(text)
    return "".join(whole.cut(lines, _lines_of(statements, lines, path)))


def bare(text: str, path: KeyPath) -> bool:
    statements = _read(text)
    if host := _host(statements, path):
        node, _ = find(text, *host, True)
        beside = "" if host[1] else text[node.end :].partition("\n")[0]
        return text[node.start : node.end] in ("{}", "[]") and "#" not in beside
    index = next(index for index, each in enumerate(statements) if each.path == tuple(path))
    after = statements[index + 1].start if index + 1 < len(statements) else len(text)
    return not text[statements[index].end : after].strip()


def _place_for_key(statements: list[_Statement], lines: list[str], table: KeyPath) -> tuple[int, KeyPath]:
    """The line before which a new key of `table` goes, and the table of that line; in a parent, the key is dotted."""
    for size in range(len(table), -1, -1):
        for each in reversed(statements):
            if _is_within(each.path, table[:size]) and _is_within(table[:size], each.table):
                return each.last + 1, each.table
    at = statements[0].first if statements else len(lines)
    while statements and at and lines[at - 1].startswith("#"):
        at -= 1
    return at, ()


def _place_for_table(statements: list[_Statement], table: KeyPath, end: int) -> int:
    """The line before which a new table in `table` goes: at the end, or after the enclosing array element."""
    size = max((depth + 1 for depth, step in enumerate(table) if isinstance(step, int)), default=0)
    return max(each.last for each in statements if _is_within(each.path, table[:size])) + 1 if size else end


def _lines_of(statements: list[_Statement], lines: list[str], path: KeyPath) -> set[int]:
    """The lines at or below `path`: of a table up to its last key, with the blank line before it."""
    numbers: set[int] = set()
    for each in statements:
        if not _is_within(each.path, path):
            continue
        if each.node is not None:
            numbers.update(range(each.first, each.last + 1))
            continue
        numbers.update(range(each.first, max(key.last for key in statements if key.table == each.path) + 1))
        if each.first and not lines[each.first - 1].strip():
            numbers.add(each.first - 1)
    return numbers


def _host(statements: list[_Statement], path: KeyPath) -> tuple[Node, KeyPath] | None:
    """The inline value that contains `path`, and the rest of the path inside it."""
    for each in statements:
        if each.node is not None and _is_within(path, each.path):
            return each.node, path[len(each.path) :]
    return None


def _is_within(path: KeyPath, outer: KeyPath) -> bool:
    return tuple(path[: len(outer)]) == tuple(outer)


def _is_table(value: Any) -> bool:
    """Whether a value is written as tables with headers."""
    items = value if isinstance(value, list) else [value]
    return bool(items) and all(isinstance(item, dict) for item in items)


# Reading.


def _read(text: str) -> list[_Statement]:
    statements: list[_Statement] = []
    table: tuple[Step, ...] = ()
    counts: dict[tuple[Step, ...], int] = {}
    at, end, last = _match(_SKIP, text, 0).end(), 0, 0
    while at < len(text):
        start, node = at, None
        if header := _HEADER.match(text, at):
            path = table = _resolve(_names(header[2]), header[1] == "[[", counts)
            at = header.end()
        else:
            key = _match(_KEY, text, at)
            node = _value(text, _match(_EQUALS, text, key.end()).end())
            path, at = (*table, *_names(key[0])), node.end
        first = last + text.count("\n", end, start)
        last, end = first + text.count("\n", start, at), at
        statements.append(_Statement(path, table, start, at, first, last, node))
        at = _match(_SKIP, text, at).end()
    return statements


def _resolve(names: list[str], is_element: bool, counts: dict[tuple[Step, ...], int]) -> tuple[Step, ...]:
    """The path of a header; an array of tables in it means its last element."""
    path: tuple[Step, ...] = ()
    for name in names[:-1]:
        path = (*path, name)
        path = (*path, counts[path] - 1) if path in counts else path
    path = (*path, names[-1])
    if not is_element:
        return path
    counts[path] = counts.get(path, 0) + 1
    return (*path, counts[path] - 1)


def _value(text: str, at: int) -> Node:
    if not text.startswith(("[", "{"), at):
        return Node(at, _match(_SCALAR, text, at).end())
    node = Node(at, at)
    at = _match(_SKIP, text, at + 1).end()
    while not text.startswith(("]", "}"), at):
        key: Step | None = len(node.entries)
        start = at
        if text[node.start] == "{":
            name = _match(_KEY, text, at)
            names = _names(name[0])
            key = names[0] if len(names) == 1 else None
            at = _match(_EQUALS, text, name.end()).end()
        child = _value(text, at)
        node.entries.append(Entry(key, start, child))
        at = _match(_SKIP, text, child.end).end()
        at = _match(_SKIP, text, at + text.startswith(",", at)).end()
    node.end = at + 1
    return node


def _names(key: str) -> list[str]:
    return [name if _BARE.fullmatch(name) else str(tomllib.loads(f"x = {name}")["x"]) for name in _NAMES.findall(key)]


def _match(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    found = pattern.match(text, at)
    if found is None:
        raise Unparsable(f"line {text.count(chr(10), 0, at) + 1} is written in a way that cannot be edited safely")
    return found


# Writing.


def _block(path: KeyPath, value: Any) -> list[str]:
    """The lines of one or more tables, each after a blank line. One with only subtables needs no header."""
    if isinstance(value, list):
        return [line for item in value for line in _block((*path, 0), item)]
    if not isinstance(value, dict):
        raise Unparsable(f"{spell(path[:-1])} holds tables; a plain value cannot be added to it")
    if isinstance(path[-1], str) and value and all(map(_is_table, value.values())):
        return [line for key, item in value.items() for line in _block((*path, key), item)]
    name = ".".join(_key(step) for step in path if isinstance(step, str))
    header = f"[[{name}]]" if isinstance(path[-1], int) else f"[{name}]"
    return ["", header, *(f"{_key(key)} = {_inline(item)}" for key, item in value.items())]


def _key(step: Step) -> str:
    return str(step) if _BARE.fullmatch(str(step)) else _basic(str(step))


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        entries = ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items())
        return f"{{ {entries} }}" if entries else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, str):
        return f"'{value}'" if "\\" in value and _LITERAL.fullmatch(value) else _basic(value)
    if isinstance(value, (bool, int, float)):
        return str(value).lower()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    raise TypeError(f"TOML has no {type(value).__name__}")


def _basic(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
