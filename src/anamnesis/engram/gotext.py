"""Texts as Go prints and parses them: `%q`, `strconv.Atoi`, `json.Indent`. Pure."""

from __future__ import annotations

import re

_SHORT = {'"': '\\"', "\\": "\\\\", **dict(zip("\a\b\f\n\r\t\v", (f"\\{each}" for each in "abfnrtv"), strict=True))}
_WHOLE = re.compile(r"([+-]?)0*([0-9]{1,19})")
_LEAST, _MOST = -(2**63), 2**63 - 1
_JSON_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]|[^\s"\[\]{},:]+')


def quote(text: str) -> str:
    """The text in Go's double quotes, as `%q` prints it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_quoted, text))}"'


def _quoted(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # an invalid byte, as `surrogateescape` keeps it
        return f"\\x{code - 0xDC00:02x}"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def whole(text: str) -> int | None:
    """The number that Go's `Atoi` returns; None if it fails."""
    read = _WHOLE.fullmatch(text)
    number = int(read[1] + read[2]) if read else _MOST + 1
    return number if _LEAST <= number <= _MOST else None


def truncated(number: float) -> int:
    """A number as Go converts it to int64: truncated, and the minimum if it does not fit."""
    return int(number) if _LEAST <= number < -_LEAST else _LEAST


def indented(data: bytes) -> bytes:
    """Compact JSON as `json.MarshalIndent` formats it, with two spaces per level."""
    parts: list[bytes] = []
    depth = 0
    opened = False
    for token in _JSON_TOKEN.findall(data):
        if token in b"]}":
            depth -= 1
            parts.append(token if opened else b"\n" + b"  " * depth + token)
            opened = False
            continue
        if opened:
            parts.append(b"\n" + b"  " * depth)
        opened = token in b"[{"
        if opened:
            depth += 1
            parts.append(token)
        elif token == b",":
            parts.append(b",\n" + b"  " * depth)
        else:
            parts.append(b": " if token == b":" else token)
    return b"".join(parts)
