"""Brings the memories of other programs here as notes: each once, and again when it changes there.

An importer is a name, a finder of places and a reader that yields records; everything else is done here. A note that
the user deleted stays deleted, and one that the user edited is not changed. Other programs' files are only read.
"""

from __future__ import annotations

import sqlite3
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from anamnesis.importers.front import plain_fields, with_origin
from anamnesis.importers.ledger import Entry, Ledger, note_digest, record_digest, whole_digest
from anamnesis.importers.machine import Machine
from anamnesis.importers.record import Broken, Read, Reading, Record, Skipped
from anamnesis.notes import PINNED, REFLECTED, TYPES, Memory, derived_id, ending_of, utc_time
from anamnesis.notes.foreign import CLAUDE_CODE, REVIEWED, SOURCE, TO_REVIEW, as_foreign
from anamnesis.notes.marks import EDITED_BY, with_mark, with_marks
from anamnesis.notes.merge import MergedNote, merge
from anamnesis.notes.redaction import redact
from anamnesis.project import GLOBAL, cleaned_key
from anamnesis.store import MemoryStore
from anamnesis.store.ids import utcnow
from anamnesis.store.placing import without_secrets
from anamnesis.store.tombstones import purged_ids

# A note that another program may not claim to be.
_OURS = (REVIEWED, TO_REVIEW, CLAUDE_CODE, PINNED, REFLECTED)
_BATCH = 500
_LONGEST_TITLE = 200
_LONGEST_TAG = 80
_MOST_CHARACTERS = 5_000_000
_MOST_PROBLEMS = 20
_UNREADABLE = (sqlite3.Error, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError)


class Importer(NamedTuple):
    """A name, what it reads, where that is on this machine, and its records.

    The memory `is_own` that is the user's beyond doubt; others are foreign until they are reviewed. What holds
    `conversations` is imported only after a preview.
    """

    name: str
    label: str
    find: Callable[[Machine], Iterable[Path]]
    read: Callable[[Path, Machine], Reading]
    is_own: bool = False
    conversations: bool = False


@dataclass(frozen=True, slots=True)
class Imported:
    """The counts of an import, and the first of the parts that could not be read."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0
    left: int = 0  # deleted or edited by the user
    skipped: int = 0  # conversations that are not worth a note
    broken: int = 0
    problems: tuple[str, ...] = ()
    # What a dry run would write: "new" or "updated", and the note.
    coming: tuple[tuple[str, Memory], ...] = field(default=(), compare=False)

    @property
    def counts(self) -> dict[str, int]:
        """Of the notes alone."""
        return {name: getattr(self, name) for name in ("new", "updated", "unchanged", "left")}


class Survey(NamedTuple):
    """How many records a place has, how many of them were imported, and how many cannot be read."""

    found: int
    here: int
    broken: int


def survey(store: MemoryStore, importer: Importer, place: Path, machine: Machine) -> Survey:
    """Count what is at a place, without looking at what it says."""
    names, found, here, broken = _Names(store, Ledger(store.root), importer.name), 0, 0, 0
    for each in _guarded(importer, place, machine):
        if isinstance(each, Record):
            found += 1
            here += names.is_known(names.id_of(each))
        broken += isinstance(each, Broken)
    return Survey(found, here, broken)


def bring(
    store: MemoryStore,
    importer: Importer,
    place: Path,
    machine: Machine,
    *,
    project: str | None = None,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Imported:
    """Import what is at a place; all of it as notes of the `project`, if one is given.

    What is written stays if this is interrupted, and the next import goes on there: a note that is here and says what
    the record says counts as imported.
    """
    ledgers = Ledger(store.root), Ledger(store.root, place)
    bringing = _Bringing(store, importer, ledgers, machine, project)
    reading = iter(_guarded(importer, place, machine))
    done = saved = 0
    try:
        while batch := [*islice(reading, _BATCH)]:
            bringing.take(batch, dry_run=dry_run)
            done += len(batch)
            if progress:
                progress(done)
            # So that a kill loses little: without its entry, a note that changes there next counts as edited here.
            if not dry_run and done >= 1.5 * saved:
                ledgers[0].save()
                saved = done
    finally:
        for ledger in () if dry_run else ledgers:
            ledger.save()
    return bringing.imported()


def together(parts: Iterable[Imported]) -> Imported:
    """The sum of several imports."""
    done = [*parts]
    counts = {name: sum(getattr(each, name) for each in done) for name in (*Imported().counts, "skipped", "broken")}
    problems = tuple(problem for each in done for problem in each.problems)
    return Imported(**counts, problems=problems, coming=tuple(note for each in done for note in each.coming))


def _guarded(importer: Importer, place: Path, machine: Machine) -> Iterator[Read]:
    """The records of a place. What ends the reading early is the last broken part."""
    try:
        yield from importer.read(place, machine)
    except OSError as error:
        yield Broken(str(error.filename or place), error.strerror or str(error))
    except _UNREADABLE as error:
        yield Broken(str(place), str(error) or type(error).__name__)


class _Names:
    """The ids of the notes of records: derived from what names a record, and kept when its time changes."""

    def __init__(self, store: MemoryStore, ledger: Ledger, source: str) -> None:
        self._store = store
        self._ledger = ledger
        self._source = source
        self._seen: Counter[str] = Counter()
        self._gone = {*purged_ids(store.root), *(each.id for each in store.trashed())}
        self._ids = {ending_of(id): id for id in (*self._gone, *ledger.ids)}
        self._live: dict[str, str] | None = None

    def id_of(self, record: Record) -> str:
        """The id of the note that a record has, even of a deleted one, or else of a new one."""
        if given := record.note_id or (record.whole and record.whole.id):
            return given
        self._seen[record.key] += 1
        again = self._seen[record.key]
        name = f"{self._source}:{record.key}{f'~{again}' if again > 1 else ''}"
        new = derived_id(_time(record.created_at) or _time(record.updated_at), name)
        ending = ending_of(new)
        return self._ids.get(ending) or self._live_ids().get(ending, new)

    def is_known(self, note_id: str) -> bool:
        return note_id in self._ledger or note_id in self._gone or ending_of(note_id) in self._live_ids()

    def is_gone(self, note_id: str) -> bool:
        return note_id in self._ledger or note_id in self._gone

    def _live_ids(self) -> dict[str, str]:
        if self._live is None:
            self._live = {ending_of(id): id for id in self._store.hashes()}
        return self._live


class _Bringing:
    """An import under way."""

    def __init__(
        self,
        store: MemoryStore,
        importer: Importer,
        ledgers: tuple[Ledger, Ledger],
        machine: Machine,
        project: str | None,
    ) -> None:
        self._store = store
        self._importer = importer
        self._imports, self._exports = ledgers
        self._machine = machine
        self._project = project
        self._names = _Names(store, ledgers[0], importer.name)
        self._counts: Counter[str] = Counter()
        self._problems: list[str] = []
        self._coming: list[tuple[str, Memory]] = []

    def take(self, batch: Iterable[Read], *, dry_run: bool) -> None:
        """Decide about the records of a batch, and write those that are new or changed."""
        records: dict[str, Record] = {}
        for each in batch:
            if isinstance(each, Broken):
                self._tell(each)
            elif isinstance(each, Skipped):
                self._counts["skipped"] += 1
            elif len(each.body) > _MOST_CHARACTERS:
                self._tell(Broken(each.key, f"It has more than {_MOST_CHARACTERS:,} characters."))
            else:
                records[self._names.id_of(each)] = each
        here = self._store.hashes_of(records)
        changed: list[tuple[Memory, Entry]] = []
        for note_id, record in records.items():
            outcome, note, entry = self._decide(note_id, record, is_here=note_id in here)
            self._counts[outcome] += 1
            if note and dry_run:
                self._coming.append((outcome, note))
            elif note and entry:
                changed.append((note, entry))
            elif entry and not dry_run:
                self._ledger(record).set(note_id, entry)
        self._store.put_all(note for note, _ in changed)
        for note, entry in changed:
            self._ledger(records[note.id]).set(note.id, entry)

    def imported(self) -> Imported:
        return Imported(**self._counts, problems=tuple(self._problems), coming=tuple(self._coming))

    def _tell(self, broken: Broken) -> None:
        self._counts["broken"] += 1
        if len(self._problems) < _MOST_PROBLEMS:
            place, reason = (redact(" ".join(text.split())) for text in broken)
            self._problems.append(f"{place}: {reason}")

    def _ledger(self, record: Record) -> Ledger:
        return self._exports if record.note_id else self._imports

    def _decide(self, note_id: str, record: Record, *, is_here: bool) -> tuple[str, Memory | None, Entry | None]:
        """What becomes of a record, the note to write if there is one, and the entry for it."""
        if record.note_id:
            return self._decide_edit(record, is_here=is_here)
        project = self._project or record.project
        entry, said = self._imports.get(note_id), record_digest(record, project)
        if not is_here and self._names.is_gone(note_id):
            return "left", None, entry
        if is_here and entry and entry.record == said:
            return "unchanged", None, entry
        existing = self._store.find(note_id) if is_here else None
        note = self._note(note_id, record, project)
        new = Entry(note_digest(note), said)
        if existing is None:
            return "new", note, new
        is_same = note_digest(existing) == new.note
        if entry is None or note_digest(existing) != entry.note:
            return ("unchanged", None, new) if is_same else ("left", None, entry)
        if is_same and not entry.record:
            return "unchanged", None, new
        is_ready = record.whole and self._importer.is_own
        return "updated", note if is_ready else self._updated(existing, note, is_same=is_same), new

    def _decide_edit(self, record: Record, *, is_here: bool) -> tuple[str, Memory | None, Entry | None]:
        """What becomes of a file that was exported from here: an edit there is merged with what was edited here."""
        entry, said = self._exports.get(record.note_id), record_digest(record, "")
        existing = self._store.find(record.note_id) if is_here else None
        if existing is None or entry is None:
            return "left", None, entry
        if entry.record == said:
            return "unchanged", None, entry
        there = edited(existing, record)
        versions = [existing, *(each.note for each in reversed(self._store.kept.versions(existing.id)))]
        base = next((each for each in versions if whole_digest(each) == entry.note), None)
        if base is None:
            return "left", None, entry
        base = replace(base, engram=existing.engram, newline=existing.newline)
        both = merge(base, replace(there, updated_at=utcnow()), existing) if base != existing else MergedNote(there)
        if both.other:
            return "left", None, entry
        if whole_digest(both.note) == whole_digest(existing):
            return "unchanged", None, Entry(whole_digest(existing), said)
        note = with_mark(replace(both.note, updated_at=utcnow()), EDITED_BY, "human")
        return "updated", note, Entry(whole_digest(note), said)

    def _note(self, note_id: str, record: Record, project: str) -> Memory:
        """What a record says, as a note."""
        if record.whole:
            note = replace(record.whole, project=self._project or record.whole.project)
            return note if self._importer.is_own else self._foreign(_without_claims(note))
        note = self._new(note_id, record, project)
        if self._importer.is_own:
            return note
        return with_origin(
            self._foreign(note),
            {"from": self._importer.name, "key": redact(record.key), **plain_fields(record.fields)},
        )

    def _foreign(self, note: Memory) -> Memory:
        tags = [tag for tag in note.tags if tag not in _OURS]
        return as_foreign(replace(note, tags=[*tags, self._importer.name]), self._importer.name)

    def _new(self, note_id: str, record: Record, project: str) -> Memory:
        title = redact(" ".join(record.title.split())) or redact(" ".join(record.body[:1000].split()))
        created_at = _time(record.created_at) or _time(record.updated_at) or utcnow()
        tags = [redact(" ".join(str(tag).split()).lstrip("#"))[:_LONGEST_TAG] for tag in record.tags]
        return Memory(
            id=note_id,
            type=record.type if record.type in TYPES else "semantic",
            title=title[:_LONGEST_TITLE].strip() or f"From {self._importer.name}",
            body=redact(record.body.replace("\r\n", "\n").replace("\0", "").strip("\n")),
            project=redact(cleaned_key(project)) or GLOBAL,
            machine_id=self._machine.id,
            tags=tags,
            created_at=created_at,
            updated_at=max(_time(record.updated_at) or utcnow(), created_at),
            prov_source=SOURCE,
            prov_session=redact(record.session),
            prov_model=redact(record.model),
        )

    def _updated(self, existing: Memory, note: Memory, *, is_same: bool) -> Memory:
        """The existing note with what the record says now; a new text has to be reviewed and reflected again."""
        if not is_same and not self._importer.is_own:
            existing = as_foreign(existing, self._importer.name)
        kept = [tag for tag in existing.tags if is_same or tag != REFLECTED]
        changed = replace(
            existing,
            type=note.type,
            title=note.title,
            body=note.body,
            project=note.project,
            tags=[*note.tags, *kept],
            updated_at=note.updated_at if note.updated_at > existing.updated_at else utcnow(),
            prov_session=note.prov_session,
            prov_model=note.prov_model,
        )
        return changed if self._importer.is_own else _with_block_of(note, changed)


def edited(existing: Memory, record: Record) -> Memory:
    """A note as a person edited it elsewhere: all but where it comes from."""
    there = record.whole or existing
    changed = replace(
        existing,
        type=there.type,
        title=(record.title if record.whole else " ".join(record.title.split())[:_LONGEST_TITLE]) or existing.title,
        body=record.body,
        project=there.project,
        tags=[str(tag) for tag in record.tags],
        confidence=there.confidence,
        supersedes=there.supersedes,
        extra={key: lines if lines in existing.extra.values() else redact(lines) for key, lines in there.extra.items()},
    )
    return without_secrets(changed)


def _without_claims(note: Memory) -> Memory:
    """Somebody else's note, which can neither replace notes of ours nor be a twin of an observation."""
    extra = {key: redact(lines) for key, lines in note.extra.items()}
    return with_marks(replace(without_secrets(note), extra=extra, supersedes="", engram={}), {})


def _with_block_of(note: Memory, changed: Memory) -> Memory:
    """The changed note with the origin of the new one, and the front matter that others added to the old one."""
    bare = with_origin(changed, {})
    extra = {key: bare.extra.get(key, "") + lines for key, lines in note.extra.items()}
    return replace(bare, extra={**bare.extra, **extra})


def _time(text: str) -> str:
    """A time in the form of notes, not in the future; "" if the text is none."""
    try:
        moment = datetime.fromisoformat(utc_time(text))
        return min(moment.astimezone(UTC), datetime.now(UTC)).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""
