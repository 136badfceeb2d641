"""The front matter of a note as YAML. Imported only when needed: most notes are parsed without it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from anamnesis.errors import InvalidNote
from anamnesis.notes.record import KEYS, NULLS, plain_value

_LISTS = ("tags", "supersedes")
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7})(?: |$)", re.MULTILINE)
_UNICODE_BREAKS = re.compile("[\x85\u2028\u2029]")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)
_DEEPEST = 200

_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Parser):  # type: ignore[misc]
    """Composes nodes without resolving types: a scalar is the text as written."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        return ""


def write_front(
    meta: dict[str, Any], extra: dict[str, str], usual: Callable[[dict[str, Any]], str | None] = lambda _: None
) -> str:
    """The front matter in its fixed order, each group of unknown lines after the key that it followed.

    `usual` returns the text that YAML would write, in a tenth of the time, or None.
    """
    if not extra:
        return _dump(meta)
    pieces = [extra.get("", "")]
    for key in KEYS:
        entry = {key: meta[key]} if key in meta else {}
        pieces += [usual(entry) or _dump(entry) if entry else "", extra.get(key, "")]
    return "".join(pieces)


def read_front(front: str, first_line: int) -> tuple[dict[str, Any], dict[str, str]]:
    """The known values, and the unknown lines by the known key that they follow."""
    values: dict[str, Any] = {}
    extra: dict[str, list[str]] = {}
    anchor = ""
    for key, node, source, start in _entries(front, first_line):
        if key in KEYS and (key != "engram" or _is_flat(node)):
            anchor = key
            line = first_line + node.start_mark.line
            if not _is_null(node):
                values[key] = _value(key, node, line)
            source = _comments(source, node, start)
        if source:
            extra.setdefault(anchor, []).append(source)
    return values, {key: "".join(sources) for key, sources in extra.items()}


def _dump(meta: dict[str, Any]) -> str:
    dumped: str = yaml.dump(meta, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    if "\\U" in dumped and not _UNICODE_BREAKS.search("".join(_texts(meta))):
        # libyaml escapes characters beyond the BMP (emoji). The Python emitter does not, but is 20 times slower and
        # loses the line breaks that only Unicode knows.
        dumped = yaml.dump(meta, Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True)
    return dumped


def _texts(meta: dict[str, Any]) -> Iterator[str]:
    for value in meta.values():
        several = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        yield from map(str, several)


def _entries(front: str, first_line: int) -> Iterator[tuple[str, Any, str, int]]:
    """Each top-level entry: its key, its value's node, its source up to the next entry, and the source's start."""
    pairs = _compose(front, first_line)
    if any(key.start_mark.column for key, _ in pairs):
        # `{id: x, ...}` or an indented block: put every entry on lines of its own
        root: Any = yaml.compose(front, Loader=_Parser)
        root.flow_style = False
        front = yaml.serialize(root, Dumper=_Dumper, allow_unicode=True)
        pairs = _compose(front, first_line)
    starts = [key.start_mark.index for key, _ in pairs] + [len(front)]
    if starts[0] and pairs:
        yield "", pairs[0][0], front[: starts[0]], 0
    for position, (key, node) in enumerate(pairs):
        name = key.value if isinstance(key, yaml.ScalarNode) else ""
        yield name, node, front[starts[position] : starts[position + 1]], starts[position]


def _compose(front: str, first_line: int) -> list[tuple[Any, Any]]:
    conflict = _CONFLICT.search(front)
    if conflict:
        line = first_line + front.count("\n", 0, conflict.start())
        raise InvalidNote("The front matter holds git conflict markers.", "Keep one side and remove them.", line)
    try:
        if len(front) > 5 * _DEEPEST and _depth(front) > _DEEPEST:
            raise InvalidNote("The front matter is nested too deeply.", "", first_line)
        root = yaml.compose(front, Loader=_Loader)
    except yaml.YAMLError as error:
        raise _unreadable(error, front, first_line) from None
    if root is None:
        return []
    if not isinstance(root, yaml.MappingNode):
        raise InvalidNote("The front matter is not made of `key: value` lines.", "", first_line)
    pairs: list[tuple[Any, Any]] = root.value
    return pairs


def _depth(front: str) -> int:
    """The nesting depth. Composing recurses in C, where a stack overflow ends the process."""
    depth = deepest = 0
    for event in yaml.parse(front, Loader=_Parser):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        deepest = max(deepest, depth)
        if deepest > _DEEPEST:
            break
    return deepest


def _unreadable(error: yaml.YAMLError, front: str, first_line: int) -> InvalidNote:
    mark = getattr(error, "problem_mark", None)
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
    # libyaml gives the position of a bad character in bytes.
    offset = mark.line if mark else front.encode("utf-8", "replace")[: getattr(error, "position", 0)].count(b"\n")
    return InvalidNote(f"The front matter cannot be read: {reason}.", "", first_line + offset)


def _is_null(node: Any) -> bool:
    return isinstance(node, yaml.ScalarNode) and not node.style and node.value in NULLS


def _is_flat(node: Any) -> bool:
    """Whether a node is a mapping of scalars, as we write it; any other is the user's own."""
    return isinstance(node, yaml.MappingNode) and all(
        isinstance(each, yaml.ScalarNode) for pair in node.value for each in pair
    )


def _value(key: str, node: Any, line: int) -> Any:
    if isinstance(node, yaml.ScalarNode):
        # The text as written: a title `1.10` or `yes` and an unquoted time stay what they look like.
        text: str = node.value
        if key == "confidence":
            return _number(text, line)
        if key == "tags":
            return [tag.strip() for tag in text.split(",") if tag.strip()]
        return text
    if key in _LISTS and isinstance(node, yaml.SequenceNode):
        items = [item for item in node.value if not _is_null(item)]
        if all(isinstance(item, yaml.ScalarNode) for item in items):
            return [item.value for item in items]
    if key == "engram":
        return {name.value: each.value if each.style else plain_value(each.value) for name, each in node.value}
    expected = "a list of words" if key in _LISTS else "one value"
    raise InvalidNote(f"{key} must be {expected}.", "", line)


def _number(text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidNote(f"confidence {text!r} is not a number.", "Use 0.0 to 1.0.", line) from None


def _leaves(node: Any) -> list[Any]:
    if isinstance(node, yaml.MappingNode):
        return [each for pair in node.value for each in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else [node]


def _comments(source: str, node: Any, start: int) -> str:
    """The comments at a known key, each on its own line."""
    if "#" not in source:
        return ""
    found, position = [], 0
    for leaf in _leaves(node):
        found += _COMMENT.findall(source[position : leaf.start_mark.index - start])
        position = leaf.end_mark.index - start
    found += _COMMENT.findall(source[position:])
    return "".join(f"{comment}\n" for comment in found)
