"""The statements of an episode that later sessions need: causes, decisions, conventions, preferences. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from anamnesis.capture.statements import Statement, normal, padded, statements_in
from anamnesis.capture.summary import HEADINGS
from anamnesis.light import lazy_pattern
from anamnesis.notes import Memory
from anamnesis.notes.redaction import redact
from anamnesis.reflect.cues import PASSING, POINTING, POINTING_FIXES, SELF_CONTAINED
from anamnesis.reflect.wording import is_empty, says_same, wording

_KINDS = {heading: kind for kind, heading in HEADINGS.items()}
_ASKED, _ANSWERED = ("Ask", "Then"), "Outcome"
# The parts of a summary that capture writes; the text of a part may follow on its line.
_PART = lazy_pattern(
    rf"^\*\*({'|'.join([*_ASKED, _ANSWERED, *_KINDS])}|Branch|Files touched \(\d{{1,9}}\)):\*\*[ \t]*+", re.MULTILINE
)
_BY_USER = " (user)"
_LONGEST_BODY = 50_000
_CLIPPED = ("...", "…")


def durable_statements(episode: Memory) -> list[Statement]:
    """The statements of an episode that are valid beyond it and can be understood alone, each once."""
    kept: list[Statement] = []
    for statement in _stated(redact(episode.body[:_LONGEST_BODY])):
        said = wording(statement.text)
        if is_durable(statement) and not any(says_same(said, wording(other.text)) for other in kept):
            kept.append(statement)
    return kept


def is_durable(statement: Statement) -> bool:
    text = f" {normal(statement.text)} "
    if any(phrase in text for phrase in _NOT_DURABLE):
        return False
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    points = first in POINTING and not text.startswith(_SELF_CONTAINED)
    return not points and not is_empty(statement.text)


def _stated(body: str) -> Iterator[Statement]:
    """The statements of a body: those that capture has listed, then those in the asks and the answer.

    A body in another form is read as an answer.
    """
    parts = _PART.split(body)
    if len(parts) == 1:
        yield from statements_in(body)
        return
    named = [*zip(parts[1::2], parts[2::2], strict=True)]
    for name, text in named:
        if name in _KINDS:
            yield from _listed(_KINDS[name], text)
    for name, text in named:
        if name in _ASKED or name == _ANSWERED:
            yield from statements_in(text, by_user=name in _ASKED)


def _listed(kind: str, text: str) -> Iterator[Statement]:
    for line in text.splitlines():
        said = line.removeprefix("- ").strip()
        if line.startswith("- ") and said and not said.endswith(_CLIPPED):
            yield Statement(kind, said.removesuffix(_BY_USER), said.endswith(_BY_USER))


_NOT_DURABLE = tuple(map(padded, (*PASSING, *POINTING_FIXES)))
_SELF_CONTAINED = tuple(map(padded, SELF_CONTAINED))
