"""The markdown form of a note: YAML front matter in a fixed order, then the body, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from anamnesis.errors import InvalidNote
from anamnesis.notes.record import Memory

# Written in this order; `extra` lines follow the key that they followed when they were read.
KEYS = (
    "id",
    "type",
    "title",
    "project",
    "machine_id",
    "scope",
    "prov_source",
    "confidence",
    "prov_model",
    "prov_session",
    "supersedes",
    "created_at",
    "updated_at",
    "tags",
)
_OMITTED_WHEN_EMPTY = ("prov_model", "prov_session", "supersedes")
_LISTS = ("tags", "supersedes")
_REQUIRED = ("id", "type", "title")

_OPENING = re.compile(r"\s*---[ \t]*(\r?\n)")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7})(?: |$)", re.MULTILINE)
_NULLS = ("", "~", "null", "Null", "NULL")

_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Parser):  # type: ignore[misc]
    """Composes nodes without asking what a scalar might mean: we take it as it is written."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        return ""


def render(memory: Memory) -> str:
    """The file text of a note."""
    meta = {key: getattr(memory, key) for key in KEYS}
    for key in _OMITTED_WHEN_EMPTY:
        if not meta[key]:
            del meta[key]
    if memory.extra:
        pieces = [memory.extra.get("", "")]
        for key in KEYS:
            pieces += [_dump({key: meta[key]}) if key in meta else "", memory.extra.get(key, "")]
        front = "".join(pieces)
    else:
        front = _dump(meta)
    head = f"---\n{front}---\n"
    if memory.newline != "\n":
        head = head.replace("\n", memory.newline)
    return f"{head}{memory.body}{memory.newline}"


def decode(data: bytes) -> str:
    """The text of a note file's bytes."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidNote("The file is not UTF-8 text.", "Save it as UTF-8.", line) from None


def parse(text: str, **instead: str) -> Memory:
    """The note of a file's text, some fields given `instead` of read.

    The inverse of `render`, and tolerant of what people and editors write.
    """
    text = text.removeprefix("\ufeff")
    opening = _OPENING.match(text)
    if not opening:
        raise InvalidNote("memory file missing YAML front-matter", "A note starts with a line ---.", 1)
    start, newline = opening.end(), opening.group(1)
    closing = _CLOSING.search(text, start)
    if not closing:
        raise InvalidNote("The front matter is not closed.", "End it with a line ---.", 1)
    front = text[start : closing.start()]
    body = text[closing.end() :].removesuffix(newline)
    if newline == "\r\n":
        front = front.replace("\r\n", "\n")
    first_line = text.count("\n", 0, start) + 1
    values, extra = _read_front(front, first_line)
    for key in _REQUIRED:
        if key not in values:
            raise InvalidNote(f"The front matter has no {key}.", f"Add a line `{key}: ...`.", first_line)
    return Memory(**{**values, **instead}, body=body, extra=extra, newline=newline)


def _dump(meta: dict[str, Any]) -> str:
    # libyaml escapes what lies beyond the BMP (emoji). The Python emitter writes it as it is, but is 20 times
    # slower and loses the line breaks that only Unicode knows.
    title, tags = meta.get("title", ""), meta.get("tags", ())
    text = "".join((title, *tags))
    readable = not text.isascii() and max(text) > "\uffff" and not re.search("[\x85\u2028\u2029]", text)
    dumper = yaml.SafeDumper if readable else _Dumper
    dumped: str = yaml.dump(meta, Dumper=dumper, sort_keys=False, allow_unicode=True)
    return dumped


def _read_front(front: str, first_line: int) -> tuple[dict[str, Any], dict[str, str]]:
    """The known values, and the lines that are not ours by the known key they follow."""
    values: dict[str, Any] = {}
    extra: dict[str, str] = {}
    anchor = ""
    for key, node, source in _entries(front, first_line):
        if key in KEYS:
            anchor = key
            line = first_line + node.start_mark.line
            if not _is_null(node):
                values[key] = _value(key, node, line)
            source = _comments(source)
        if source:
            extra[anchor] = extra.get(anchor, "") + source
    return values, extra


def _entries(front: str, first_line: int) -> Iterator[tuple[str, Any, str]]:
    """Each top-level entry: its key, its value's node and its source text up to the next entry."""
    pairs = _compose(front, first_line)
    if any(key.start_mark.column for key, _ in pairs):
        # `{id: x, ...}` or an indented block: give every entry lines of its own
        root = yaml.compose(front, Loader=_Parser)
        root.flow_style = False
        front = yaml.serialize(root, Dumper=_Dumper, allow_unicode=True)
        pairs = _compose(front, first_line)
    starts = [key.start_mark.index for key, _ in pairs] + [len(front)]
    if starts[0] and pairs:
        yield "", pairs[0][0], front[: starts[0]]
    for position, (key, node) in enumerate(pairs):
        name = key.value if isinstance(key, yaml.ScalarNode) else ""
        yield name, node, front[starts[position] : starts[position + 1]]


def _compose(front: str, first_line: int) -> list[tuple[Any, Any]]:
    conflict = _CONFLICT.search(front)
    if conflict:
        line = first_line + front.count("\n", 0, conflict.start())
        raise InvalidNote("The front matter holds git conflict markers.", "Keep one side and remove them.", line)
    try:
        root = yaml.compose(front, Loader=_Loader)
    except yaml.YAMLError as error:
        raise _unreadable(error, front, first_line) from None
    except RecursionError:
        raise InvalidNote("The front matter is nested too deeply.", "", first_line) from None
    if root is None:
        return []
    if not isinstance(root, yaml.MappingNode):
        raise InvalidNote("The front matter is not made of `key: value` lines.", "", first_line)
    pairs: list[tuple[Any, Any]] = root.value
    return pairs


def _unreadable(error: yaml.YAMLError, front: str, first_line: int) -> InvalidNote:
    mark = getattr(error, "problem_mark", None)
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
    offset = mark.line if mark else front.count("\n", 0, getattr(error, "position", 0))
    return InvalidNote(f"The front matter cannot be read: {reason}.", "", first_line + offset)


def _is_null(node: Any) -> bool:
    return isinstance(node, yaml.ScalarNode) and not node.style and node.value in _NULLS


def _value(key: str, node: Any, line: int) -> Any:
    if isinstance(node, yaml.ScalarNode):
        # The text as written: a title `1.10`, `yes` or an unquoted time is what it looks like.
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
    expected = "a list of words" if key in _LISTS else "one value"
    raise InvalidNote(f"{key} must be {expected}.", "", line)


def _number(text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidNote(f"confidence {text!r} is not a number.", "Use 0.0 to 1.0.", line) from None


def _comments(source: str) -> str:
    """The comment lines that stand between a known key and the next one."""
    if "\n#" not in source:
        return ""
    return "".join(line for line in source.splitlines(keepends=True)[1:] if line.startswith("#"))
