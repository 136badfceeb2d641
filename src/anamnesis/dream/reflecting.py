"""Reflection on request: folds episodes into durable notes as one change, by rules, by the model, or by an agent."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.client import IncompleteRead
from typing import NamedTuple

from anamnesis.config import Reflection
from anamnesis.dream.cycle import alone
from anamnesis.dream.dream_database import REJECTED, REVIEW, DreamDatabase, NewProposal
from anamnesis.dream.dream_journal import facts_of, write_report
from anamnesis.dream.episodes import folding_by_rules, near, proposal_of, unreflected, with_sources_origin
from anamnesis.dream.proposal import Proposal
from anamnesis.dream.triage import Decisions
from anamnesis.errors import AnamnesisError, InvalidArgument
from anamnesis.notes import REFLECTED, Memory
from anamnesis.notes.authorship import is_claimed, is_persons
from anamnesis.notes.project_names import comparable
from anamnesis.reflect import FAILURES, MALFORMED
from anamnesis.reflect.by_model import batches, by_model, lessons_of
from anamnesis.reflect.folding import DURABLE, RULES, Folding, Lesson, Stamp, folded
from anamnesis.store import MemoryStore, changeset
from anamnesis.store.changeset import recover
from anamnesis.store.ids import utcnow
from anamnesis.store.recording import record

KIND = "reflection"
# Requests to a model that one reflection makes; the next one does the rest.
_MOST_REQUESTS = 20
# Seconds that an agent waits for a dream to end.
_PATIENCE = 10.0

Progress = Callable[[int, int], None]


class Way(NamedTuple):
    """A way to fold episodes, which come in groups of one project and scope: its name and its functions.

    With `remembers`, an episode in which it found nothing is not examined again. At most `most` groups are folded.
    """

    name: str
    groups: Callable[[Iterable[Memory]], Iterable[list[Memory]]]
    fold: Callable[[Sequence[Memory]], list[Folding]]
    remembers: bool = False
    most: int | None = None


class ReflectionResult(NamedTuple):
    """The result of a reflection: the foldings written, those for a person, the change, and the episodes left."""

    way: str
    looked_at: int
    done: list[Folding]
    review: list[Folding]
    change: changeset.Changeset | None
    left: int
    seconds: float


def by_rules(store: MemoryStore) -> Way:
    return Way(RULES, lambda episodes: [[*episodes]], folding_by_rules(store))


def with_model(store: MemoryStore, settings: Reflection, machine_id: str) -> Way:
    """Folding by the configured model; a failure of the model is one clear error, and nothing is changed."""
    stamp = Stamp(settings.model, machine_id, utcnow())

    def fold(episodes: Sequence[Memory]) -> list[Folding]:
        try:
            lessons = lessons_of(settings, episodes)
        except FAILURES as error:
            hint = "`anamnesis reflect --rules` needs no model."
            reason = f"The model {settings.model} {_failure(error, settings)}; nothing was changed."
            raise AnamnesisError(reason, hint) from error
        return by_model(lessons, episodes, lambda text, episode: near(store, text, episode), stamp)

    return Way(settings.model, batches, fold, remembers=True, most=_MOST_REQUESTS)


def reflect(
    store: MemoryStore,
    way: Way,
    *,
    project: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ReflectionResult:
    """Fold the unreflected episodes of a project, or of all. A `dry_run` changes no note and no record."""
    start = time.monotonic()
    with alone(store), contextlib.closing(DreamDatabase(store.root)) as database:
        if not dry_run:
            recover(store)
        before = store.hashes()
        hashes = {id: hash.hex() for id, hash in store.unreflected(project).items()}
        if project and not hashes:
            store.check_project(project)
        seen = _seen(database, way) if way.remembers else {}
        groups = _groups(unreflected(store, (id for id in hashes if seen.get(id) != hashes[id])), way)
        chosen = groups[: way.most]
        foldings: list[Folding] = []
        for number, group in enumerate(chosen):
            if progress:
                progress(number, len(chosen))
            foldings += way.fold(group)
        foldings = [each for each in with_sources_origin(store, foldings) if store.shared.may_tidy(each.about)]
        rejected = database.statuses([proposal_of(each).key for each in foldings])
        foldings = [each for each in foldings if rejected.get(proposal_of(each).key) != REJECTED]
        looked_at = [episode for group in chosen for episode in group]
        left = sum(map(len, groups)) - len(looked_at)
        outcome = _decided(store, database, way.name, foldings, len(looked_at))._replace(left=left)
        if not dry_run:
            outcome = _apply(store, database, outcome, before, start)
            if way.remembers:
                _remember(database, way, seen, hashes, looked_at, foldings)
    return outcome._replace(seconds=time.monotonic() - start)


def take(store: MemoryStore, lessons: Sequence[Lesson], done: Sequence[str], stamp: Stamp) -> ReflectionResult:
    """Write the lessons of an agent and tag their sources, as one change; `done` are episodes without a lesson.

    Refuses sources that are not unreflected episodes, and notes that cannot be superseded.
    """
    start = time.monotonic()
    with alone(store, _PATIENCE), contextlib.closing(DreamDatabase(store.root)) as database:
        recover(store)
        before = store.hashes()
        ids = dict.fromkeys([*(id for lesson in lessons for id in lesson.sources), *done])
        episodes = {id: unreflected_episode(store, id) for id in ids}
        for lesson in lessons:
            check_lesson(store, lesson, [episodes[id] for id in lesson.sources])
        foldings = with_sources_origin(store, folded(lessons, episodes, stamp, done=done))
        outcome = _decided(store, database, stamp.model or "an agent", foldings, len(episodes))
        outcome = _apply(store, database, outcome, before, start)
    return outcome._replace(seconds=time.monotonic() - start)


def _groups(episodes: Iterable[Memory], way: Way) -> list[list[Memory]]:
    """The episodes by project and scope, in the groups that the way takes, in their order."""
    by_place: dict[tuple[str, str], list[Memory]] = {}
    for episode in episodes:
        by_place.setdefault((episode.project, episode.scope), []).append(episode)
    return [group for some in by_place.values() for group in way.groups(some)]


def _decided(
    store: MemoryStore, database: DreamDatabase, way: str, foldings: Sequence[Folding], looked_at: int
) -> ReflectionResult:
    """Separate the foldings that are written from those that go to a person, because they affect an episode that the
    person pinned or edited, or a durable note of the person.
    """
    ids = {id for folding in foldings for id in folding.about}
    persons = database.by_hand(ids) | {
        note.id for note in store.whole(ids) if (is_claimed if note.type == "episodic" else is_persons)(note)
    }
    done: list[Folding] = []
    review: list[Folding] = []
    for folding in foldings:
        (review if persons & {*folding.about} else done).append(folding)
    return ReflectionResult(way, looked_at, done, review, None, 0, 0.0)


def _apply(
    store: MemoryStore, database: DreamDatabase, outcome: ReflectionResult, before: Mapping[str, bytes], start: float
) -> ReflectionResult:
    """Write the foldings as one change, and put those for a person on the review list.

    `before` are the hashes of the files when they were read: a later edit is not overwritten.
    """
    proposals = [proposal_of(folding) for folding in outcome.done]
    review = [proposal_of(folding) for folding in outcome.review]
    if proposals:
        decided = Decisions(proposals, [], review)
        facts = facts_of(decided, f"reflection by {outcome.way}", outcome.looked_at, time.monotonic() - start)
        after = [note for proposal in proposals for note in proposal.after]
        change = changeset.apply(
            store,
            after,
            kind=KIND,
            reason=f"Reflected by {outcome.way}.",
            facts=facts,
            ready=store.ranking.embed_few,
            expected={note.id: before.get(note.id, b"").hex() for note in after},
        )
        write_report(store, change)
        record(store.root, "superseded", [id for note in after for id in note.superseded])
        database.drop(proposal.key for proposal in proposals)
        outcome = outcome._replace(change=change)
    _put_on_review(store, database, review)
    return outcome


def _put_on_review(store: MemoryStore, database: DreamDatabase, review: Sequence[Proposal]) -> None:
    ids = {id for proposal in review for id in (*proposal.notes, *(note.id for note in proposal.after))}
    hashes = {id: hash.hex() for id, hash in store.hashes_of(ids).items()}
    database.save([NewProposal(proposal, REVIEW, "consolidate") for proposal in review], hashes, utcnow())


def unreflected_episode(store: MemoryStore, id: str) -> Memory:
    """An episode that may be folded; raises with the reason if it may not."""
    note = store.find(id)
    if note is None:
        raise InvalidArgument(f"No note has the id {id!r}.", "Give the ids of unreflected episodes.")
    if note.type != "episodic":
        raise InvalidArgument(f"The note {id} is {note.type}, not an episode.", "Sources are episodic notes.")
    if REFLECTED in note.tags:
        raise InvalidArgument(f"The episode {id} is reflected already.", "Leave it out.")
    if not unreflected(store, [id]):
        raise InvalidArgument(f"The episode {id} is hidden, superseded or waits for a review.", "Leave it out.")
    return note


def check_lesson(store: MemoryStore, lesson: Lesson, sources: Sequence[Memory]) -> None:
    """Refuse a lesson without sources, of several projects, or that supersedes what cannot be."""
    if not lesson.sources:
        raise InvalidArgument(f"The note {lesson.title!r} has no sources.", "Name the episodes that it comes from.")
    if len({comparable(source.project) for source in sources}) > 1:
        raise InvalidArgument(f"The sources of {lesson.title!r} are of several projects.", "Write a note for each.")
    for id in lesson.supersedes:
        found = store.find(id)
        if found is None or found.type not in DURABLE or id in store.superseding([id]):
            raise InvalidArgument(f"{id!r} is no durable note that can be superseded.", "Leave it out.")
        if comparable(found.project) != comparable(sources[0].project):
            raise InvalidArgument(f"The note {id} is of another project than the sources.", "Leave it out.")


def _seen(database: DreamDatabase, way: Way) -> dict[str, str]:
    """The episodes in which this way found nothing, with the hashes of their files at that time."""
    seen: dict[str, str] = json.loads(database.state(f"looked at by {way.name}") or "{}")
    return seen


def _remember(
    database: DreamDatabase,
    way: Way,
    seen: Mapping[str, str],
    hashes: Mapping[str, str],
    looked_at: Sequence[Memory],
    foldings: Sequence[Folding],
) -> None:
    found = {episode.id for folding in foldings for episode in folding.episodes}
    nothing = {episode.id: hashes[episode.id] for episode in looked_at if episode.id not in found}
    database.set_state(f"looked at by {way.name}", json.dumps({**seen, **nothing}))


def _failure(error: BaseException, settings: Reflection) -> str:
    """What went wrong with a model, as the end of a sentence."""
    reason = getattr(error, "reason", None)
    if isinstance(error, TimeoutError) or isinstance(reason, TimeoutError):
        return f"did not answer within {settings.timeout} seconds"
    if isinstance(error, IncompleteRead):
        return "broke off its answer"
    if code := getattr(error, "code", None):
        return f"answered with the status {code}"
    if isinstance(error, MALFORMED) and settings.base_url.startswith("http"):
        return "gave an answer that cannot be used"
    return f"cannot be reached at {settings.base_url}"
