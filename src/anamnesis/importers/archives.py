"""Downloaded exports: a zip, its unpacked folder, or one of its files. A zip is never unpacked to disk."""

from __future__ import annotations

import codecs
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from anamnesis.importers.foreign_record import Unreadable
from anamnesis.importers.machine import Machine
from anamnesis.light import lazy_pattern

_CHUNK = 1 << 20
_LARGEST_MEMBER = 4 << 30
_LARGEST_VALUE = 256 << 20
# Blanks between two values; nobody writes so many, and a zip of them is small.
_MOST_BLANKS = 16 << 20
_MOST_MEMBERS = 50_000
_MOST_ARCHIVES = 200
_BLANKS = lazy_pattern(r"[ \t\r\n,]*+")

# The errors of reading a damaged zip, disk or document.
_UNREADABLE = (OSError, ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile)

NameFilter = Callable[[str], bool]


class LimitedStream(io.RawIOBase):
    """A stream that raises beyond a limit: the sizes that a zip declares cannot be trusted."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream = stream
        self._left = limit

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(min(size if size >= 0 else self._left + 1, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("It is too large.")
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def members(
    place: Path, wanted: NameFilter, limit: int = _LARGEST_MEMBER
) -> Generator[tuple[str, LimitedStream], None, None]:
    """The matching files of an export, each with a stream that is open until the next."""
    if place.is_dir():
        for path in sorted(each for each in place.rglob("*.*") if each.is_file() and not each.is_symlink()):
            if wanted(path.name):
                with path.open("rb") as file:
                    yield str(path), LimitedStream(file, limit)
    elif zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as archive:
            for member in _wanted(archive, wanted):
                with archive.open(member) as file:
                    yield f"{place}: {member.filename}", LimitedStream(file, limit)
    else:
        with place.open("rb") as file:
            yield str(place), LimitedStream(file, limit)


def _wanted(archive: zipfile.ZipFile, wanted: NameFilter) -> list[zipfile.ZipInfo]:
    found = archive.infolist()
    if len(found) > _MOST_MEMBERS:
        raise ValueError(f"It has more than {_MOST_MEMBERS:,} files.")
    return [each for each in found if not each.is_dir() and wanted(each.filename.rpartition("/")[2])]


def values_in(place: str, stream: LimitedStream) -> Iterator[Any]:
    """The elements of a JSON array one by one, or the stream's only value.

    After an invalid element, the others cannot be found: it is the last, as an `Unreadable`.
    """
    try:
        yield from _values(place, _JsonText(stream))
    except _UNREADABLE as error:
        yield Unreadable(place, str(error) or type(error).__name__)


def _values(place: str, text: _JsonText) -> Iterator[Any]:
    if not text.starts("["):
        yield text.whole() if text.rest() else Unreadable(place, "It is empty.")
        return
    number = 1
    while not text.is_at("]"):
        try:
            found, value = text.next_value()
        except (ValueError, RecursionError) as error:
            yield Unreadable(f"{place}, element {number:,}", f"{error}; it and what follows are not read.")
            return
        if not found:
            yield Unreadable(f"{place}, element {number:,}", "The file ends within it.")
            return
        yield value
        number += 1


class _JsonText:
    """The JSON text of a stream, read in chunks as parsing needs it."""

    def __init__(self, stream: LimitedStream) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._parse = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0

    def starts(self, mark: str) -> bool:
        """Whether a mark comes next; if so, it is consumed."""
        if self.is_at(mark):
            self._at += 1
            return True
        return False

    def is_at(self, mark: str) -> bool:
        """Whether a mark comes next, after blanks and commas."""
        blanks = 0
        while True:
            if skipped := _BLANKS.match(self._text, self._at):
                blanks += skipped.end() - self._at
                self._at = skipped.end()
            if blanks > _MOST_BLANKS:
                raise ValueError("It has too many blanks.")
            if self._at < len(self._text) or not self._grow(_CHUNK):
                return self._text.startswith(mark, self._at)

    def next_value(self) -> tuple[bool, Any]:
        size = _CHUNK
        while True:
            try:
                value, self._at = self._parse(self._text, self._at)
                return True, value
            except ValueError as error:
                if len(self._text) - self._at > _LARGEST_VALUE:
                    raise ValueError("It is too large.") from None
                # An error well before the end of the chunk is invalid JSON, not an incomplete value.
                if isinstance(error, json.JSONDecodeError) and error.pos < len(self._text) - _CHUNK:
                    raise ValueError(f"It is not JSON: {error.msg}") from None
                if not self._grow(size):
                    return False, None
                size *= 2

    def rest(self) -> str:
        parts, size = [self._text[self._at :]], 0
        while data := self._stream.read(_CHUNK):
            parts.append(self._decode(data))
            size += len(parts[-1])
            if size > _LARGEST_VALUE:
                raise ValueError("It is too large.")
        self._text, self._at = "".join([*parts, self._decode(b"", True)]), 0
        return self._text

    def whole(self) -> Any:
        try:
            return json.loads(self.rest())
        except json.JSONDecodeError as error:
            raise ValueError(f"It is not JSON: {error}") from None

    def _grow(self, size: int) -> bool:
        data = self._stream.read(size)
        self._text, self._at = self._text[self._at :] + self._decode(data, not data), 0
        return bool(data)


@contextmanager
def one_member(place: Path, wanted: NameFilter) -> Iterator[tuple[str, LimitedStream] | None]:
    """The first matching file of an export; None if there is none."""
    found = members(place, wanted)
    try:
        yield next(found, None)
    finally:
        found.close()


def downloads(machine: Machine, wanted: NameFilter, mark: bytes) -> Iterator[Path]:
    """The newest zips and folders in Downloads whose matching file has this mark near its start."""
    folder = machine.user_home / "Downloads"
    found = [*folder.glob("*.zip"), *(each.parent for each in folder.glob("*/*.json") if wanted(each.name))]
    newest = sorted(dict.fromkeys(found), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest[:_MOST_ARCHIVES]:
        try:
            with one_member(path, wanted) as member:
                if member and mark in member[1].read(_CHUNK):
                    yield path
        except _UNREADABLE:
            continue
