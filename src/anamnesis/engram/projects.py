"""Projects: the form of their names, which of them there are, and giving one another name."""

from __future__ import annotations

import re

from anamnesis.engram.strings import to_lower, trim_space

_REPEATED = re.compile("-{2,}|_{2,}")


def normalise(name: str) -> str:
    """The name in lower case, without blanks at its ends, and with single dashes and underscores."""
    return _REPEATED.sub(lambda run: run[0][0], trim_space(to_lower(name)))
