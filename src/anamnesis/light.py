"""Light stand-ins, for hooks: BLAKE2 without OpenSSL, and regular expressions that are compiled at their first use."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL, which takes 3 ms
except ImportError:  # a Python that is built without it
    from hashlib import blake2b

__all__ = ["LazyPattern", "blake2b", "lazy_pattern"]


def lazy_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` returns, compiled when it is first asked for anything."""
    return cast("re.Pattern[AnyStr]", LazyPattern(text, flags))


class LazyPattern:
    """Stands for a compiled pattern, whose methods become its own: later calls cost as little as the pattern's."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._given: Any = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)
        return value
