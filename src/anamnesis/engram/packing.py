"""A chunk's bytes, packed and unpacked. A small file can hold what fills the memory, so both directions have limits."""

from __future__ import annotations

import gzip
import io
import zlib

MOST_BYTES = 32 << 20
# What is parsed takes up to 200 bytes for each value, however short. So many take 110 MB, and 32 MB of text 220 MB.
_MOST_VALUES = 1_000_000
_BEFORE_VALUES = (b",", b"[", b"{")


class TooLarge(ValueError):
    """A chunk beyond the limits."""


def pack(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def unpack(packed: bytes) -> bytes:
    """The content, read no further than the limit."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"it cannot be unpacked: {error}") from None
    if len(data) > MOST_BYTES:
        raise TooLarge(f"it unpacks to more than {MOST_BYTES >> 20} MB")
    if not _has_few_values(data):
        raise TooLarge(f"it holds more than {_MOST_VALUES:,} values")
    return data


def fits(data: bytes) -> bool:
    """Whether `unpack` would take this content."""
    return len(data) <= MOST_BYTES and _has_few_values(data)


def _has_few_values(data: bytes) -> bool:
    if sum(map(data.count, _BEFORE_VALUES)) <= _MOST_VALUES:
        return True
    # Perhaps the commas of a long text: count again, outside of strings.
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    count, position = 0, 0
    while count <= _MOST_VALUES:
        start = plain.find(b'"', position)
        outside = len(plain) if start < 0 else start
        count += 1 + sum(plain.count(mark, position, outside) for mark in _BEFORE_VALUES)
        end = plain.find(b'"', outside + 1)
        if start < 0 or end < 0:
            break
        position = end + 1
    return count <= _MOST_VALUES
