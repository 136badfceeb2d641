"""Which notes of agents wait for a person: those that would make later sessions act without the user's consent. Pure.

A text waits if it tells its reader to run downloaded code, to keep something from the user or to hand over
credentials; in a note for all projects, any order waits. What a text only describes or forbids does not wait.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from anamnesis.light import lazy_pattern
from anamnesis.notes import order_words as words
from anamnesis.notes.marks import HELD, hold, marks_of, with_mark
from anamnesis.notes.record import GLOBAL, PINNED, Memory
from anamnesis.plain import bare_lines

RUNS, CONCEALS, REVEALS = "runs downloaded code", "keeps something from the user", "touches credentials"
ORDERS, PINS = "gives orders to all projects", "is pinned for all projects"
MOVED = "was held where it was before"
_SENTENCE = lazy_pattern(r"(?<=[.!?])\s+|\n+")
_PART = lazy_pattern(r"[.!?;]\s+|[。！？]|\n+")
_CLAUSE = lazy_pattern("[,;:]")
# A command that goes on in the next line.
_CONTINUED = lazy_pattern(r"[|\\][ \t]{0,9}\r?\n")
_ORDER = lazy_pattern(
    r"[-*\d.) ]*+(?:always|never|you must|you should|you shall|you have to|do not|don't|must|make sure|ensure that"
    r"|remember to|be sure to|under no circumstances)\b",
    re.IGNORECASE,
)
# The characters before a command in which a negation is looked for, and between the parts of an order.
_NEAR, _CLOSE = 40, 160


def is_directive(note: Memory) -> bool:
    """Whether a note gives orders: at least half of its sentences do."""
    sentences = [each for each in _SENTENCE.split(note.body) if each.strip()]
    return bool(sentences) and 2 * sum(_ORDER.match(each) is not None for each in sentences) >= len(sentences)


def why_held(note: Memory) -> str:
    """Why a note of an agent has to wait for a person; "" if it need not."""
    text = f"{note.title}\n{note.body}"
    if (reason := why_dangerous(text)) or note.project != GLOBAL:
        return reason
    if any(_ORDER.match(each) or words.ORDER.match(each) for each in _parts(_visible(text))):
        return ORDERS
    return PINS if is_pinned_everywhere(note) else ""


def is_pinned_everywhere(note: Memory) -> bool:
    return note.project == GLOBAL and any(tag.lower() == PINNED for tag in note.tags)


def why_dangerous(text: str) -> str:
    """Why a text may not be told to a session of any project before a person has read it; "" if it may."""
    text = _visible(text)
    if not any(_has(text, each) for each in (words.RUN_WORDS, words.CONCEALED_WORDS, words.REVEALED_WORDS)):
        return ""
    parts = _parts(text)
    if _runs(parts):
        return RUNS
    if any(_has(each, words.CONCEALED_WORDS) and words.CONCEALED.search(each) for each in parts):
        return CONCEALS
    return REVEALS if any(_has(each, words.REVEALED_WORDS) and _reveals(each) for each in parts) else ""


def held_by(agent: str, before: Memory | None, note: Memory, *, was_held: bool = False) -> Memory:
    """The note that an agent has made of another one, or anew: with a mark if it has to wait for a person.

    A note that `was_held` in its project for its origin stays held in another one.
    """
    reason = why_held(note)
    if before and was_held and note.project != before.project:
        return note if HELD in marks_of(note) else with_mark(note, HELD, hold(reason or MOVED, agent))
    if not reason:
        return note
    if (
        before
        and (before.title, before.body) == (note.title, note.body)
        and (HELD in marks_of(note) or why_held(before))
    ):
        return note
    return with_mark(note, HELD, hold(reason, agent))


def _visible(text: str) -> str:
    """A text as a model sees it, in lower case."""
    return "\n".join(bare_lines(text)).lower()


def _parts(text: str) -> list[str]:
    joined = _CONTINUED.sub(lambda found: "| " if found[0][0] == "|" else " ", text)
    return [each for each in _PART.split(joined) if each.strip()]


def _has(text: str, lists: Iterable[Iterable[str]]) -> bool:
    return all(any(word in text for word in each) for each in lists)


def _runs(parts: list[str]) -> bool:
    """Whether a text tells its reader to run downloaded code."""
    found = [each for part in parts if _has(part, words.RUN_WORDS) for each in words.RUN.finditer(part)]
    if not found:
        return False
    return any(not _is_described(each) for each in found) or any(words.AGAIN.search(part) for part in parts)


def _reveals(part: str) -> bool:
    """Whether a sentence tells its reader to read or to hand over credentials."""
    return any(not _is_negated(each) for each in words.REVEALED.finditer(part)) or _hands_over(part)


def _hands_over(part: str) -> bool:
    verbs = [each.end() for each in words.GIVE.finditer(part)]
    places = [each.end() for each in words.PLACE.finditer(part)] if verbs else []
    for secret in words.SECRET.finditer(part) if places else ():
        before, after = bisect_right(verbs, secret.start()), bisect_right(places, secret.start())
        is_given = before and secret.start() - verbs[before - 1] <= _CLOSE
        if is_given and after < len(places) and places[after] - secret.end() <= _CLOSE:
            return True
    return False


def _is_described(found: re.Match[str]) -> bool:
    """Whether a command is only said to be run by a machine, or to have been run, or is forbidden."""
    described = words.DESCRIBED.search(found.string, max(0, found.start() - _CLOSE), found.start())
    return described is not None or _is_negated(found)


def _is_negated(found: re.Match[str]) -> bool:
    clause = _CLAUSE.split(found.string[max(0, found.start() - _NEAR) : found.start() + 1])[-1]
    return words.NEGATED.search(clause) is not None
