"""The markdown form of a note: YAML front matter in a fixed order, then the body, byte for byte."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from anamnesis.errors import InvalidNote
from anamnesis.light import lazy_pattern
from anamnesis.notes.record import KEYS, EngramValue, Memory, plain_value

_OMITTED_WHEN_EMPTY = ("prov_model", "prov_session", "supersedes", "engram")
# Words that YAML reads as a boolean or null.
_WORDS = "(?:y|n|yes|no|on|off|true|false|null)"
_KEY = lazy_pattern(rf"(?!{_WORDS}\Z)[a-z_]+")
_REQUIRED = ("id", "type", "title")
_ID_LINE = lazy_pattern(rb"^((?:\{|[^\S\n])*+)id:\s*+[\"']?([\w.-]+)", re.MULTILINE)
_LONGEST_FRONT = 4_000  # bytes that are searched for ids
_OPENING = lazy_pattern(r"\s*---[ \t]*(\r?\n)")
_CLOSING = lazy_pattern(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)

# The front matter of nearly every note that we write: values that YAML reads as the same text. Matching it takes a
# third of YAML's time, and saves 15 ms at start.
_INNER = r"""[\w./@+(),'"&%=<>!*?;$-]"""
_PLAIN = rf"(?!(?:null|Null|NULL)\n)[A-Za-z0-9](?:{_INNER}++| (?={_INNER}))*+"
_USUAL = lazy_pattern(
    rf"id: (?P<id>{_PLAIN})\ntype: (?P<type>{_PLAIN})\ntitle: (?P<title>{_PLAIN}|'(?:[ -&(-~]++|'')*+')\n"
    rf"project: (?P<project>{_PLAIN})\n"
    rf"machine_id: (?P<machine_id>{_PLAIN})\nscope: (?P<scope>{_PLAIN})\nprov_source: (?P<prov_source>{_PLAIN})\n"
    r"confidence: (?P<confidence>\d\.\d+)\n"
    rf"(?:prov_model: (?P<prov_model>{_PLAIN})\n)?(?:prov_session: (?P<prov_session>{_PLAIN})\n)?"
    rf"(?:supersedes: (?P<supersedes>{_PLAIN})\n)?"
    r"created_at: '(?P<created_at>[\d:T+-]*)'\nupdated_at: '(?P<updated_at>[\d:T+-]*)'\n"
    rf"tags:(?: \[\]|(?P<tags>(?:\n- {_PLAIN})+))\n"
    rf"(?:engram:\n(?P<engram>(?:  [a-z_]+: (?:{_PLAIN}|'[\d: -]*'|null)\n)+))?",
    re.ASCII,
)


# Values that YAML writes unquoted: a word that is no number, time, boolean or null, in lines too short to be folded.
_ULID = "(?=[0-9]*[A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_UNQUOTED = lazy_pattern(
    rf"(?!{_WORDS}\Z)(?!.{{61}})[a-z](?:{_INNER}| (?={_INNER}))*|(?-i:{_ULID}|{_UUID})", re.ASCII | re.IGNORECASE
)
_WITH_COLON = lazy_pattern(rf"(?!.{{61}})(?=.*: )[A-Za-z](?:{_INNER}|:? (?={_INNER}))*", re.ASCII)
_LONGEST_USUAL = 60  # the limit of both patterns: longer texts are not cached
_QUOTED = lazy_pattern(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d\+00:00| \d\d:\d\d:\d\d)")
_DECIMAL = lazy_pattern(r"\d\.\d{1,4}")


def render(memory: Memory) -> str:
    """The file text of a note."""
    meta = {key: getattr(memory, key) for key in KEYS}
    for key in _OMITTED_WHEN_EMPTY:
        if not meta[key]:
            del meta[key]
    front = None if memory.extra else _usual_front(meta)
    if front is None:
        from anamnesis.notes.frontmatter import write_front

        front = write_front(meta, memory.extra, _usual_front)
    head = f"---\n{front}---\n"
    if memory.newline != "\n":
        head = head.replace("\n", memory.newline)
    return f"{head}{memory.body}{memory.newline}"


def front_of(memory: Memory, text: str) -> str:
    """The front matter of a note's text, for `parse`, without the body."""
    return text[: len(text) - len(memory.body) - len(memory.newline)] + memory.newline


def _usual_front(meta: dict[str, Any]) -> str | None:
    """The text that YAML would write, in a tenth of its time; None unless every value is plain or simply quoted."""
    lines = []
    for key, value in meta.items():
        if isinstance(value, (list, dict)):
            pairs = [("- ", each) for each in value] if isinstance(value, list) else _indented(value)
            written = [(lead, _usual(each)) for lead, each in pairs]
            if any(text is None for _, text in written):
                return None
            lines += [f"{key}:" if written else f"{key}: []", *(f"{lead}{text}" for lead, text in written)]
        elif (text := _usual(value)) is not None:
            lines.append(f"{key}: {text}")
        else:
            return None
    return "\n".join(lines) + "\n"


def _indented(values: dict[str, EngramValue]) -> list[tuple[str, EngramValue]]:
    # A key that is not a plain word has no usual form; neither has a list.
    return [(f"  {key}: ", value) if _KEY.fullmatch(key) else ("", "") for key, value in values.items()]


def _usual(value: Any) -> str | None:
    if isinstance(value, str):
        return _usual_text(value) if len(value) <= _LONGEST_USUAL else None
    if value is None:
        return "null"
    text = repr(value)
    return text if isinstance(value, int) or _DECIMAL.fullmatch(text) else None


# Types, projects, machines and times repeat from note to note.
@lru_cache(maxsize=2048)
def _usual_text(value: str) -> str | None:
    if _UNQUOTED.fullmatch(value):
        return value
    if _QUOTED.fullmatch(value) or _WITH_COLON.fullmatch(value):
        return "'{}'".format(value.replace("'", "''"))
    return None


def decode(data: bytes) -> str:
    """The text of a note file."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidNote("The file is not UTF-8 text.", "Save it as UTF-8.", line) from None


def named_ids(data: bytes) -> list[str]:
    """The ids at the beginning of a file, parsable or not; ids on lines without indent first."""
    found = _ID_LINE.findall(data, 0, _LONGEST_FRONT)
    return [id.decode() for _, id in sorted(found, key=lambda match: bool(match[0]))]


def parse(text: str, **instead: str) -> Memory:
    """The note of a file's text; fields given in `instead` replace those of the text.

    The inverse of `render`; also accepts other forms that people and editors write.
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


def _read_front(front: str, first_line: int) -> tuple[dict[str, Any], dict[str, str]]:
    """The known values, and the unknown lines by the known key that they follow."""
    usual = _USUAL.fullmatch(front)
    if usual:
        return _usual_values(usual), {}
    from anamnesis.notes.frontmatter import read_front

    return read_front(front, first_line)


def _usual_values(usual: re.Match[str]) -> dict[str, Any]:
    values: dict[str, Any] = {key: text for key, text in usual.groupdict().items() if text is not None}
    values["confidence"] = float(values["confidence"])
    if values["title"].startswith("'"):
        values["title"] = values["title"][1:-1].replace("''", "'")
    values["tags"] = values["tags"].split("\n- ")[1:] if "tags" in values else []
    if "engram" in values:
        pairs = (line[2:].split(": ", 1) for line in values["engram"].splitlines())
        values["engram"] = {key: _unquoted(text) for key, text in pairs}
    return values


def _unquoted(text: str) -> EngramValue:
    return text[1:-1] if text.startswith("'") else plain_value(text)
