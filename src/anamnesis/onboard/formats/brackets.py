"""Comma-separated values in brackets: all of JSON, and inline values of TOML and YAML. Finds where an entry is inserted
and what is removed with one; works on spans and knows no syntax of values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from anamnesis.onboard.formats.editing import KeyPath, Splice, Step, Unparsable

NEWLINE = re.compile(r"\r\n|\n|\r")
_BLANKS = re.compile(r"[ \t]*")
_REST = re.compile(r"([ \t]*)([^\r\n]?)")
# Text between two entries; the group is a comment that ends with its line.
_BETWEEN = re.compile(r"(//|\#)[^\r\n]*|/\*[\s\S]*?(?:\*/|\Z)|,")


@dataclass(slots=True)
class Node:
    """A value and its span; `entries` are the children of an object or a list."""

    start: int
    end: int
    value: Any = None
    entries: list[Entry] = field(default_factory=list)

    def index(self, step: Step) -> int:
        """The entry with this key or number; of a repeated key the last, which parsers use."""
        found = [index for index, entry in enumerate(self.entries) if entry.key == step]
        if not found:
            raise Unparsable(f"{step} is written in a way that cannot be edited safely", "Edit it by hand.")
        return found[-1]


@dataclass(slots=True)
class Entry:
    """A member of an object or an element of a list; `head` is the end of its colon or YAML's dash."""

    key: Step | None
    start: int
    node: Node
    head: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file is formatted: line ends, one indent, the text after a key and after a comma."""

    newline: str
    unit: str = "  "
    colon: str = ": "
    gap: str = " "


def newline_of(text: str) -> str:
    """The first line's line end."""
    found = NEWLINE.search(text)
    return found.group() if found else "\n"


def indent_of(text: str, at: int) -> str:
    """The indent of the line at a position."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    found = _BLANKS.match(text, start)
    return found.group() if found else ""


def own_indent(text: str, entry: Entry | None) -> str | None:
    """The indent of an entry that begins its line."""
    indent = indent_of(text, entry.start) if entry else ""
    return indent if entry and text.endswith(("\n" + indent, "\r" + indent), 0, entry.start) else None


def find(text: str, root: Node, path: KeyPath, inline: bool) -> tuple[Node, bool]:
    """The value at `path`, and whether its entries share a line. An empty one inherits that, the root from `inline`."""
    node, inline = root, _is_inline(text, root, inline)
    for step in path:
        node = node.entries[node.index(step)].node
        inline = _is_inline(text, node, inline)
    return node, inline


def _is_inline(text: str, node: Node, around: bool) -> bool:
    if node.entries:
        return not NEWLINE.search(text, node.start, node.entries[0].start)
    if text.startswith(("{", "["), node.start) and text[node.start + 1 : node.end - 1].strip():
        return not NEWLINE.search(text, node.start, node.end)
    return around


def insertion(
    text: str, container: Node, inline: bool, layout: Layout, spell: Callable[[str, bool], str]
) -> list[Splice]:
    """Insert a last entry after the comments of the one before, with a trailing comma if that has one.
    `spell` formats it for an indent, on one line or not."""
    last = container.entries[-1] if container.entries else None
    start, inner_end = last.node.end if last else container.start + 1, container.end - 1
    between = list(_BETWEEN.finditer(text, start, inner_end))
    at = between[-1].end() if between else start
    comma = any(mark[0] == "," for mark in between)
    inline = inline and not (between and between[-1][1])
    outer = indent_of(text, container.start)
    indent = own_indent(text, last)
    indent = outer + layout.unit if indent is None else indent
    entry = spell(indent, inline) + ("," if comma else "")
    lead = layout.gap if inline else layout.newline + indent
    if last or between:
        edits: list[Splice] = [(start, start, ",")] if last and not comma else []
        return [*edits, (at, at, lead + entry)]
    return [(start, inner_end, entry if inline else lead + entry + layout.newline + outer)]


def removal(text: str, container: Node, index: int) -> list[Splice]:
    """Remove an entry with its comma and surrounding blanks, but no comment beside it."""
    entry = container.entries[index]
    start = container.entries[index - 1].node.end if index else container.start + 1
    end = container.entries[index + 1].start if index + 1 < len(container.entries) else container.end - 1
    before = list(_BETWEEN.finditer(text, start, entry.start))
    after = list(_BETWEEN.finditer(text, entry.node.end, end))
    commas = [mark for mark in (*after, *reversed(before)) if mark[0] == ","]
    if len(container.entries) == 1 and before + after == commas:
        return [(container.start + 1, container.end - 1, "")]
    edits: list[Splice] = [(entry.start, entry.node.end, "")]
    edits += [(*comma.span(), "") for comma in commas[:1]]
    start = before[-1].end() if before else start
    rest = _REST.match(text, after[0].end() if after and after[0][0] == "," else entry.node.end)
    leads = not index or NEWLINE.search(text, start, entry.start)
    if rest and rest[2] and ((before and before[-1][1]) or (leads and rest[2] not in "}]")):
        return [*edits, (*rest.span(1), "")]
    return [*edits, (start, entry.start, "")]
