"""A dream cycle: the phases examine the notes that changed, and their proposals are applied as one change or wait.

Finding proposals is a follower of the change log, so a cycle's cost is proportional to what changed since the last one,
and a stopped cycle resumes where it was. Proposals are saved in dreams.db before anything is applied.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from anamnesis.disk import locked
from anamnesis.dream.dream_database import (
    REJECTED,
    REVIEW,
    WAITING,
    DreamDatabase,
    NewProposal,
    SavedProposal,
    hidden,
    involved,
)
from anamnesis.dream.dream_journal import FOLLOWER, KIND, facts_of, undone, write_report
from anamnesis.dream.phases import PHASES, Look, find_in_notes, find_in_projects
from anamnesis.dream.proposal import Proposal
from anamnesis.dream.sketches import Sketches
from anamnesis.dream.triage import Decisions, decide, most_changes
from anamnesis.errors import LockHeld, NoteConflict, StoreUnavailable, explained
from anamnesis.notes import Memory
from anamnesis.notes.authorship import is_edited_by_hand
from anamnesis.notes.foreign import unaccepted
from anamnesis.store import MemoryStore, changeset
from anamnesis.store.change_log import NoteChange
from anamnesis.store.changeset import recover
from anamnesis.store.ids import utcnow
from anamnesis.store.recording import record
from anamnesis.sync.worktree import without_sync

# Notes per batch: smaller ones lose less when a cycle is stopped, larger ones are faster.
_BATCH = 2_500
# The name of the state with the projects whose notes changed since they were last examined as a whole.
_DIRTY = "dirty"
_LOCK = "dream.lock"
# Attempts to apply a change. Each decides again, because one of the notes was edited since the last attempt.
_TRIES = 3
DEFAULT_SHARE = 0.05
BY_HAND = "by hand"

Progress = Callable[[int, int], None]


class Stopped(Exception):
    """A cycle was stopped because the machine is needed; the next one resumes."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a cycle: its trigger, the phases, the working copies, and the share of notes that may change.

    `renamed` maps the former keys of working copies to their current ones.
    """

    trigger: str = BY_HAND
    phases: Sequence[str] = PHASES
    folders: Mapping[str, Path] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    share: float = DEFAULT_SHARE
    progress: Progress = lambda _done, _total: None
    stop: Callable[[], bool] = bool

    @property
    def is_whole(self) -> bool:
        return tuple(self.phases) == PHASES


class DreamResult(NamedTuple):
    """The result of a cycle: the number of notes it examined, the decisions, the change it made, and its seconds."""

    looked_at: int
    decided: Decisions
    change: changeset.Changeset | None
    seconds: float


def dream(store: MemoryStore, options: Options) -> DreamResult:
    """Run a cycle. Raises `Stopped` if it was stopped before it applied anything."""
    start = time.monotonic()
    with alone(store), contextlib.closing(_Finder(store, options)) as finder:
        recover(store)
        store.usage.take_in()
        looked_at = finder.follow()
        with without_sync(store.memory_dir):
            for left in reversed(range(_TRIES)):
                open = finder.open()
                decided = finder.decide(open)
                if options.stop():
                    raise Stopped
                try:
                    change = _apply(store, open, decided, options, looked_at, start)
                    break
                except NoteConflict:
                    if not left:
                        raise
        finder.settle(open, decided)
    return DreamResult(looked_at, decided, change, time.monotonic() - start)


def rehearse(store: MemoryStore, options: Options) -> DreamResult:
    """Preview a cycle; changes no note and no record."""
    start = time.monotonic()
    with alone(store), contextlib.closing(_Finder(store, options)) as finder:
        looked_at, found = finder.preview()
        decided = finder.decide(found)
    return DreamResult(looked_at, decided, None, time.monotonic() - start)


class _Finder:
    """Finds proposals in the notes that changed, and saves them in dreams.db."""

    def __init__(self, store: MemoryStore, options: Options) -> None:
        self._store = store
        self._options = options
        self._states: dict[str, str] = {}
        self.database = DreamDatabase(store.root)
        if self.database.is_new:  # the journal has the undone proposals too, and they must not be made again
            self.database.reject(undone(store), utcnow())
        self._sketches = Sketches(store.root / "sketches.db")
        self._identity = f"{self.database.identity}-{self._sketches.identity}"
        store.log.subscribe(FOLLOWER, self._identity)

    def close(self) -> None:
        self.database.close()
        self._sketches.close()

    def follow(self) -> int:
        """Examine what changed, and save the proposals; returns how many notes were examined."""
        done = 0
        dirty = {*json.loads(self.database.state(_DIRTY) or "[]")}
        for batch, total in self._batches(advance=self._options.is_whole):
            look = self._look(batch)
            gone = [change.note_id for change in batch if change.hash is None]
            self.database.look_at(look.notes.values(), gone, utcnow())
            self._save(self._found_in_notes(look))
            dirty |= {note.project for note in look.notes.values()}
            self.database.set_state(_DIRTY, json.dumps(sorted(dirty)))
            done += len(batch)
            self._options.progress(done, total)
        look = self._look(())
        found = self._found_in_projects(look, dirty)
        self.database.drop(look.withdrawn)
        self._save(found)
        if self._options.is_whole:
            for project, state in look.states.items():
                self.database.set_state(f"tree {project}", state)
            self.database.set_state(_DIRTY, "[]")
        return done

    def preview(self) -> tuple[int, list[SavedProposal]]:
        """The number of changed notes; and the proposals that `follow` would find and the open ones, without saving."""
        found: dict[str, NewProposal] = {}
        done, dirty = 0, {*json.loads(self.database.state(_DIRTY) or "[]")}
        for batch, total in self._batches(advance=False):
            look = self._look(batch)
            found |= {each.proposal.key: each for each in self._found_in_notes(look)}
            dirty |= {note.project for note in look.notes.values()}
            done += len(batch)
            self._options.progress(done, total)
        look = self._look(())
        found |= {each.proposal.key: each for each in self._found_in_projects(look, dirty)}
        kept = {each.proposal.key: each for each in self.open() if each.proposal.key not in look.withdrawn}
        hashes = self._hashes(each.proposal for each in found.values())
        new = {
            key: SavedProposal(proposal, WAITING, _seen(proposal, hashes), "", "")
            for key, (proposal, _, _) in found.items()
        }
        open = kept | new
        rejected = self.database.statuses(open)
        return done, [each for key, each in open.items() if rejected.get(key) != REJECTED]

    def open(self) -> list[SavedProposal]:
        """The undecided proposals on record."""
        return self.database.proposals(WAITING, REVIEW, phases=self._options.phases)

    def decide(self, open: Sequence[SavedProposal]) -> Decisions:
        """Decide about the open proposals.

        Proposals about notes that have changed since are dropped, and those that this user's machines may not apply.
        Those that would change the user's notes because of one that the user has not accepted wait for that.
        """
        hashes = self._hashes(each.proposal for each in open)
        valid = [each.proposal for each in open if each.seen == _seen(each.proposal, hashes)]
        valid = [each for each in valid if self._store.shared.may_tidy(_existing(each, hashes))]
        about = {each.key: _existing(each, hashes) for each in valid}
        ids = {id for ids in about.values() for id in ids}
        unreviewed = unaccepted(self._store.origins(self._store.whole(ids)))
        blocked = [each for each in valid if about[each.key] & unreviewed not in (set(), about[each.key])]
        valid = [each for each in valid if each not in blocked]
        live = self._live(id for each in valid for id in (*each.notes, *hidden(each)))
        by = self._store.superseding({id for each in valid for id in each.notes} - live.keys())
        valid = [each for each in valid if all(id in live or by.get(id) in each.notes for id in each.notes)]
        others = {note.id for each in valid for note in each.after} - live.keys()
        written = {note.id: note for note in self._store.whole(others)}
        decided = decide(
            valid,
            {**live, **written},
            by_hand=self.database.by_hand([*live, *written]) | {*filter(self._is_by_hand, [*live, *written])},
            size=lambda project: self._store.count(project=project),
            share=self._options.share,
            doubted=self.database.doubted(valid),
        )
        return decided._replace(waiting=[*decided.waiting, *blocked])

    def settle(self, open: Sequence[SavedProposal], decided: Decisions) -> None:
        """Save the decisions about the open proposals; applied and invalid ones are dropped."""
        phases = {each.proposal.key: each.phase for each in open}
        left = {REVIEW: decided.review, WAITING: decided.waiting}
        found = [NewProposal(each, status, phases[each.key]) for status, some in left.items() for each in some]
        at = utcnow()
        self.database.save(found, self._hashes(each.proposal for each in found), at)
        self.database.drop(phases.keys() - {each.proposal.key for each in found})
        self.database.saw(note for each in decided.applied for note in each.after)
        self.database.set_state("last", at)

    def _found_in_notes(self, look: Look) -> list[NewProposal]:
        phases = self._options.phases
        return [NewProposal(each, WAITING, phase) for phase in phases for each in find_in_notes(look, (phase,))]

    def _found_in_projects(self, look: Look, projects: Iterable[str]) -> list[NewProposal]:
        phases = self._options.phases
        return [
            NewProposal(each, WAITING, phase) for phase in phases for each in find_in_projects(look, (phase,), projects)
        ]

    def _live(self, ids: Iterable[str]) -> dict[str, Memory]:
        return {note.id: note for note in self._store.live(dict.fromkeys(ids))}

    def _is_by_hand(self, note_id: str) -> bool:
        """Whether an editor saved one of the latest versions of a note that this machine has seen."""
        versions = self._store.kept.versions(note_id)
        file = self._store.file(note_id) if versions else None
        return bool(file and file.memory and is_edited_by_hand([*versions, (file.memory, file.mtime_ns)]))

    def _batches(self, *, advance: bool) -> Iterator[tuple[Sequence[NoteChange], int]]:
        """The pending changes in batches, with their total; the cursor moves past a batch after it is processed."""
        log = self._store.log
        pending = log.pending(FOLLOWER, self._identity)
        changes = pending.changes if pending else ()
        for start in range(0, len(changes), _BATCH):
            if self._options.stop():
                raise Stopped
            batch = changes[start : start + _BATCH]
            yield batch, len(changes)
            if advance and pending:
                log.advance(FOLLOWER, pending._replace(changes=batch))
                pending = pending._replace(cursor=(pending.cursor[0], batch[-1].seq))

    def _look(self, batch: Sequence[NoteChange]) -> Look:
        ids = [change.note_id for change in batch]
        notes = self._live(ids)
        self._sketches.update({id: notes.get(id) for id in ids})
        state = self.database.state
        return Look(
            self._store,
            self._sketches,
            notes,
            self._options.folders,
            lambda key: state(f"tree {key}"),
            self._stop,
            self.database.statuses,
            lambda project: most_changes(self._store.count(project=project), self._options.share),
            self._states,
            renamed=self._options.renamed,
            open=self._open,
            changed=frozenset(ids),
        )

    def _open(self, kind: str) -> set[str]:
        open = self.database.proposals(WAITING, REVIEW)
        return {id for each in open if each.proposal.kind == kind for id in each.proposal.notes}

    def _stop(self) -> bool:
        if self._options.stop():
            raise Stopped
        return False

    def _save(self, found: Sequence[NewProposal]) -> None:
        self.database.save(found, self._hashes(each.proposal for each in found), utcnow())

    def _hashes(self, proposals: Iterable[Proposal]) -> dict[str, str]:
        ids = {id for proposal in proposals for id in involved(proposal)}
        return {id: hash.hex() for id, hash in self._store.hashes_of(ids).items()}


def _apply(
    store: MemoryStore,
    open: Sequence[SavedProposal],
    decided: Decisions,
    options: Options,
    looked_at: int,
    start: float,
) -> changeset.Changeset | None:
    """Apply the decisions as one change, with a report of the cycle."""
    if not (decided.applied or looked_at or options.trigger == BY_HAND):
        return None
    keys = {each.key for each in decided.applied}
    change = changeset.apply(
        store,
        [note for proposal in decided.applied for note in proposal.after],
        kind=KIND,
        reason=f"A dream ({options.trigger}).",
        facts=facts_of(decided, options.trigger, looked_at, time.monotonic() - start),
        ready=store.ranking.embed_few,
        expected={id: hash for each in open if each.proposal.key in keys for id, hash in each.seen.items()},
    )
    write_report(store, change)
    record(store.root, "superseded", [id for each in decided.applied for id in hidden(each) if id in each.notes])
    return change


@contextlib.contextmanager
def alone(store: MemoryStore, timeout: float = 0) -> Iterator[None]:
    """Hold the lock of dreams and reflections; failures of their databases, such as a full disk, become one error."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(store.root / _LOCK, timeout=timeout))
        except LockHeld as error:
            raise LockHeld("Another dream of this memory is running.", "Wait until it has ended.") from error
        try:
            yield
        except OSError as error:
            raise explained(error) from error
        except sqlite3.Error as error:
            raise StoreUnavailable(f"A dream cannot use its files in {store.root}: {error}.") from error


def _existing(proposal: Proposal, hashes: Mapping[str, str]) -> set[str]:
    """The notes that a proposal changes, hides or is about; not those that it adds."""
    return {*proposal.notes, *hidden(proposal), *(id for id in involved(proposal) if id in hashes)}


def _seen(proposal: Proposal, hashes: Mapping[str, str]) -> dict[str, str]:
    return {id: hashes.get(id, "") for id in involved(proposal)}
