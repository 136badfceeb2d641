"""The gate that agents' notes pass: it decides whether a note is written, changes another, waits, or is known. Pure.

Precision comes first. A note is refused only if another one holds each of its words and sentences, or if it says only
what code or git can tell; whatever differs in a number, a name, a negation, a version or a path is new.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from anamnesis.dream.comparison import Comparison, compare
from anamnesis.dream.derivable import derivable
from anamnesis.dream.proposal import is_persons
from anamnesis.light import lazy_pattern
from anamnesis.notes import Memory
from anamnesis.notes.foreign import is_waiting
from anamnesis.notes.marks import CONTRADICTED, GONE, OUTDATED, REFLECTED
from anamnesis.plain import one_line

Decision = Literal["allow", "upsert", "redirect", "reject"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
# The notes that one server writes in a minute: more than agents write who think, fewer than one in a loop.
MOST_A_MINUTE = 60
# The notes of a project in which agents give orders. Each speaks into every session; beyond this many they contradict
# each other, and a person has to choose.
MOST_DIRECTIVES = 20
# A note that holds another one replaces it only if it is mostly about the same.
_ABOUT_SAME = 0.5
_LONGEST_TITLE = 80
# Longer texts are only the same as others word for word: comparing sentences would hold up the agent.
_LONGEST_COMPARED = 20_000
# A note with one of these tags does not stand for what it says any more.
_OVERTAKEN = frozenset((OUTDATED, CONTRADICTED, GONE, REFLECTED))
_BEFORE, _AFTER = "\"'`(", "\"'`).,;:!?"
_SENTENCE = lazy_pattern(r"(?<=[.!?])\s+|\n+")
_ORDER = lazy_pattern(
    r"[-*\d.) ]*+(?:always|never|you must|you should|you shall|you have to|do not|don't|must|make sure|ensure that"
    r"|remember to|be sure to|under no circumstances)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision, by which rule and why; and the note that has the text, or that is changed."""

    decision: Decision
    rule: str
    reason: str
    note: Memory | None = None


def judge(draft: Memory, close: Sequence[Memory], *, directives: int = 0, written: int = 0) -> Verdict:
    """Decide about a note that an agent wants to write.

    `close` are the notes that it may repeat, `directives` counts those of its project in which agents give orders, and
    `written` the notes that the agent's server wrote in the last minute.
    """
    if written >= MOST_A_MINUTE:
        reason = f"{written} notes were written in the last minute. Wait a minute, and write what will matter later."
        return Verdict("reject", "pace", reason)
    if reason := derivable(draft.title, draft.body):
        return Verdict("reject", "derivable", f"{reason} Write what follows from it, in a sentence or two.")
    text = _text(draft).split()
    for note in sorted(close, key=lambda note: _text(note).split() != text):  # one that is the same says most
        if verdict := _against(draft, note):
            return verdict
    if not is_directive(draft):
        return Verdict("allow", "new", "No other note has it.")
    if directives < MOST_DIRECTIVES:
        return Verdict("allow", "directive", "It gives orders, and its project has room for them.")
    reason = (
        f"It gives orders, and agents have written {directives} such notes for {draft.project} already. It is found by"
        " searches, but new sessions get it only after the user has accepted it (`anamnesis review`)."
    )
    return Verdict("redirect", "directives", reason)


def is_directive(note: Memory) -> bool:
    """Whether a note gives orders: at least half of its sentences do."""
    sentences = [each for each in _SENTENCE.split(note.body) if each.strip()]
    return bool(sentences) and 2 * sum(_ORDER.match(each) is not None for each in sentences) >= len(sentences)


def _against(draft: Memory, note: Memory) -> Verdict | None:
    """What follows for a draft from a note that is close to it; None if it says something else."""
    if not _stands_for(note, draft):
        return None
    is_same = _text(draft).split() == _text(note).split()
    words, others = _words(draft), _words(note)
    has_all, says_all = words <= others, others <= words
    is_long = max(len(draft.body), len(note.body)) > _LONGEST_COMPARED
    if not is_same and (is_long or not (has_all or says_all)):
        return None
    found = Comparison(1.0, 1.0) if is_same else compare(draft, note)
    if found.differences:
        return None
    title = one_line(note.title, _LONGEST_TITLE)
    if has_all and not found.lacks_other:
        reason = f'The note {note.id} ("{title}") says it already. To correct it, call memory_update.'
        return Verdict("reject", "same", reason, note)
    if says_all and not found.lacks_one and found.share_of_one >= _ABOUT_SAME and _is_replaceable(note, draft):
        reason = f'It says all that the note {note.id} ("{title}") said, and more: that note has the new text now.'
        return Verdict("upsert", "more", reason, note)
    return None


def _stands_for(note: Memory, draft: Memory) -> bool:
    """Whether a note is found wherever a draft would be, and holds."""
    if is_waiting(note) or _OVERTAKEN & {*note.tags}:
        return False
    is_durable = note.type == draft.type or note.type != "episodic"
    return is_durable and (note.scope == draft.scope or note.scope == "portable")


def _is_replaceable(note: Memory, draft: Memory) -> bool:
    """Whether a draft may take the place of a note's text: not if a person wrote, edited or pinned that."""
    is_same_place = (note.project, note.scope, note.type) == (draft.project, draft.scope, draft.type)
    return is_same_place and not is_persons(note)


def _text(note: Memory) -> str:
    return f"{note.title}\n{note.body}"


def _words(note: Memory) -> frozenset[str]:
    """The words of a note with what belongs to them: -1, >=3, v1.2, .env, _x and X are words of their own."""
    return frozenset(word.lstrip(_BEFORE).rstrip(_AFTER) for word in _text(note).split()) - {""}
