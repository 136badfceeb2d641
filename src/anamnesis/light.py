"""Light imports for hooks: BLAKE2 without OpenSSL, and regular expressions and modules that load on first use."""

from __future__ import annotations

import importlib
import re
import sys
from types import ModuleType
from typing import Any, AnyStr, cast

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL, which takes 3 ms
except ImportError:  # a Python that is built without it
    from hashlib import blake2b

__all__ = ["LazyPattern", "blake2b", "defer", "lazy_pattern"]


def lazy_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern like that of `re.compile`, compiled on first use."""
    return cast("re.Pattern[AnyStr]", LazyPattern(text, flags))


class LazyPattern:
    """A proxy of a compiled pattern. It copies the pattern's methods, so that later calls cost no more than those."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._given: Any = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)
        return value


def defer(name: str) -> None:
    """Import this module on its first use instead of at its first `import` statement."""
    sys.modules.setdefault(name, _Deferred(name))


class _Deferred(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)
