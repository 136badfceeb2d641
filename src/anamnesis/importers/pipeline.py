"""Imports the memories of other programs as notes: each once, and again when it changes there.

An importer is a name, a finder of places and a reader that yields records; the rest is common and done here. A note
that the user deleted stays deleted, and one that the user edited is not changed. Other programs' files are only read.
"""

from __future__ import annotations

import json
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

from anamnesis.importers.foreign_record import ImportItem, ImportItems, Record, SkippedConversation, Unreadable
from anamnesis.importers.import_ledger import ImportLedger, LedgerEntry, note_digest, record_digest, whole_digest
from anamnesis.importers.machine import Machine
from anamnesis.importers.origin import plain_fields, with_origin
from anamnesis.notes import PINNED, REFLECTED, SCOPES, TYPES, Memory, derived_id, ending_of, utc_time
from anamnesis.notes.acceptance import ACCEPTED, OWN
from anamnesis.notes.foreign import CLAUDE_CODE, REVIEWED, SOURCE, TO_REVIEW, as_foreign
from anamnesis.notes.marks import EDITED_BY, HELD, marks_of, with_mark, with_marks
from anamnesis.notes.merge import MergedNote, merge
from anamnesis.notes.record import GLOBAL
from anamnesis.notes.redaction import redact, redact_all, secrets_in, without_known
from anamnesis.project import cleaned_key
from anamnesis.store import MemoryStore
from anamnesis.store.ids import changed_at, utcnow
from anamnesis.store.placing import without_secrets
from anamnesis.store.tombstones import purged_ids

# Tags with a meaning here, which an imported note may not claim.
_OURS = (REVIEWED, TO_REVIEW, CLAUDE_CODE, PINNED, REFLECTED)
_BATCH = 500
_LONGEST_TITLE = 200
_LONGEST_TAG = 80
_MOST_CHARACTERS = 5_000_000
_MOST_PROBLEMS = 20
_UNREADABLE = (sqlite3.Error, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError)


class Importer(NamedTuple):
    """A source: its name and label, how to find it on this machine, and how to read its records.

    Memories that are certainly the user's own have `is_own`; others are foreign until reviewed. A source of
    `conversations` is imported only after a preview.
    """

    name: str
    label: str
    find: Callable[[Machine], Iterable[Path]]
    read: Callable[[Path, Machine], ImportItems]
    is_own: bool = False
    conversations: bool = False


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The counts of an import, and the first problems."""

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
        """The counts of notes alone."""
        return {name: getattr(self, name) for name in ("new", "updated", "unchanged", "left")}


class Survey(NamedTuple):
    """How many records a place has, how many of them were imported already, and how many cannot be read."""

    found: int
    here: int
    broken: int


def survey(store: MemoryStore, importer: Importer, place: Path, machine: Machine) -> Survey:
    """Count the records at a place, without comparing their content."""
    names, found, here, broken = _NoteIds(store, ImportLedger(store.root), importer.name), 0, 0, 0
    for each in _guarded(importer, place, machine):
        if isinstance(each, Record):
            found += 1
            here += names.is_known(names.id_of(each))
        broken += isinstance(each, Unreadable)
    return Survey(found, here, broken)


def run_import(
    store: MemoryStore,
    importer: Importer,
    place: Path,
    machine: Machine,
    *,
    project: str | None = None,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ImportResult:
    """Import the records at a place, all as notes of `project` if it is given.

    Notes written before an interruption stay, and the next import continues: an existing note with the content of
    its record counts as imported.
    """
    ledgers = ImportLedger(store.root), ImportLedger(store.root, place)
    run = _ImportRun(store, importer, ledgers, machine, project)
    reading = iter(_guarded(importer, place, machine))
    done = saved = 0
    try:
        while batch := [*islice(reading, _BATCH)]:
            run.import_batch(batch, dry_run=dry_run)
            done += len(batch)
            if progress:
                progress(done)
            # Saved now and then, because a note without an entry counts as edited when its record changes.
            if not dry_run and done >= 1.5 * saved:
                ledgers[0].save()
                saved = done
    finally:
        for ledger in () if dry_run else ledgers:
            ledger.save()
    return run.imported()


def total_of(parts: Iterable[ImportResult]) -> ImportResult:
    """The sum of several imports."""
    done = [*parts]
    counts = {name: sum(getattr(each, name) for each in done) for name in (*ImportResult().counts, "skipped", "broken")}
    problems = tuple(problem for each in done for problem in each.problems)
    return ImportResult(**counts, problems=problems, coming=tuple(note for each in done for note in each.coming))


def _guarded(importer: Importer, place: Path, machine: Machine) -> Iterator[ImportItem]:
    """The records of a place. An error that ends the reading becomes the last item."""
    try:
        yield from importer.read(place, machine)
    except OSError as error:
        yield Unreadable(str(error.filename or place), error.strerror or str(error))
    except _UNREADABLE as error:
        yield Unreadable(str(place), str(error) or type(error).__name__)


class _NoteIds:
    """The note ids of records, derived from the key of a record and stable when its time changes."""

    def __init__(self, store: MemoryStore, ledger: ImportLedger, source: str) -> None:
        self._store = store
        self._ledger = ledger
        self._source = source
        self._seen: Counter[str] = Counter()
        self._gone = {*purged_ids(store.root), *(each.id for each in store.trashed())}
        self._ids = {ending_of(id): id for id in (*self._gone, *ledger.ids)}
        self._live: dict[str, str] | None = None

    def id_of(self, record: Record) -> str:
        """The id of a record's note: existing, deleted or new."""
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


class _ImportRun:
    """One import: decides about each record and counts the outcomes."""

    def __init__(
        self,
        store: MemoryStore,
        importer: Importer,
        ledgers: tuple[ImportLedger, ImportLedger],
        machine: Machine,
        project: str | None,
    ) -> None:
        self._store = store
        self._importer = importer
        self._imports, self._exports = ledgers
        self._machine = machine
        self._project = project
        self._names = _NoteIds(store, ledgers[0], importer.name)
        self._counts: Counter[str] = Counter()
        self._problems: list[str] = []
        self._coming: list[tuple[str, Memory]] = []

    def import_batch(self, batch: Iterable[ImportItem], *, dry_run: bool) -> None:
        """Write the new and changed notes of a batch of records."""
        records: dict[str, Record] = {}
        for each in batch:
            if isinstance(each, Unreadable):
                self._report(each)
            elif isinstance(each, SkippedConversation):
                self._counts["skipped"] += 1
            elif len(each.body) > _MOST_CHARACTERS:
                self._report(Unreadable(each.key, f"It has more than {_MOST_CHARACTERS:,} characters."))
            else:
                records[self._names.id_of(each)] = each
        here = self._store.hashes_of(records)
        changed: list[tuple[Memory, LedgerEntry]] = []
        for note_id, record in records.items():
            outcome, note, entry = self._decide(note_id, record, is_here=note_id in here)
            self._counts[outcome] += 1
            if note and dry_run:
                self._coming.append((outcome, note))
            elif note and entry:
                changed.append((note, entry))
            elif entry and not dry_run:
                self._ledger(record).set(note_id, entry)
        if self._importer.is_own:
            self._accept((note, records[note.id]) for note, _ in changed)
        self._store.put_all(note for note, _ in changed)
        for note, entry in changed:
            self._ledger(records[note.id]).set(note.id, entry)

    def _accept(self, own: Iterable[tuple[Memory, Record]]) -> None:
        """Accept the user's own texts, before they are written; those of an export keep their origin."""
        given = [(without_secrets(note), ACCEPTED if record.whole else OWN) for note, record in own]
        for decision in (ACCEPTED, OWN):
            self._store.decide([note for note, each in given if each == decision], decision)

    def imported(self) -> ImportResult:
        return ImportResult(**self._counts, problems=tuple(self._problems), coming=tuple(self._coming))

    def _report(self, broken: Unreadable) -> None:
        self._counts["broken"] += 1
        if len(self._problems) < _MOST_PROBLEMS:
            place, reason = (redact(" ".join(text.split())) for text in broken)
            self._problems.append(f"{place}: {reason}")

    def _ledger(self, record: Record) -> ImportLedger:
        return self._exports if record.note_id else self._imports

    def _decide(self, note_id: str, record: Record, *, is_here: bool) -> tuple[str, Memory | None, LedgerEntry | None]:
        """The outcome of a record, the note to write if any, and its ledger entry."""
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
        new = LedgerEntry(note_digest(note), said)
        if existing is None:
            return "new", note, new
        is_same = note_digest(existing) == new.note
        if entry is None or note_digest(existing) != entry.note:
            return ("unchanged", None, new) if is_same else ("left", None, entry)
        if is_same and not entry.record:
            return "unchanged", None, new
        is_ready = record.whole and self._importer.is_own
        return "updated", note if is_ready else self._updated(existing, note, is_same=is_same), new

    def _decide_edit(self, record: Record, *, is_here: bool) -> tuple[str, Memory | None, LedgerEntry | None]:
        """The outcome of an exported file: an edit there is merged with edits here."""
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
        both = (
            merge(base, replace(there, updated_at=changed_at(existing)), existing)
            if base != existing
            else MergedNote(there)
        )
        if both.other:
            return "left", None, entry
        if whole_digest(both.note) == whole_digest(existing):
            return "unchanged", None, LedgerEntry(whole_digest(existing), said)
        note = with_mark(replace(both.note, updated_at=changed_at(existing)), EDITED_BY, "human")
        return "updated", note, LedgerEntry(whole_digest(note), said)

    def _note(self, note_id: str, record: Record, project: str) -> Memory:
        """A record as a note."""
        if record.whole:
            note = replace(record.whole, project=self._project or record.whole.project)
            return note if self._importer.is_own else self._foreign(_without_claims(note))
        note = self._new(note_id, record, project)
        if self._importer.is_own:
            return note
        known = secrets_in([record.title, record.body, *map(str, record.tags)])
        named = {"from": self._importer.name, "key": redact(record.key), **plain_fields(record.fields)}
        whole = with_origin(self._foreign(note), named)
        return replace(whole, extra={key: without_known(lines, known) for key, lines in whole.extra.items()})

    def _foreign(self, note: Memory) -> Memory:
        tags = [tag for tag in note.tags if tag not in _OURS]
        return as_foreign(replace(note, tags=[*tags, self._importer.name]), self._importer.name)

    def _new(self, note_id: str, record: Record, project: str) -> Memory:
        title, body, key, session, model, *tags = redact_all(
            [
                *(" ".join(record.title.split()), record.body.replace("\r\n", "\n").replace("\0", "").strip("\n")),
                *(cleaned_key(project), record.session, record.model),
                *(" ".join(str(tag).split()).lstrip("#") for tag in record.tags),
                json.dumps({record.key: record.fields}, default=str),
            ]
        )
        title = title or " ".join(body[:1000].split())
        created_at = _time(record.created_at) or _time(record.updated_at) or utcnow()
        return Memory(
            id=note_id,
            type=record.type if record.type in TYPES else "semantic",
            title=title[:_LONGEST_TITLE].strip() or f"From {self._importer.name}",
            body=body,
            project=key or GLOBAL,
            machine_id=self._machine.id,
            # As a file says that `anamnesis export obsidian` wrote.
            scope=SCOPES[record.fields.get("scope") == SCOPES[1]],
            tags=[tag[:_LONGEST_TAG] for tag in tags[:-1]],
            created_at=created_at,
            updated_at=max(_time(record.updated_at) or utcnow(), created_at),
            prov_source=SOURCE,
            prov_session=session,
            prov_model=model,
        )

    def _updated(self, existing: Memory, note: Memory, *, is_same: bool) -> Memory:
        """The existing note with the record's content. Changed text has to be reviewed and reflected again."""
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
            updated_at=note.updated_at if note.updated_at > existing.updated_at else changed_at(existing),
            prov_session=note.prov_session,
            prov_model=note.prov_model,
        )
        return changed if self._importer.is_own else _with_block_of(note, changed)


def edited(existing: Memory, record: Record) -> Memory:
    """A note with a person's edits from elsewhere; its provenance stays."""
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
        extra=there.extra,
    )
    clean = without_secrets(with_mark(changed, HELD, marks_of(existing).get(HELD, "")))
    known = existing.extra.values()
    return replace(clean, extra={key: text if text in known else redact(text) for key, text in clean.extra.items()})


def _without_claims(note: Memory) -> Memory:
    """A foreign note without marks and links: it can neither replace notes of ours nor be a twin of an observation."""
    clean = without_secrets(note)
    extra = {key: redact(lines) for key, lines in clean.extra.items()}
    return with_marks(replace(clean, extra=extra, supersedes="", engram={}), {})


def _with_block_of(note: Memory, changed: Memory) -> Memory:
    """The changed note with the origin of the new one, and the front matter that others added to the old one."""
    bare = with_origin(changed, {})
    extra = {key: bare.extra.get(key, "") + lines for key, lines in note.extra.items()}
    return replace(bare, extra={**bare.extra, **extra})


def _time(text: str) -> str:
    """A time in the notes' form, at most now; "" if the text is not a time."""
    try:
        moment = datetime.fromisoformat(utc_time(text))
        return min(moment.astimezone(UTC), datetime.now(UTC)).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""
