"""JSON, with comments and trailing commas or without: where each value stands, how one is added or taken out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from anamnesis.onboard.formats.editing import Edit, Path, Step, Unparsable, splice

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n]+)
    |(?P<comment>//[^\r\n]*|/\*[\s\S]*?\*/)
    |(?P<string>"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")
    |(?P<scalar>-?[0-9][0-9.eE+-]*\b|(?:true|false|null)\b)
    |(?P<mark>[{}\[\]:,])""",
    re.VERBOSE,
)
_COLON = re.compile(r"[ \t]*:[ \t]*\Z")
_REST = re.compile(r"([ \t]*)([^\r\n]?)")
_NEWLINE = re.compile(r"\r\n|\n|\r")
_Token = tuple[str, int, int]


@dataclass(slots=True)
class _Node:
    """A value and its span; `entries` are those of an object or a list."""

    start: int
    end: int
    value: Any
    entries: list[_Entry] = field(default_factory=list)

    def index(self, step: Step) -> int:
        """Which entry has this key or number; of a key that is there twice, the last, which is the one that counts."""
        return max(index for index, entry in enumerate(self.entries) if entry.key == step)


@dataclass(slots=True)
class _Entry:
    """A member of an object or an element of a list, from its key on; `comma` is where the comma after it stands."""

    key: Step
    start: int
    node: _Node
    comma: int | None = None


def parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=json.loads)  # NaN is no JSON: reading it once more refuses it
    except ValueError:
        return _Document(text).root.value


def replace(text: str, path: Path, value: Any) -> str:
    document = _Document(text)
    if document.root.end == document.root.start:
        kept = text if document.comments else ""
        gap = document.newline if kept and not kept.endswith(("\n", "\r")) else ""
        return kept + gap + document.render(value, "", inline=False) + document.newline
    node, inline = document.find(path)
    return splice(text, [(node.start, node.end, document.render(value, document.indent(node.start), inline))])


def insert(text: str, path: Path, value: Any) -> str:
    document = _Document(text)
    return splice(text, document.insertion(path, value))


def remove(text: str, path: Path) -> str:
    document = _Document(text)
    container, _ = document.find(path[:-1])
    index = container.index(path[-1])
    text = splice(text, document.removal(container, index))
    again = any(entry.key == path[-1] for entry in container.entries[:index])
    return remove(text, path) if again else text


def bare(text: str, path: Path) -> bool:
    node, _ = _Document(text).find(path)
    return text[node.start : node.end] in ("{}", "[]")


class _Document:
    """A text, its tree and its comments; `newline`, `unit`, `colon` and `comma` are how it is written."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.comments: list[tuple[int, int]] = []
        self._tokens = self._scan()
        token = self._next()
        self.root = _Node(len(text), len(text), None) if token[0] == "end" else self._value(token)
        if (token := self._next())[0] != "end":
            self._fail(token[1], "there is something after the end")
        first = self.root.entries[0] if self.root.entries else None
        newline = _NEWLINE.search(text)
        self.newline = newline.group() if newline else "\n"
        self.unit = (self._own_indent(first) if first else "") or "  "
        colon = _COLON.search(text[first.start : first.node.start]) if first else None
        self.colon = colon.group() if colon else ": "
        self.comma = ", " if self.colon.endswith((" ", "\t")) else ","

    # Reading.

    def _scan(self) -> Iterator[_Token]:
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                self._fail(at, f"{self.text[at]!r} is not expected here")
            if match.lastgroup == "comment":
                self.comments.append(match.span())
            elif match.lastgroup != "blank":
                yield str(match.lastgroup), match.start(), match.end()
            at = match.end()

    def _next(self) -> _Token:
        return next(self._tokens, ("end", len(self.text), len(self.text)))

    def _value(self, token: _Token) -> _Node:
        kind, start, end = token
        if kind in ("string", "scalar"):
            return _Node(start, end, self._scalar(start, end))
        if self.text[start:end] in ("{", "["):
            return self._container(start)
        return self._fail(start, "a value is missing")

    def _scalar(self, start: int, end: int) -> Any:
        try:
            return json.loads(self.text[start:end])
        except ValueError:
            return self._fail(start, "this text or number is not JSON")

    def _container(self, start: int) -> _Node:
        close = {"{": "}", "[": "]"}[self.text[start]]
        node = _Node(start, start, {} if close == "}" else [])
        token = self._next()
        while self.text[token[1] : token[2]] != close:
            if node.entries and node.entries[-1].comma is None:
                self._fail(token[1], f"a comma or {close} is missing")
            self._entry(node, token)
            token = self._next()
            if self.text[token[1] : token[2]] == ",":
                node.entries[-1].comma = token[1]
                token = self._next()
        node.end = token[2]
        return node

    def _entry(self, container: _Node, token: _Token) -> None:
        kind, start, end = token
        if isinstance(container.value, list):
            child = self._value(token)
            container.entries.append(_Entry(len(container.entries), start, child))
            container.value.append(child.value)
            return
        if kind != "string":
            self._fail(start, "a key in double quotes or } is missing")
        key = self._scalar(start, end)
        colon = self._next()
        if self.text[colon[1] : colon[2]] != ":":
            self._fail(colon[1], "a colon is missing")
        child = self._value(self._next())
        container.entries.append(_Entry(key, start, child))
        container.value[key] = child.value

    def _fail(self, at: int, reason: str) -> NoReturn:
        lines = _NEWLINE.split(self.text[:at])
        raise Unparsable(f"line {len(lines)}, column {len(lines[-1]) + 1}: {reason}")

    # Layout.

    def find(self, path: Path) -> tuple[_Node, bool]:
        """The value at `path`, and whether its entries go on its own line or on lines of their own."""
        node, inline = self.root, self._is_inline(self.root, False)
        for step in path:
            node = node.entries[node.index(step)].node
            inline = self._is_inline(node, inline)
        return node, inline

    def _is_inline(self, node: _Node, outer: bool) -> bool:
        if node.entries:
            return not _NEWLINE.search(self.text, node.start, node.entries[0].start)
        if isinstance(node.value, (dict, list)) and self.text[node.start + 1 : node.end - 1].strip():
            return not _NEWLINE.search(self.text, node.start, node.end)
        return outer

    def indent(self, at: int) -> str:
        """The blanks that the line of a position begins with."""
        start = max(self.text.rfind("\n", 0, at), self.text.rfind("\r", 0, at)) + 1
        blanks = re.compile(r"[ \t]*").match(self.text, start)
        return blanks.group() if blanks else ""

    def _own_indent(self, entry: _Entry) -> str:
        """The blanks before an entry that begins its line."""
        indent = self.indent(entry.start)
        return indent if self.text[: entry.start].endswith(("\n" + indent, "\r" + indent)) else ""

    def _after_comments(self, start: int, end: int) -> int:
        """Where the last comment between two positions ends."""
        return max((comment[1] for comment in self.comments if start <= comment[0] < end), default=start)

    def _is_line_comment(self, at: int) -> bool:
        return any(end == at and self.text.startswith("//", start) for start, end in self.comments)

    def render(self, value: Any, indent: str, inline: bool) -> str:
        if inline:
            return json.dumps(value, ensure_ascii=False, separators=(self.comma, self.colon))
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit, separators=(",", self.colon))
        return lines.replace("\n", self.newline + indent)

    # Editing.

    def insertion(self, path: Path, value: Any) -> list[Edit]:
        """A new last entry, behind the comments that follow the one before, with a trailing comma if that has one."""
        container, inline = self.find(path[:-1])
        last = container.entries[-1] if container.entries else None
        start, comma, edits = container.start + 1, "", []
        if last and last.comma is not None:
            start, comma = last.comma + 1, ","
        elif last:
            start = last.node.end
            edits = [(start, start, ",")]
        inner_end = container.end - 1
        at = self._after_comments(start, inner_end)
        inline = inline and not self._is_line_comment(at)
        outer = self.indent(container.start)
        indent = (self._own_indent(last) if last else "") or outer + self.unit
        key = json.dumps(path[-1], ensure_ascii=False) + self.colon if isinstance(path[-1], str) else ""
        entry = key + self.render(value, indent, inline) + comma
        if not last and at == start:
            entry += "" if inline else self.newline + outer
            edits = [(at, inner_end, "")]
        spaced = at > start or (last and self.comma == ", ")
        lead = (" " if spaced else "") if inline else self.newline + indent
        return [*edits, (at, at, lead + entry)]

    def removal(self, container: _Node, index: int) -> list[Edit]:
        """Take out an entry with the comma and the blanks that set it apart, but no comment beside it."""
        entry, before = container.entries[index], container.entries[index - 1] if index else None
        inner = (container.start + 1, container.end - 1)
        if len(container.entries) == 1 and all(
            entry.start <= start < entry.node.end for start, _ in self.comments if inner[0] <= start < inner[1]
        ):
            return [(*inner, "")]
        start = self._after_comments(before.comma + 1 if before and before.comma else inner[0], entry.start)
        end = entry.node.end if entry.comma is None else entry.comma + 1
        edits = [(entry.start, entry.node.end, "")]
        if entry.comma is not None:
            edits.append((entry.comma, end, ""))
        elif before and before.comma is not None:
            edits.append((before.comma, before.comma + 1, ""))
        rest = _REST.match(self.text, end)
        first = not before or _NEWLINE.search(self.text, start, entry.start)
        if rest and rest[2] and (self._is_line_comment(start) or (first and rest[2] not in "}]")):
            return [*edits, (*rest.span(1), "")]
        return [*edits, (start, entry.start, "")]
