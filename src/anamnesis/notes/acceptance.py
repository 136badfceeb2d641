"""What a person has accepted of other people's texts: lines of a note's id, a digest of its text, and a decision. Pure.

Lines are only added, and the sides of a merge are united. Of several decisions about a text the one with the highest
number counts, and of those with the same number the most cautious.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from anamnesis.light import blake2b, lazy_pattern
from anamnesis.notes.record import GLOBAL, Memory

# In the order of caution. A text of the user's `own` needs neither a review nor a mark of its origin.
DECISIONS = OWN, ACCEPTED, WITHDRAWN = ("own", "accepted", "withdrawn")
_HEADING = "# The texts that you have accepted, by note and digest. `anamnesis review` writes this file.\n"
_LINE = lazy_pattern(r"([A-Za-z0-9][A-Za-z0-9._-]{0,127}) ([0-9a-f]{32}) ([1-9][0-9]{0,8}) (own|accepted|withdrawn)")
_DIGEST, _MARK = 16, 6


class Text(NamedTuple):
    """One text of a note."""

    note: str
    digest: str


class Decision(NamedTuple):
    """The number of a decision about a text, and what was decided, as a place in `DECISIONS`."""

    number: int
    place: int


UNDECIDED = Decision(0, DECISIONS.index(WITHDRAWN))
Decisions = Mapping[Text, Decision]


def text_of(note: Memory) -> Text:
    """The text that a decision is about: another title or body is another text, other tags are not.

    So is the same text once it is for all projects: a tool can move a note there.
    """
    text = f"{note.title.strip()}\n{note.body.strip()}".replace("\r\n", "\n")
    if note.project == GLOBAL:
        text += "\0everywhere"
    return Text(note.id, blake2b(text.encode("utf-8"), digest_size=_DIGEST).hexdigest())


def decision_about(known: Decisions, note: Memory) -> str:
    """What was decided about the present text of a note; "" if nothing was, or if that was withdrawn."""
    name = DECISIONS[known.get(text_of(note), UNDECIDED).place]
    return "" if name == WITHDRAWN else name


def read_decisions(*files: str) -> dict[Text, Decision]:
    """The decisions of all files together; lines that are none are left out."""
    found: dict[Text, Decision] = {}
    for line in (line for file in files for line in file.splitlines()):
        if match := _LINE.fullmatch(line):
            note, digest, number, decision = match.groups()
            text, each = Text(note, digest), Decision(int(number), DECISIONS.index(decision))
            found[text] = max(found.get(text, each), each)
    return found


def written(decisions: Decisions) -> str:
    """The file of these decisions: the same for the same decisions on every machine."""
    return _HEADING + "".join(sorted(f"{_line(text, each)}\n" for text, each in decisions.items()))


def fingerprint(decisions: Decisions) -> str:
    """A text that is equal for equal decisions: the sum of the `mark` of each, which a database can add up."""
    return str(sum(mark(text, each) for text, each in decisions.items()))


def mark(text: Text, decision: Decision) -> int:
    return int.from_bytes(blake2b(_line(text, decision).encode("utf-8"), digest_size=_MARK).digest())


def _line(text: Text, decision: Decision) -> str:
    return f"{text.note} {text.digest} {decision.number} {DECISIONS[decision.place]}"


def decided(known: Decisions, texts: Iterable[Text], decision: str) -> dict[Text, Decision]:
    """The decisions to add about these texts; none about a text of which it was the last decision."""
    place, last = DECISIONS.index(decision), {text: known.get(text, UNDECIDED) for text in texts}
    return {text: Decision(each.number + 1, place) for text, each in last.items() if each.place != place}
