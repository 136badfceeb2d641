"""The names of projects: which of them are compared as equal. Files and rows keep the spelling that they have."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from anamnesis.light import lazy_pattern
from anamnesis.notes.record import GLOBAL

_REPEATED = lazy_pattern("-{2,}|_{2,}")


# A filter compares all names of a hub, which may be thousands.
@lru_cache(maxsize=10_000)
def comparable(name: str) -> str:
    """A project's name in the form in which names are compared, which is the same for all that Engram takes for one.

    Engram has names in lower case, trimmed, with single dashes and underscores. `global` equals only itself: no other
    spelling gets into every project.
    """
    # Engram lowers letter by letter: no final sigma, and no second character for a dotted I.
    lower = name.lower().replace("ς", "σ").replace("i\u0307", "i").strip().rstrip("/")
    found = _REPEATED.sub(lambda run: run[0][0], lower)
    return f"\0{found}" if found == GLOBAL != name else found


def is_among(project: str, projects: Iterable[str]) -> bool:
    """Whether a project is one of these, under any spelling of its name."""
    return comparable(project) in map(comparable, projects)
