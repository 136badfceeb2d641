"""YAML: finds the lines of each block entry, and formats new ones. PyYAML validates and gives positions; values in
brackets are edited like JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from anamnesis.onboard.formats import whole_lines as whole
from anamnesis.onboard.formats.brackets import Entry, Layout, Node, find, insertion, newline_of, removal
from anamnesis.onboard.formats.editing import KeyPath, Unparsable, spell, splice

_COLON = re.compile(r"\s*:")
_DASH = re.compile(r"(?:\s++|#.*+|[&!]\S*+)*+-")
# Never a number, date, comment or indicator in YAML 1.1 or 1.2; words like "yes" are checked separately.
_PLAIN = re.compile(r"[^\W\d](?:[\w ./@+~-]*[\w./@+~-])?|/[\w./@+~-]*")
_HIDDEN = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_KEEP = re.compile(r"[^\n]*[|>][0-9]?\+")
_BLOCK, _FLOW, _LINES = "block", "flow", "lines"


class _Loader(yaml.SafeLoader):
    """Composes an alias as a value with its own position."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            alias: Any = self.get_event()  # type: ignore[no-untyped-call]
            return yaml.ScalarNode("alias", alias.anchor, alias.start_mark, alias.end_mark)
        return super().compose_node(parent, index)


class _Reader(yaml.SafeLoader):
    """Reads a timestamp as text: not every text that looks like one is valid."""

    def construct_yaml_timestamp(self, node: yaml.Node) -> Any:
        return self.construct_yaml_str(node)


_Reader.add_constructor("tag:yaml.org,2002:timestamp", _Reader.construct_yaml_timestamp)


def parse(text: str) -> Any:
    try:
        return _Reader(text).get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise Unparsable(f"{place}{error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise Unparsable(str(error).partition("\n")[0]) from None


def replace(text: str, path: KeyPath, value: Any) -> str:
    root = _read(text)
    if not path:
        return _replace_root(text, root, value)
    container, rest = _walk(root, path[:-1])
    if container.value == _FLOW:
        node, _ = find(text, container, (*rest, path[-1]), True)
        return splice(text, [(node.start, node.end, _inline(value))])
    entry = container.entries[container.index(path[-1])]
    first, new = _spell_behind(text, root, entry, value)
    newline, lines = newline_of(text), whole.split(text)
    if "\n" not in text[entry.head : entry.node.start]:
        lines = whole.split(splice(text, [(entry.head, entry.node.end, first)]))
        return "".join(whole.insert(lines, _line(text, entry.head) + 1, new, newline))
    at, last = _line(text, entry.node.start), _line(text, entry.node.end)
    lines = whole.insert(lines, at, new, newline)
    lines = whole.cut(lines, range(at + len(new), last + len(new) + 1))
    return splice("".join(lines), [(entry.head, entry.head, first)])


def insert(text: str, path: KeyPath, value: Any) -> str:
    root = _read(text)
    container, rest = _walk(root, path[:-1])
    if container.value == _FLOW and not rest and not text[container.start + 1 : container.end - 1].strip():
        return replace(text, path[:-1], _entry(path, value))
    if container.value == _FLOW:
        node, inline = find(text, container, rest, True)
        new = _inline(_entry(path, value))[1:-1]
        return splice(text, insertion(text, node, inline, Layout(newline_of(text)), lambda *_: new))
    if not container.entries:
        raise Unparsable(f"{spell(path[:-1])} repeats another part of the file by an alias", "Edit it by hand.")
    lines, indent = whole.split(text), " " * _column(text, container.entries[0].start)
    at = _line(text, container.end) + 1
    while at < len(lines) and lines[at].startswith(indent) and lines[at].lstrip(" ").startswith("#"):
        at += 1
    is_open = at == len(lines) and not text.endswith("\n") and _ends_in_text(container)
    if is_open and isinstance(path[-1], str):
        at = _line(text, container.entries[-1].start)
    new_lines = [indent + line for line in _spell(_entry(path, value), *_steps(text, root))]
    return "".join(whole.insert(lines, at, new_lines, newline_of(text)))


def remove(text: str, path: KeyPath) -> str:
    container, rest = _walk(_read(text), path[:-1])
    flow = container.value == _FLOW
    if flow:
        container, _ = find(text, container, rest, True)
    index = container.index(path[-1])
    twice = any(entry.key == path[-1] for entry in container.entries[:index])
    if flow:
        text = splice(text, removal(text, container, index))
    elif len(container.entries) == 1 and (len(path) > 1 or "\n..." in text):
        text = replace(text, path[:-1], [] if isinstance(path[-1], int) else {})
    else:
        text = _cut_entry(text, container, index)
    return remove(text, path) if twice else text


def bare(text: str, path: KeyPath) -> bool:
    container, rest = _walk(_read(text), path)
    node, _ = find(text, container, rest, True)
    beside = "" if rest else text[node.end :].partition("\n")[0]
    return text[node.start : node.end] in ("{}", "[]") and "#" not in beside


def _replace_root(text: str, root: Node, value: Any) -> str:
    """Write a document where there is none, only a start marker, or an empty one."""
    new = _spell(value, *_steps(text, root))
    if root.start < root.end:
        return splice(text, [(root.start, root.end, newline_of(text).join(new))])
    lines = whole.split(text)
    at = _line(text, root.start) + (_column(text, root.start) > 0)
    return "".join(whole.insert(lines, at, new, newline_of(text)))


def _cut_entry(text: str, container: Node, index: int) -> str:
    entry = container.entries[index]
    first, last = _line(text, entry.start), _line(text, entry.node.end)
    if not text[text.rfind("\n", 0, entry.start) + 1 : entry.start].strip():
        lines = whole.split(text)
        if index and _ends_in_text(container.entries[index - 1].node):
            lines[last] += "\n"  # keeps the line end of the block scalar before, if this line is the last
        return "".join(whole.cut(lines, range(first, last + 1)))
    following = container.entries[index + 1].start if index + 1 < len(container.entries) else entry.node.end
    if "#" in text[entry.node.end : following]:
        raise Unparsable(f"line {last + 1} has a comment that would be lost", "Edit it by hand.")
    return splice(text, [(entry.start, following, "")])


# Reading.


def _read(text: str) -> Node:
    """The tree of a text; the value of a node is its style."""
    root = _Loader(text).get_single_node()
    return Node(len(text), len(text)) if root is None else _node(text, root)


def _node(text: str, node: yaml.Node) -> Node:
    start, end = node.start_mark.index, node.end_mark.index
    if not isinstance(node, yaml.CollectionNode):
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            return Node(start, _last_line(text, start, end), _LINES)
        return Node(start, end)
    found = Node(start, end, _FLOW if node.flow_style else _BLOCK)
    for item in node.value:
        found.entries.append(_member(text, *item) if isinstance(item, tuple) else _item(text, found, item))
    if found.value == _BLOCK:
        found.end = found.entries[-1].node.end
    return found


def _member(text: str, key: yaml.Node, value: yaml.Node) -> Entry:
    name = key.value if key.tag == "tag:yaml.org,2002:str" else None
    colon = _COLON.match(text, key.end_mark.index)
    return Entry(name, key.start_mark.index, _node(text, value), colon.end() if colon else 0)


def _item(text: str, container: Node, value: yaml.Node) -> Entry:
    node, index = _node(text, value), len(container.entries)
    if container.value == _FLOW:
        return Entry(index, node.start, node)
    dash = _DASH.match(text, container.entries[-1].node.end if index else container.start)
    head = dash.end() if dash else node.start
    return Entry(index, head - 1, node, head)


def _last_line(text: str, start: int, end: int) -> int:
    """The end of a block scalar; blank lines below it belong to it only with `+`."""
    own = text[start:end]
    return start + len(own.removesuffix("\n") if _KEEP.match(own) else own.rstrip())


def _ends_in_text(node: Node) -> bool:
    """Whether a value ends in a block scalar, where a line end at the end of the file matters."""
    while node.entries:
        node = node.entries[-1].node
    return bool(node.value == _LINES)


def _walk(node: Node, path: KeyPath) -> tuple[Node, KeyPath]:
    """The value at `path`; inside brackets, the outermost pair and the rest of the path."""
    for depth, step in enumerate(path):
        if node.value == _FLOW:
            return node, path[depth:]
        node = node.entries[node.index(step)].node
    return node, ()


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at)


def _column(text: str, at: int) -> int:
    return at - text.rfind("\n", 0, at) - 1


def _steps(text: str, root: Node) -> tuple[int, int]:
    """The indents of a mapping and a list below their key, from the first of each in the file."""
    found = list(_indents(text, root))
    step = next((indent for is_list, indent in found if not is_list), 2)
    return step, next((indent for is_list, indent in found if is_list), step)


def _indents(text: str, node: Node) -> Iterator[tuple[bool, int]]:
    for entry in node.entries:
        inner = entry.node.entries[0] if entry.node.value == _BLOCK else None
        if inner and not isinstance(entry.key, int):
            yield isinstance(inner.key, int), _column(text, inner.start) - _column(text, entry.start)
        yield from _indents(text, entry.node)


# Writing.


def _entry(path: KeyPath, value: Any) -> Any:
    return {path[-1]: value} if isinstance(path[-1], str) else [value]


def _spell_behind(text: str, root: Node, entry: Entry, value: Any) -> tuple[str, list[str]]:
    """The text on the line of a key or dash, and the lines below it."""
    alone: Any = [value] if isinstance(entry.key, int) else {"k": value}
    first, *rest = _spell(alone, *_steps(text, root))
    indent = " " * _column(text, entry.start)
    return first[1 if isinstance(entry.key, int) else 2 :], [indent + line for line in rest]


def _spell(value: Any, step: int, list_step: int) -> list[str]:
    """The lines of a value in block style."""
    lines: list[str] = []
    if isinstance(value, dict) and value:
        for key, item in value.items():
            inner = _spell(item, step, list_step)
            if isinstance(item, (dict, list)) and item:
                indent = " " * (step if isinstance(item, dict) else list_step)
                lines += [f"{_scalar(key)}:", *(indent + line for line in inner)]
            else:
                lines.append(f"{_scalar(key)}: {inner[0]}")
    elif isinstance(value, list) and value:
        for item in value:
            first, *rest = _spell(item, step, list_step)
            lines += ["- " + first, *("  " + line for line in rest)]
    return lines or [_scalar(value)]


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        return _inline(value)
    if _PLAIN.fullmatch(value) and value.lower() not in ("y", "n") and yaml.safe_load(value) == value:
        return value
    return f"'{value}'" if "\\" in value and value.isprintable() and "'" not in value else _inline(value)


def _inline(value: Any) -> str:
    """A value on one line as JSON, which is YAML except for some characters that need escapes."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
