"""Reads foreign files leniently: texts, front matter, sections, JSON, folders. Follows no link, writes nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from anamnesis.importers.foreign_record import Unreadable
from anamnesis.notes import file_time

LARGEST_FILE = 5_000_000
_LONGEST_LINE = 32 << 20
_MOST_FILES = 100_000
_DEEPEST = 50
_FRONT = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)(.*)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"(#{1,3})[ \t]++(\S.*)")
_FENCES = ("```", "~~~")
_SKIPPED_FOLDERS = ("node_modules", "__pycache__", "venv")


class Section(NamedTuple):
    """A heading with its parent headings, and the text up to the next heading."""

    path: tuple[str, ...]
    text: str


def text_in(path: Path) -> str | Unreadable:
    """The text of a regular file of reasonable size, with LF line ends."""
    text = exact_text_in(path)
    if isinstance(text, Unreadable):
        return text
    return Unreadable(str(path), "It is not text.") if "\0" in text else text.replace("\r\n", "\n")


def exact_text_in(path: Path) -> str | Unreadable:
    """The text of a regular file of reasonable size."""
    try:
        if path.is_symlink() or not path.is_file():
            return Unreadable(str(path), "It is a link or not a file.")
        if path.stat().st_size > LARGEST_FILE:
            return Unreadable(str(path), f"It is larger than {LARGEST_FILE // 1_000_000} MB.")
        data = path.read_bytes()
    except OSError as error:
        return Unreadable(str(path), error.strerror or str(error))
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def lines_in(path: Path) -> Iterator[tuple[int, bytes] | Unreadable]:
    """The lines of a file that are not blank, with their numbers. Overlong lines are unreadable."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                while (rest := file.readline(_LONGEST_LINE)) and not rest.endswith(b"\n"):
                    pass
                yield Unreadable(f"{path}, line {number:,}", f"It is longer than {_LONGEST_LINE >> 20} MB.")
            elif line.strip():
                yield number, line


def written_at(path: Path) -> str:
    return file_time(path.stat().st_mtime_ns)


def files_under(folder: Path, *suffixes: str) -> Iterator[Path]:
    """The files with these suffixes, sorted, without links and hidden or generated folders; or the one given file."""
    if folder.is_file():
        yield folder
        return
    count = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            path = Path(place, name)
            if name.lower().endswith(suffixes) and not name.startswith(".") and not path.is_symlink():
                yield path
                count += 1
                if count >= _MOST_FILES:
                    return


def parts_of(text: str) -> tuple[dict[str, Any], str]:
    """The front matter of a text as far as it can be read, and the rest."""
    found = _FRONT.match(text)
    return (front_values(found[1]), found[2]) if found else ({}, text)


def front_values(front: str) -> dict[str, Any]:
    """The values of a front matter. If YAML fails, simple lines are read: a stray colon must not lose a memory."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_growth(yaml.parse(front, Loader=loader))
        found = yaml.load(front, Loader=loader)  # noqa: S506
    except (yaml.YAMLError, ValueError):
        found = dict(re.findall(r"^(\w+):[ \t]*(.+)$", front, re.MULTILINE))
    return found if isinstance(found, dict) else {}


def _refuse_growth(events: Iterator[yaml.Event]) -> None:
    """Refuse aliases, which can expand exponentially, and deep nesting."""
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST or isinstance(event, yaml.AliasEvent):
            raise ValueError("It is not plain front matter.")


def sections_of(text: str) -> Iterator[Section]:
    """The non-empty sections of a text, by headings of the first three levels outside of code blocks.

    Text before the first heading has no path.
    """
    path: tuple[str, ...] = ()
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = next((each for each in _FENCES if line.lstrip().startswith(each)), "")
        heading = None if fence or mark else _HEADING.match(line)
        if mark and fence in ("", mark):
            fence = "" if fence else mark
        if not heading:
            lines.append(line)
            continue
        yield from _section(path, lines)
        level = len(heading[1])
        path, lines = (*path[: level - 1], *("",) * (level - 1 - len(path)), _title(heading[2])), []
    yield from _section(path, lines)


def _title(text: str) -> str:
    """A heading without closing `#` marks."""
    open_end = text.rstrip().rstrip("#")
    return open_end.strip() if open_end[-1:].isspace() else text.strip()


def _section(path: tuple[str, ...], lines: list[str]) -> Iterator[Section]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield Section(tuple(filter(None, path)), text)


def first_line(text: str) -> str:
    """The first non-empty line, without list and heading marks."""
    lines = (line.strip().lstrip("#>*-+ ").strip() for line in text.splitlines())
    return next((line for line in lines if line), "")


def as_text(value: object) -> str:
    """A foreign value as text; "" for None and containers."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict | list) or value is None:
        return ""
    return str(value)


def as_list(value: object) -> list[str]:
    """A foreign list of texts: a list, JSON text of one, or words separated by commas."""
    if isinstance(value, str | bytes):
        text = as_text(value).strip()
        try:
            value = json.loads(text) if text.startswith("[") else text.split(",")
        except (ValueError, RecursionError):
            value = [text]
    items = value if isinstance(value, list | tuple) else []
    return [text for item in items if (text := as_text(item).strip())]


def json_in(path: Path) -> Any:
    """The value of a JSON configuration file; None if it cannot be read."""
    text = text_in(path)
    try:
        return None if isinstance(text, Unreadable) else json.loads(text)
    except (ValueError, RecursionError):
        return None
