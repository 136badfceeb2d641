"""The one note of a session: found again by an id that the session itself determines."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from anamnesis.capture.session import ParsedSession
from anamnesis.capture.summary import UNTITLED, Summarizer, SummaryResult, is_trivial_session
from anamnesis.errors import NoteNotFound
from anamnesis.notes import Memory, ulid
from anamnesis.notes.redaction import redact
from anamnesis.store import MemoryStore
from anamnesis.store.ids import utcnow

_SOURCE = "session-end"
_CAPTURES = ("session-end", "precompact")
_LEFT_ALONE = "edited"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNKNOWN_START = datetime(2020, 1, 1, tzinfo=UTC)


def write_episodic(
    store: MemoryStore,
    session: ParsedSession,
    *,
    summarizer: Summarizer,
    project: str,
    source: str,
    machine_id: str,
) -> Memory | None:
    """Write the session's note or bring it up to date; None if there is to be none.

    A note that somebody made their own stays as it is, and one that they deleted stays deleted.
    """
    if is_trivial_session(session):
        return None
    note_id = _note_id(session)
    existing = _existing(store, note_id)
    if existing and (_LEFT_ALONE in existing.tags or existing.prov_source != _SOURCE):
        return existing
    if not existing and any(trashed.id == note_id for trashed in store.trashed()):
        return None
    summary = summarizer.summarize(_without_secrets(session))
    if summary is None:
        return None
    if existing:
        return store.update(
            note_id,
            title=_title(summary),
            body=summary.body,
            tags=_tags(existing.tags, source),
            prov_model=summary.prov_model,
        )
    now = utcnow()
    return store.put(
        Memory(
            id=note_id,
            type="episodic",
            title=_title(summary),
            body=summary.body,
            project=project,
            machine_id=machine_id,
            tags=_tags([], source),
            created_at=now,
            updated_at=now,
            prov_source=_SOURCE,
            prov_model=summary.prov_model,
            prov_session=session.session_id,
        )
    )


def _without_secrets(session: ParsedSession) -> ParsedSession:
    """Secrets are taken out before a text is clipped: half of one is not recognised any more."""
    return replace(
        session,
        first_prompt=redact(session.first_prompt),
        last_outcome=redact(session.last_outcome),
        prompts=[redact(prompt) for prompt in session.prompts],
    )


def _existing(store: MemoryStore, note_id: str) -> Memory | None:
    try:
        return store.get(note_id)
    except NoteNotFound:
        return None


def _note_id(session: ParsedSession) -> str:
    """The same for each capture of a session: of its start and a hash of its id, or of what it says."""
    name = session.session_id or "\n".join((session.cwd, session.first_prompt, session.last_outcome))
    digest = hashlib.blake2b(f"session:{name}".encode("utf-8", "surrogatepass"), digest_size=10).digest()
    return ulid(_milliseconds(session.started_at), int.from_bytes(digest))


def _milliseconds(stamp: str) -> int:
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        moment = _UNKNOWN_START
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (max(moment, _EPOCH) - _EPOCH) // timedelta(milliseconds=1)


def _title(summary: SummaryResult) -> str:
    return summary.title if summary.title.strip() else UNTITLED


def _tags(tags: list[str], source: str) -> list[str]:
    """The tags of this capture before those that others gave; once a session has ended, it has."""
    source = _SOURCE if _SOURCE in tags else source
    return ["session", source, *(tag for tag in tags if tag not in ("session", source, *_CAPTURES))]
