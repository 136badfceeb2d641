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
_UNICODE_BREAKS = re.compile("[\x85\u2028\u2029]")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)
_DEEPEST = 200
_NULLS = ("", "~", "null", "Null", "NULL")

# The front matter of nearly every note that we wrote, of texts that mean to YAML just what they say. Reading it so
# takes a tenth of the time.
_PLAIN = r"(?!(?:null|Null|NULL)\n)[A-Za-z0-9](?:[\w./@+()-]| (?=[\w./@+()-]))*"
_USUAL = re.compile(
    rf"id: (?P<id>{_PLAIN})\ntype: (?P<type>{_PLAIN})\ntitle: (?P<title>{_PLAIN})\nproject: (?P<project>{_PLAIN})\n"
    rf"machine_id: (?P<machine_id>{_PLAIN})\nscope: (?P<scope>{_PLAIN})\nprov_source: (?P<prov_source>{_PLAIN})\n"
    r"confidence: (?P<confidence>\d\.\d+)\n"
    rf"(?:prov_model: (?P<prov_model>{_PLAIN})\n)?(?:prov_session: (?P<prov_session>{_PLAIN})\n)?"
    rf"(?:supersedes: (?P<supersedes>{_PLAIN})\n)?"
    r"created_at: '(?P<created_at>[\d:T+-]*)'\nupdated_at: '(?P<updated_at>[\d:T+-]*)'\n"
    rf"tags:(?: \[\]|(?P<tags>(?:\n- {_PLAIN})+))\n",
    re.ASCII,
)

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
    dumped: str = yaml.dump(meta, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    if "\\U" in dumped and not _UNICODE_BREAKS.search("".join(_texts(meta))):
        # libyaml escapes what lies beyond the BMP (emoji). The Python emitter writes it as it is, but is 20 times
        # slower and loses the line breaks that only Unicode knows.
        dumped = yaml.dump(meta, Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True)
    return dumped


def _texts(meta: dict[str, Any]) -> Iterator[str]:
    for value in meta.values():
        yield from (value if isinstance(value, list) else [str(value)])


def _read_front(front: str, first_line: int) -> tuple[dict[str, Any], dict[str, str]]:
    """The known values, and the lines that are not ours by the known key they follow."""
    usual = _USUAL.fullmatch(front)
    if usual:
        return _usual_values(usual), {}
    values: dict[str, Any] = {}
    extra: dict[str, str] = {}
    anchor = ""
    for key, node, source, start in _entries(front, first_line):
        if key in KEYS:
            anchor = key
            line = first_line + node.start_mark.line
            if not _is_null(node):
                values[key] = _value(key, node, line)
            source = _comments(source, node, start)
        if source:
            extra[anchor] = extra.get(anchor, "") + source
    return values, extra


def _usual_values(usual: re.Match[str]) -> dict[str, Any]:
    values: dict[str, Any] = {key: text for key, text in usual.groupdict().items() if text is not None}
    values["confidence"] = float(values["confidence"])
    values["tags"] = values["tags"].split("\n- ")[1:] if "tags" in values else []
    return values


def _entries(front: str, first_line: int) -> Iterator[tuple[str, Any, str, int]]:
    """Each top-level entry: its key, its value's node, its source text up to the next entry, and where that starts."""
    pairs = _compose(front, first_line)
    if any(key.start_mark.column for key, _ in pairs):
        # `{id: x, ...}` or an indented block: give every entry lines of its own
        root = yaml.compose(front, Loader=_Parser)
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
    """How deep the collections are nested. Composing recurses in C, where too deep ends the process."""
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
    # libyaml counts the position of a bad character in bytes.
    offset = mark.line if mark else front.encode("utf-8", "replace")[: getattr(error, "position", 0)].count(b"\n")
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


def _comments(source: str, node: Any, start: int) -> str:
    """The comments at a known key, each on a line of its own: what is not part of any value and starts with #."""
    if "#" not in source:
        return ""
    found, position = [], 0
    for leaf in node.value if isinstance(node, yaml.SequenceNode) else [node]:
        found += _COMMENT.findall(source[position : leaf.start_mark.index - start])
        position = leaf.end_mark.index - start
    found += _COMMENT.findall(source[position:])
    return "".join(f"{comment}\n" for comment in found)
