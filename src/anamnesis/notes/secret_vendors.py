"""Names that contain the name of a vendor of keys: `HEROKU_APP = …`, `my adafruit key is …`. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from anamnesis.notes.secret_names import Name, joined
from anamnesis.notes.secret_rules import VENDORS

_VENDORS = frozenset(VENDORS.split())
_PARTS = re.compile("[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_NAME = joined(
    rb"[a-z0-9][\w.-]{2,60}+(?: (?:api|access|app|auth|client|secret)){0,2}(?: (?:key|token|secret|id|code))?"
)
_NO_NAME = re.compile(r"[^\w.-]")
_NO_CREDENTIALS = "commit sha hash digest checksum integrity revision version etag channel guild url uri"
_NO_CREDENTIAL = frozenset(_NO_CREDENTIALS.split())
_CREDENTIALS = "token key secret client app access api auth"
_CREDENTIAL = frozenset(_CREDENTIALS.split())
# How far before its value a name can begin.
_BEFORE = 64
# Names with numbers, and numbers.
_NO_KEY = re.compile(
    rb"[^\d]*+\d{1,3}(?![A-Za-z\d])(?:[^\d]*+\d{1,3}(?![A-Za-z\d]))*+[^\d]*+\Z|-?\d+\.\d+(?:e[-+]?\d+)?\Z"
)
_DIGIT = re.compile(rb"\d")
_SIGNS = bytes.maketrans(b":|", b"==")
# Characters that cannot precede a value.
_NO_JOINERS = b"([{/.*&!<;@#%"


def may_be_a_key(word: bytes) -> bool:
    """Whether a random-looking word may be or contain a key."""
    return not _NO_KEY.match(word)


def vendor_names(letters: bytes, lowered: bytes, values: Iterable[bytes]) -> list[Name]:
    """The vendors' names before or inside words of a text, which are in the order of the text."""
    places: list[tuple[int, bytes]] = []
    signs = letters.translate(_SIGNS)
    last = at = 0
    for value in values:
        if (here := letters.find(value, at)) < 0:
            continue
        at = here + len(value)
        # The name precedes the word, or is in it before a sign; after the sign is a value or another name.
        inside = max(here, signs.rfind(b"=", here, min(at, here + _BEFORE)))
        start = max(last, here - _BEFORE)
        last = at if inside > here and _DIGIT.search(letters, inside, at) else here
        if here and inside == here and letters[here - 1] in _NO_JOINERS:
            continue
        line = letters.rfind(b"\n", start, here) + 1
        if line and letters[line:here].strip(b" \t\"'`\\"):
            start = line
        places.append((start, letters[start:inside]))
    found: dict[int, Name] = {}
    kinds: dict[tuple[bytes, int, int], str] = {}
    begins = list(accumulate((len(around) + 1 for _, around in places), initial=0))
    for begin in _vendors_in(b"\n".join([around for _, around in places]).decode()):
        start, around = places[number := bisect_right(begins, begin) - 1]
        begin -= begins[number]
        if name := _NAME.match(lowered, start + begin):
            key = (around, begin, name.end("name") - start)
            if key not in kinds:
                kinds[key] = _kind(around.decode(), *key[1:])
            if kinds[key]:
                found.setdefault(name.end(), (start + begin, kinds[key], name))
    return [found[end] for end in sorted(found)]


def _vendors_in(around: str) -> list[int]:
    """The positions of vendors' names."""
    parts = " ".join(_PARTS.findall(around)).lower().split()
    pairs = list(map(str.__add__, parts, [*parts[1:], ""]))
    if _VENDORS.isdisjoint(parts) and _VENDORS.isdisjoint(pairs):
        return []
    begins = [part.start() for part in _PARTS.finditer(around)]
    return [begin for begin, *names in zip(begins, parts, pairs, strict=True) if not _VENDORS.isdisjoint(names)]


def _kind(around: str, begin: int, end: int) -> str:
    """The kind of a name; "" if it is not the name of a key."""
    before = _NO_NAME.split(around[:begin])[-1]
    name = before + around[begin:end]
    parts = {part.lower() for part in _PARTS.findall(name)}
    path = around[: begin - len(before)].endswith("/")
    if path or not _NO_CREDENTIAL.isdisjoint(parts):
        return ""
    return "vendor" if _CREDENTIAL.isdisjoint(parts) else "vendor-key"
