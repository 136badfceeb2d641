"""Folds episodes into durable notes: lessons become notes with provenance, and their sources are tagged. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from anamnesis.notes import REFLECTED, Memory, MemoryType, derived_id
from anamnesis.notes.foreign import REVIEWED, TO_REVIEW
from anamnesis.notes.marks import (
    CONTRADICTED,
    COVERED_BY,
    GONE,
    OUTDATED,
    SOURCES,
    linked,
    with_link,
    with_tag,
)
from anamnesis.notes.merge import CONFLICT_TAG
from anamnesis.notes.orders import held_by
from anamnesis.notes.record import PINNED
from anamnesis.notes.redaction import redact_all
from anamnesis.notes.spaces import PERSONAL, space_of, with_space

SOURCE = "reflection"
RULES = "rules"
TAG = "reflection"
DURABLE = ("procedural", "semantic")
# Tags that only the user or the program sets. Episodes may quote anybody, so a lesson must not pin itself, for example.
_NOT_THEIRS = frozenset((PINNED, REFLECTED, TO_REVIEW, REVIEWED, OUTDATED, CONTRADICTED, GONE, CONFLICT_TAG))
# The confidence of a lesson grows with each session that it comes from.
_SURE, _MORE, _SUREST = 0.8, 0.05, 0.95


@dataclass(frozen=True, slots=True)
class Lesson:
    """The content of a durable note, and the ids of the episodes that it comes from."""

    title: str
    body: str
    type: MemoryType
    sources: tuple[str, ...]
    tags: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Folding:
    """Notes that are written together: new ones, existing ones with further sources, and the episodes behind both.

    `covered` maps each episode to the existing notes that hold a part of it.
    """

    episodes: tuple[Memory, ...]
    learned: tuple[Memory, ...] = ()
    confirmed: tuple[Memory, ...] = ()
    covered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def after(self) -> tuple[Memory, ...]:
        """The new and changed notes."""
        return (*self.learned, *self.confirmed, *(self._folded(episode) for episode in self.episodes))

    @property
    def about(self) -> tuple[str, ...]:
        """The ids of the notes that are changed or hidden, the episodes first."""
        hidden = (id for note in self.learned for id in note.superseded)
        return tuple(dict.fromkeys([*(each.id for each in (*self.episodes, *self.confirmed)), *hidden]))

    def _folded(self, episode: Memory) -> Memory:
        links = self.covered.get(episode.id, ())
        folded = with_tag(episode, REFLECTED)
        return with_link(folded, COVERED_BY, *links) if links else folded


@dataclass(frozen=True, slots=True)
class Stamp:
    """The author of lessons, the machine, the time, and the agent that sends them, if any."""

    model: str
    machine_id: str
    at: str
    agent: str = ""


def confidence_of(sessions: int) -> float:
    return round(min(_SUREST, _SURE + _MORE * (sessions - 1)), 2)


def sessions_of(episodes: Iterable[Memory]) -> int:
    """The number of sessions that episodes come from."""
    return len({episode.prov_session or episode.id for episode in episodes})


def note_of(lesson: Lesson, sources: Sequence[Memory], stamp: Stamp, id: str = "") -> Memory:
    """The durable note of a lesson: in the project of its sources, and machine-local if one of them is.

    It is in the space that all of them name; if they name several, in the user's own, which nobody else can read.
    """
    named = {space_of(source) for source in sources}
    space = PERSONAL if len(named) > 1 else named.pop()
    is_local = any(source.scope == "machine-local" for source in sources)
    name = "\n".join((SOURCE, *lesson.sources, lesson.title, lesson.body))
    title, body, *tags = redact_all([lesson.title, lesson.body, *lesson.tags])
    note = Memory(
        id=id or derived_id(stamp.at, name),
        type=lesson.type,
        title=title,
        body=body,
        project=max(sources, key=_time).project,
        machine_id=stamp.machine_id,
        scope="machine-local" if is_local else "portable",
        tags=[*dict.fromkeys((TAG, *(tag for tag in tags if tag not in _NOT_THEIRS)))],
        created_at=stamp.at,
        updated_at=stamp.at,
        prov_source=SOURCE,
        prov_model=stamp.model,
        confidence=confidence_of(sessions_of(sources)),
        supersedes=[*lesson.supersedes],
    )
    note = with_link(with_space(note, space), SOURCES, *lesson.sources)
    return held_by(stamp.agent or stamp.model, None, note)


def confirmed(note: Memory, episodes: Sequence[Memory]) -> Memory:
    """A note of ours that further episodes confirm: with more confidence, and the time of the newest episode."""
    known = {*linked(note, SOURCES)}
    new = [episode for episode in episodes if episode.id not in known]
    if not new:
        return note
    sure = round(min(_SUREST, note.confidence + _MORE * sessions_of(new)), 2)
    newest = max(note.updated_at, *(episode.updated_at for episode in new))
    changed = replace(note, confidence=max(sure, note.confidence), updated_at=newest)
    return with_link(changed, SOURCES, *(episode.id for episode in new))


def folded(
    lessons: Sequence[Lesson],
    episodes: Mapping[str, Memory],
    stamp: Stamp,
    *,
    done: Iterable[str] = (),
    holding: Callable[[Lesson], Memory | None] = lambda _: None,
) -> list[Folding]:
    """Lessons as foldings: those that share an episode are written together.

    `done` are episodes without a lesson, and `holding` finds the note that holds a lesson already.
    """
    pieces = []
    for lesson in lessons:
        sources = tuple(episodes[id] for id in lesson.sources)
        if note := holding(lesson):
            pieces.append(Folding(sources, covered=dict.fromkeys(lesson.sources, (note.id,))))
        else:
            pieces.append(Folding(sources, (note_of(lesson, sources, stamp),)))
    return joined([*pieces, *(Folding((episodes[id],)) for id in dict.fromkeys(done))])


def joined(pieces: Iterable[Folding]) -> list[Folding]:
    """The foldings, with those that have a note in common joined."""
    groups: dict[int, list[Folding]] = {}
    group_of: dict[str, int] = {}
    for number, piece in enumerate(pieces):
        first, *others = sorted({group_of[id] for id in piece.about if id in group_of}) or [number]
        moved = [*(each for other in others for each in groups.pop(other)), piece]
        groups.setdefault(first, []).extend(moved)
        group_of |= {id: first for each in moved for id in each.about}
    return [_one(group) for group in groups.values()]


def _one(pieces: Sequence[Folding]) -> Folding:
    if len(pieces) == 1:
        return pieces[0]
    covered: dict[str, tuple[str, ...]] = {}
    for piece in pieces:
        for id, links in piece.covered.items():
            covered[id] = tuple(dict.fromkeys([*covered.get(id, ()), *links]))
    episodes = {episode.id: episode for piece in pieces for episode in piece.episodes}
    return Folding(
        tuple(sorted(episodes.values(), key=_time)),
        tuple({note.id: note for piece in pieces for note in piece.learned}.values()),
        tuple({note.id: note for piece in pieces for note in piece.confirmed}.values()),
        covered,
    )


def _time(note: Memory) -> tuple[str, str]:
    return note.updated_at, note.id
