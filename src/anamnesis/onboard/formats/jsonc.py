"""JSON with or without comments and trailing commas: finds the span of each value and formats new ones."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from anamnesis.onboard.formats.brackets import (
    NEWLINE,
    Entry,
    Layout,
    Node,
    find,
    indent_of,
    insertion,
    newline_of,
    own_indent,
    removal,
)
from anamnesis.onboard.formats.editing import KeyPath, Step, Unparsable, splice

_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r\n]+|//[^\r\n]*|/\*[\s\S]*?\*/)
    |(?P<string>"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+")
    |(?P<scalar>-?[0-9][0-9.eE+-]*\b|(?:true|false|null)\b)
    |(?P<mark>[{}\[\]:,])""",
    re.VERBOSE,
)
_DECODER = json.JSONDecoder(parse_constant=int)  # NaN is not JSON, and int() rejects it
_COLON = re.compile(r"(?<![ \t])[ \t]*+:[ \t]*\Z")
_Token = tuple[str, int, int]


def parse(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except ValueError:
        return _Reader(text).root.value


def replace(text: str, path: KeyPath, value: Any) -> str:
    root = _Reader(text, path).root
    layout = _layout(text, root)
    if root.start == root.end:
        kept = text if text.strip() else ""
        gap = layout.newline if kept and not kept.endswith(("\n", "\r")) else ""
        return kept + gap + _spell(value, layout, "", inline=False) + layout.newline
    node, inline = find(text, root, path, False)
    return splice(text, [(node.start, node.end, _spell(value, layout, indent_of(text, node.start), inline))])


def insert(text: str, path: KeyPath, value: Any) -> str:
    root = _Reader(text, path).root
    layout = _layout(text, root)
    key = json.dumps(path[-1], ensure_ascii=False) + layout.colon if isinstance(path[-1], str) else ""
    container, inline = find(text, root, path[:-1], False)

    def spell(indent: str, inline: bool) -> str:
        return key + _spell(value, layout, indent, inline)

    return splice(text, insertion(text, container, inline, layout, spell))


def remove(text: str, path: KeyPath) -> str:
    container, _ = find(text, _Reader(text, path).root, path[:-1], False)
    index = container.index(path[-1])
    text = splice(text, removal(text, container, index))
    twice = any(entry.key == path[-1] for entry in container.entries[:index])
    return remove(text, path) if twice else text


def bare(text: str, path: KeyPath) -> bool:
    node, _ = find(text, _Reader(text, path).root, path, False)
    return text[node.start : node.end] in ("{}", "[]")


def _layout(text: str, root: Node) -> Layout:
    first = root.entries[0] if root.entries else None
    if first is None:
        return Layout(newline_of(text))
    found = _COLON.search(text[first.start : first.node.start])
    colon = found.group() if found else ": "
    return Layout(newline_of(text), own_indent(text, first) or "  ", colon, "" if colon.endswith(":") else " ")


def _spell(value: Any, layout: Layout, indent: str, inline: bool) -> str:
    if inline:
        return json.dumps(value, ensure_ascii=False, separators=("," + layout.gap, layout.colon))
    lines = json.dumps(value, ensure_ascii=False, indent=layout.unit, separators=(",", layout.colon))
    return lines.replace("\n", layout.newline + indent)


def _rest(path: KeyPath | None, step: Step) -> KeyPath | None:
    return path[1:] if path and path[0] == step else None


class _Reader:
    """The tree of a text along `path`. Other values are skipped fast, unless they contain comments.
    A text of blanks and comments has an empty root."""

    def __init__(self, text: str, path: KeyPath | None = None) -> None:
        self._text = text
        self._at = 0
        token = self._next()
        self.root = Node(len(text), len(text)) if token[0] == "end" else self._value(token, path)
        if (token := self._next())[0] != "end":
            self._fail(token[1], "there is something after the end")

    def _next(self) -> _Token:
        while self._at < len(self._text):
            match = _TOKEN.match(self._text, self._at)
            if match is None:
                self._fail(self._at, f"{self._text[self._at]!r} is not expected here")
            self._at = match.end()
            if match.lastgroup != "skip":
                return str(match.lastgroup), match.start(), match.end()
        return "end", self._at, self._at

    def _is(self, token: _Token, mark: str) -> bool:
        return token[0] == "mark" and self._text.startswith(mark, token[1])

    def _value(self, token: _Token, path: KeyPath | None) -> Node:
        kind, start, end = token
        if kind in ("string", "scalar"):
            return Node(start, end, self._scalar(start, end))
        if self._is(token, "{") or self._is(token, "["):
            return (self._skip(start) if path is None else None) or self._container(start, path)
        return self._fail(start, "a value is missing")

    def _scalar(self, start: int, end: int) -> Any:
        try:
            return json.loads(self._text[start:end])
        except ValueError:
            return self._fail(start, "this text or number is not JSON")

    def _skip(self, start: int) -> Node | None:
        try:
            value, self._at = _DECODER.raw_decode(self._text, start)
        except ValueError:
            return None
        return Node(start, self._at, value)

    def _container(self, start: int, path: KeyPath | None) -> Node:
        close = {"{": "}", "[": "]"}[self._text[start]]
        node = Node(start, start, {} if close == "}" else [])
        token = self._next()
        while not self._is(token, close):
            self._entry(node, token, path)
            token = self._next()
            if self._is(token, ","):
                token = self._next()
            elif not self._is(token, close):
                self._fail(token[1], f"a comma or {close} is missing")
        node.end = token[2]
        return node

    def _entry(self, container: Node, token: _Token, path: KeyPath | None) -> None:
        kind, start, end = token
        if isinstance(container.value, list):
            index = len(container.entries)
            child = self._value(token, _rest(path, index))
            container.entries.append(Entry(index, start, child))
            container.value.append(child.value)
            return
        if kind != "string":
            self._fail(start, "a key in double quotes or } is missing")
        key = self._scalar(start, end)
        token = self._next()
        if not self._is(token, ":"):
            self._fail(token[1], "a colon is missing")
        child = self._value(self._next(), _rest(path, key))
        container.entries.append(Entry(key, start, child))
        container.value[key] = child.value

    def _fail(self, at: int, reason: str) -> NoReturn:
        lines = NEWLINE.split(self._text[:at])
        raise Unparsable(f"line {len(lines)}, column {len(lines[-1]) + 1}: {reason}")
