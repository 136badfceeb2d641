"""The links in a note's text: [[title]], [[title|words to show]], and ids of notes. Pure."""

from __future__ import annotations

import re

LINK = re.compile(r"\[\[([^\[\]\n|]{1,200})(?:\|([^\[\]\n]{1,200}))?\]\]")
_ID = re.compile(r"(?<![0-9A-Za-z])[0-9A-HJKMNP-TV-Z]{26}(?![0-9A-Za-z])")


def named(text: str) -> list[str]:
    """The ids and the titles that a text links to, each once."""
    titles = (match[1].strip() for match in LINK.finditer(text))
    return [*dict.fromkeys([*_ID.findall(text), *titles])]
