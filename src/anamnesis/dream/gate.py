"""The gate for notes of agents: decides if a note is written, updates another, needs a review, or is refused. Pure.

Precision comes first. A note is refused only if another one holds each of its words and sentences, or if code or git
can show all that it says. A note that differs in a number, a name, a negation, a version or a path is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from anamnesis.dream.comparison import Comparison, compare
from anamnesis.dream.derivable import derivable
from anamnesis.dream.proposal import is_persons
from anamnesis.notes import Memory
from anamnesis.notes.marks import CONTRADICTED, GONE, OUTDATED, REFLECTED
from anamnesis.notes.orders import is_directive
from anamnesis.notes.project_names import is_among
from anamnesis.plain import one_line

Decision = Literal["allow", "upsert", "redirect", "reject"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
# The notes that one server may write in a minute: more than a sensible agent writes, fewer than one in a loop.
MOST_A_MINUTE = 60
# The directives that agents may write for a project. Each affects every session; beyond this many they contradict each
# other, and a person has to choose.
MOST_DIRECTIVES = 20
# A note that holds another one replaces it only if they share this part of their words.
_ABOUT_SAME = 0.5
_LONGEST_TITLE = 80
# Longer texts are only compared word for word: comparing sentences would keep the agent waiting.
_LONGEST_COMPARED = 20_000
# A note with one of these tags is no longer valid as a source.
_OVERTAKEN = frozenset((OUTDATED, CONTRADICTED, GONE, REFLECTED))
_BEFORE, _AFTER = "\"'`(", "\"'`).,;:!?"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision with its rule and reason; and the note that has the text already, or that is changed."""

    decision: Decision
    rule: str
    reason: str
    note: Memory | None = None


def judge(draft: Memory, close: Sequence[Memory], *, directives: int = 0, written: int = 0) -> Verdict:
    """Decide about a note that an agent wants to write.

    `close` are the notes that it may repeat, none of which waits for a review, `directives` the number of directives
    that agents wrote for its project, and `written` the number of notes that the agent's server wrote in the last
    minute.
    """
    if written >= MOST_A_MINUTE:
        reason = f"{written} notes were written in the last minute. Wait a minute, and write what will matter later."
        return Verdict("reject", "pace", reason)
    if reason := derivable(draft.title, draft.body):
        return Verdict("reject", "derivable", f"{reason} Write what follows from it, in a sentence or two.")
    text = _text(draft).split()
    for note in sorted(close, key=lambda note: _text(note).split() != text):  # an identical note first
        if verdict := _against(draft, note):
            return verdict
    if not is_directive(draft):
        return Verdict("allow", "new", "No other note says it.")
    if directives < MOST_DIRECTIVES:
        return Verdict(
            "allow", "directive", f"It gives orders, and its project has fewer than {MOST_DIRECTIVES} such notes."
        )
    reason = (
        f"It gives orders, and agents have written {directives} such notes for {draft.project} already. It is found by"
        " searches, but new sessions get it only after the user has accepted it (`anamnesis review`)."
    )
    return Verdict("redirect", "directives", reason)


def _against(draft: Memory, note: Memory) -> Verdict | None:
    """The verdict about a draft because of a note that is close to it; None if the note says something else."""
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
    """Whether a note is valid, and found wherever the draft would be."""
    if _OVERTAKEN & {*note.tags}:
        return False
    is_durable = note.type == draft.type or note.type != "episodic"
    return is_durable and (note.scope == draft.scope or note.scope == "portable")


def _is_replaceable(note: Memory, draft: Memory) -> bool:
    """Whether a draft may replace a note's text: not if a person wrote, edited or pinned the note."""
    is_alike = (note.scope, note.type) == (draft.scope, draft.type)
    return is_alike and is_among(note.project, [draft.project]) and not is_persons(note)


def _text(note: Memory) -> str:
    return f"{note.title}\n{note.body}"


def _words(note: Memory) -> frozenset[str]:
    """The words of a note with their signs and case: -1, >=3, v1.2, .env, _x and X are distinct words."""
    return frozenset(word.lstrip(_BEFORE).rstrip(_AFTER) for word in _text(note).split()) - {""}
