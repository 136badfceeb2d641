"""Reflection at the hub: an agent's lessons become durable notes of the space of their episodes, all or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from anamnesis.dream.episodes import with_sources_origin
from anamnesis.dream.reflecting import ReflectionResult, check_lesson, unreflected_episode
from anamnesis.errors import InvalidArgument
from anamnesis.hub.store import HubStore, SharedNote
from anamnesis.notes.authorship import is_claimed, is_persons
from anamnesis.reflect.folding import Folding, Lesson, Stamp, folded

if TYPE_CHECKING:
    from anamnesis.store import MemoryStore


def take(store: MemoryStore, lessons: Sequence[Lesson], done: Sequence[str], stamp: Stamp) -> ReflectionResult:
    """Write the lessons of an agent and tag their sources; `done` are episodes without a lesson.

    A machine puts what a person pinned or edited on its review list. A hub has none, so it refuses that.
    """
    hub = cast("HubStore", store)
    ids = dict.fromkeys([*(id for lesson in lessons for id in lesson.sources), *done])
    episodes = {id: _own(hub, cast("SharedNote", unreflected_episode(store, id))) for id in ids}
    for lesson in lessons:
        sources = [episodes[id] for id in lesson.sources]
        check_lesson(store, lesson, sources)
        _check_places(hub, lesson, sources)
    foldings = [_placed(hub, each) for each in with_sources_origin(store, folded(lessons, episodes, stamp, done=done))]
    hub.put_all([cast("SharedNote", note) for folding in foldings for note in folding.after])
    return ReflectionResult(stamp.model or "an agent", len(episodes), foldings, [], None, 0, 0.0)


def _own(store: HubStore, episode: SharedNote) -> SharedNote:
    """An episode that the caller may change, and that no person has claimed."""
    store.caller.space(episode.space, "writer")
    if is_claimed(episode):
        raise InvalidArgument(f"A person has pinned or edited the episode {episode.id}.", "Leave it out.")
    return episode


def _check_places(store: HubStore, lesson: Lesson, sources: Sequence[SharedNote]) -> None:
    """Refuse a lesson whose sources or superseded notes are in several spaces, or that supersedes a person's note."""
    if len({source.space for source in sources}) > 1:
        raise InvalidArgument(f"The sources of {lesson.title!r} are in several spaces.", "Write a note for each.")
    for id in lesson.supersedes:
        found = store.get(id)
        if found.space != sources[0].space or is_persons(found):
            raise InvalidArgument(f"The note {id} is in another space, or a person's.", "Leave it out.")


def _placed(store: HubStore, folding: Folding) -> Folding:
    """A folding whose new notes are in the space of its episodes."""
    held = store.caller.spaces[cast("SharedNote", folding.episodes[0]).space]
    return replace(
        folding, learned=tuple(SharedNote.new(store.placed(note, held), held.name) for note in folding.learned)
    )
