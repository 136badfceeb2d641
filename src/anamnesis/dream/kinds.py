"""The kind and the depth of a note, in Reverie's terms; and notes whose type is clearly wrong. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from re import Pattern
from typing import Literal, get_args

from anamnesis.dream.proposal import Proposal
from anamnesis.light import lazy_pattern
from anamnesis.notes import Memory

Kind = Literal["Directive", "Preference", "Decision", "Reference", "Heuristic", "Session", "Config", "Bug"]
Depth = Literal[1, 2, 3]
KINDS: tuple[Kind, ...] = get_args(Kind)

# The types of observations and the tags of notes, by kind.
_WORDS: dict[Kind, str] = {
    "Directive": "directive rule convention guideline policy",
    "Preference": "preference preferences",
    "Decision": "decision decisions architecture adr",
    "Reference": "reference discovery fact",
    "Heuristic": "heuristic pattern learning how-to howto how_to procedure workflow runbook recipe playbook skill",
    "Session": "session session_summary passive event tool_use file_change file_read search command",
    "Config": "config configuration environment setup",
    "Bug": "bug bugfix fix hotfix incident",
}
_KIND_OF: dict[str, Kind] = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_DIRECTIVE = lazy_pattern(
    r"(?im)^[^\w\n]{0,10}+(?:please )?(?:always|never|do not|don't|must)\b|\bfrom now on\b"
    r"|\b(?:our|by) convention\b"
)
_PREFERENCE = lazy_pattern(r"(?i)\b(?:prefers?|preferred|would rather|likes? to)\b")
_DECISION = lazy_pattern(r"(?i)\b(?:decided (?:to|on|against)|we (?:chose|picked|went with)|decision:|settled on)\b")
_BUG = lazy_pattern(r"(?i)\b(?:root cause|bug (?:was|is)|fixed by|crash(?:es|ed)?|regression|workaround)\b")
_CONFIG = lazy_pattern(r"\b(?:[Ee]nvironment variable|env var|listens on|[Pp]ort \d{2,5}|[A-Z][A-Z_]{3,}=)")
# In order of precedence.
_BY_WORDING: tuple[tuple[Kind, Pattern[str]], ...] = (
    ("Directive", _DIRECTIVE),
    ("Preference", _PREFERENCE),
    ("Decision", _DECISION),
    ("Bug", _BUG),
    ("Config", _CONFIG),
)
# The headings of session records: of our capture, and of the form that Engram asks its agents for.
_CAPTURED = ("**Ask:**", "**Outcome:**")
_SUMMARISED = ("## goal", "## accomplished")
_SENTENCE = lazy_pattern(r"(?<=[.!?])\s+|\n+")
_RULE = lazy_pattern(
    r"(?i)\W*+(?:please )?(?:always|never|do not|don't|use|prefer|avoid|run|keep|write|name|put|must)\b"
)
_LONGEST_RULE = 600

KIND = "classify"


def kind_of(note: Memory) -> Kind:
    """The kind of a note: by its observation's type or its tags, else by its type and wording."""
    said = [str(note.engram.get("type") or ""), *note.tags]
    named = [_KIND_OF[word] for word in map(str.lower, said) if word in _KIND_OF]
    if note.type == "episodic" or is_record(note):
        return "Session"
    if named:
        return named[0]
    text = f"{note.title}\n{note.body}"
    general: Kind = "Heuristic" if note.type == "procedural" else "Reference"
    return next((kind for kind, pattern in _BY_WORDING if pattern.search(text)), general)


def depth_of(note: Memory) -> Depth:
    """1 for episodes, 2 for procedures, fixes and configuration, 3 for general knowledge."""
    kind = kind_of(note)
    if kind == "Session":
        return 1
    return 2 if note.type == "procedural" or kind in ("Bug", "Config") else 3


def mistyped(notes: Iterable[Memory]) -> Iterator[Proposal]:
    """Propose another type for session records among the durable notes, and for rules among the episodes."""
    for note in notes:
        if note.type != "episodic" and is_record(note):
            sure = 0.85 if all(part in note.body for part in _CAPTURED) else 0.75
            after = replace(note, type="episodic")
            yield Proposal(KIND, (note.id,), f"A record of a session has the type {note.type}.", sure, (after,))
        elif _is_rule(note):
            after = replace(note, type="procedural")
            yield Proposal(KIND, (note.id,), "An episodic note only states rules.", 0.6, (after,))


def is_record(note: Memory) -> bool:
    """Whether a note is a session record, by its observation's type or by its form."""
    if note.engram.get("type") == "session_summary" or all(part in note.body for part in _CAPTURED):
        return True
    body = note.body.lower()
    return all(part in body for part in _SUMMARISED)


def _is_rule(note: Memory) -> bool:
    """Whether an episode was written by an agent on its own and only states rules."""
    is_captured = note.prov_source == "session-end" or "session" in note.tags or note.engram.get("type")
    if note.type != "episodic" or is_captured or len(note.body) > _LONGEST_RULE:
        return False
    sentences = [each for each in _SENTENCE.split(note.body) if each.strip()]
    return bool(sentences) and all(_RULE.match(each) for each in sentences)
