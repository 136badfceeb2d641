"""Notes that the user has not written, such as imported ones: what is shown of their origin. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from anamnesis.light import lazy_pattern
from anamnesis.notes.project_names import is_among
from anamnesis.notes.record import EVERYWHERE, Memory
from anamnesis.plain import one_line

# The tags with which earlier releases recorded a review, and a note that needs one. Any tool can set them, so now they
# mean nothing.
REVIEWED, TO_REVIEW = "reviewed", "to-review"
# The tag of Claude Code's own memory on the user's machine.
CLAUDE_CODE = "claude-code"
SOURCE = "import"
_AGENT = "an agent's"
_LONGEST_REASON = 100
_CONFIDENCE = 0.5
_NO_NAME = lazy_pattern(r"[^\w.@-]+")
_LONGEST_NAME = 40


class Origin(NamedTuple):
    """Whose a note is that the user has not written, in a few words, and whether the user has yet to accept it.

    No session is told a note that is held. The review lists the unreviewed notes but those of teammates that are told.
    """

    source: str
    is_unreviewed: bool = False
    is_held: bool = False
    needs_review: bool = False

    @property
    def sentence(self) -> str:
        """The origin in words: the same for agents and for people, in every list, page and text."""
        return f"foreign: {self.source}, not reviewed by the user" if self.is_unreviewed else f"{self.source}, reviewed"

    @property
    def brief(self) -> str:
        """The origin in a row of a list."""
        return f"{self.source}, unreviewed" if self.is_unreviewed else self.source

    def shown(self) -> dict[str, Any]:
        """The origin as keys of a note in JSON."""
        return {"origin": self.source, "unreviewed": True} if self.is_unreviewed else {"origin": self.source}


UNKNOWN = Origin("of an unknown origin", is_unreviewed=True)


@dataclass(frozen=True, slots=True)
class ForeignNote(Memory):
    """A note with its origin, as a store knows it: the text alone cannot say who wrote it, or who accepted it."""

    origin: Origin = UNKNOWN

    @classmethod
    def of(cls, note: Memory, origin: Origin) -> ForeignNote:
        return cls(**{each.name: getattr(note, each.name) for each in fields(Memory)}, origin=origin)


def origin_name(text: str) -> str:
    """The origin of an import as one short word that is harmless in any text."""
    return _NO_NAME.sub("-", text).strip("-")[:_LONGEST_NAME] or "unknown"


def with_origin(note: Memory, origin: Origin | None) -> Memory:
    return ForeignNote.of(note, origin) if origin else note


def with_origins(notes: Sequence[Memory], origins: Mapping[str, Origin]) -> list[Memory]:
    """Notes to show to a person or a model, foreign ones with their origin."""
    return [with_origin(note, origins.get(note.id)) for note in notes]


def shown_origin(origins: Mapping[str, Origin], note: Memory) -> dict[str, Any]:
    """The keys of a note in JSON that say that it is foreign; none for the user's own."""
    return origins[note.id].shown() if note.id in origins else {}


def origin_by(note: Memory, author: str = "", space: str = "", projects: Collection[str] = ()) -> Origin | None:
    """The origin of a note that the user has not decided about; None for the user's own.

    `author` is the other member of a team who wrote it in a space, to which `projects` belong. No tags count: any tool
    can write them.
    """
    is_held, reason = False, ""
    if note.extra:
        from anamnesis.notes.marks import HELD, marks_of  # most notes have none

        is_held, reason = HELD in (marks := marks_of(note)), marks.get(HELD, "")
    if author:
        is_held |= note.project == EVERYWHERE or not is_among(note.project, projects)
        return Origin(f"{origin_name(author)} in the space {origin_name(space)}", True, is_held, is_held)
    if note.prov_source == SOURCE:
        is_held |= note.project == EVERYWHERE
        return Origin(f"imported from {origin_name(note.machine_id)}", True, is_held, True)
    if not is_held:
        return None
    return Origin(f"{_AGENT} note that {one_line(reason, _LONGEST_REASON)}", True, True, True)


def accepted_origin(origin: Origin, *, is_own: bool) -> Origin | None:
    """The origin of a note that the user has accepted, or that `is_own` after all; None for an agent's."""
    return None if is_own or origin.source.startswith(_AGENT) else Origin(origin.source)


def as_held(note: Memory) -> Memory:
    """An agent's note that earlier releases tagged for a review, with the mark of a hold; any other as it is."""
    if TO_REVIEW not in note.tags or REVIEWED in note.tags:
        return note
    from anamnesis.notes.marks import HELD, marks_of, with_mark  # most notes have none

    return note if HELD in marks_of(note) else with_mark(note, HELD, "An agent wrote it for your review.")


def as_foreign(note: Memory, origin: str) -> Memory:
    """The note as a foreign note."""
    tags = [tag for tag in note.tags if tag not in (REVIEWED, CLAUDE_CODE, TO_REVIEW)]
    confidence = min(note.confidence, _CONFIDENCE)
    return replace(note, prov_source=SOURCE, machine_id=origin_name(origin), confidence=confidence, tags=tags)


def derived(note: Memory, sources: Iterable[Memory], origins: Mapping[str, Origin] | None = None) -> Memory:
    """A text made of others: as foreign as the most foreign of its sources, and to be reviewed itself.

    Without the `origins` of the sources, all imported ones count as foreign.
    """
    foreign = [each for each in sources if (each.prov_source == SOURCE if origins is None else each.id in origins)]
    if not foreign or note.prov_source == SOURCE:
        return note
    known = origins or {}
    source = max(foreign, key=lambda each: each.id not in known or known[each.id].is_unreviewed)
    is_import = source.prov_source == SOURCE or source.id not in known
    return as_foreign(note, source.machine_id if is_import else known[source.id].source)


def origin_of(note: Memory) -> Origin | None:
    """The origin that a store has given a note to show; None for the user's own."""
    return note.origin if isinstance(note, ForeignNote) else None
