"""Topic keys: their stored form, and the suggested key for an observation. Pure."""

from __future__ import annotations

import re

from anamnesis.engram.normal import without_private
from anamnesis.engram.strings import cut, fields, to_lower, trim_space

_MOST_KEY_BYTES = 120
_MOST_SEGMENT_BYTES = 100
_MOST_WORDS = 8

_FAMILIES_BY_TYPE = {
    name: family
    for family, names in {
        "architecture": "architecture design adr refactor",
        "bug": "bug bugfix fix incident hotfix",
        "decision": "decision",
        "pattern": "pattern convention guideline",
        "config": "config setup infra infrastructure ci",
        "discovery": "discovery investigation root_cause root-cause",
        "learning": "learning learn",
        "session": "session_summary",
    }.items()
    for name in names.split()
}
# The first family with a sign anywhere in the text, also inside a word.
_FAMILIES_BY_SIGN = (
    ("bug", re.compile("bug|fix|panic|error|crash|regression|incident|hotfix")),
    ("architecture", re.compile("architecture|design|adr|boundary|hexagonal|refactor")),
    ("decision", re.compile("decision|tradeoff|chose|choose|decide")),
    ("pattern", re.compile("pattern|convention|naming|guideline")),
    ("config", re.compile("config|setup|environment|env|docker|pipeline")),
    ("discovery", re.compile("discovery|investigate|investigation|found|root cause")),
    ("learning", re.compile("learned|learning")),
)
_NO_SLUG = re.compile("[^a-z0-9]+")


def normalise(topic: str) -> str:
    """The key in lower case, with dashes for white space, cut between two characters."""
    return cut("-".join(fields(to_lower(topic))), _MOST_KEY_BYTES)


def suggest(type: str, title: str, content: str) -> str:
    """A key that stays the same across sessions: a family, and a segment from the title or the content."""
    family = _family(type, title, content)
    segment = _slug(without_private(title))
    if not segment:
        words = fields(to_lower(without_private(content)))[:_MOST_WORDS]
        segment = _slug(" ".join(words)) or "general"
    segment = segment.removeprefix(f"{family}-")
    return f"{family}/{segment if segment not in ('', family) else 'general'}"


def _family(type: str, title: str, content: str) -> str:
    kind = trim_space(to_lower(type))
    if kind in _FAMILIES_BY_TYPE:
        return _FAMILIES_BY_TYPE[kind]
    text = to_lower(f"{title} {content}")
    for family, signs in _FAMILIES_BY_SIGN:
        if signs.search(text):
            return family
    return _slug(kind) if kind not in ("", "manual") else "topic"


def _slug(text: str) -> str:
    words = _NO_SLUG.sub(" ", to_lower(text)).split()
    return "-".join(words)[:_MOST_SEGMENT_BYTES]
