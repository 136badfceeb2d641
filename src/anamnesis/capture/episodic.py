"""Writes the one note of a session. Its id is derived from the session, so a later capture updates the same note."""

from __future__ import annotations

from dataclasses import replace

from anamnesis.capture.session import ParsedSession
from anamnesis.capture.summary import UNTITLED, Summarizer, SummaryResult, is_trivial_session
from anamnesis.log import log
from anamnesis.notes import REFLECTED, Memory, derived_id, has_time
from anamnesis.notes.marks import HELD, hold, marks_of, with_mark
from anamnesis.notes.orders import why_dangerous
from anamnesis.notes.redaction import redact, secrets_in, without_known
from anamnesis.notes.spaces import with_space
from anamnesis.store import MemoryStore
from anamnesis.store.ids import id_of_record, utcnow
from anamnesis.store.tombstones import is_purged

_SOURCE = "session-end"
_CAPTURES = ("session-end", "precompact")
_EDITED = "edited"


def write_episodic(
    store: MemoryStore,
    session: ParsedSession,
    *,
    summarizer: Summarizer,
    project: str,
    source: str,
    machine_id: str,
    space: str = "",
) -> Memory | None:
    """Write or update the session's note; None if the session gets no note. A new note names `space`, if given.

    A note that the user edited is not changed, and one that the user deleted is not written again.
    """
    if _is_unread(store, session) or is_trivial_session(session):
        return None
    note_id = _note_id(store, session)
    existing = store.find(note_id)
    if existing and (_EDITED in existing.tags or existing.prov_source != _SOURCE):
        return existing
    if not existing and _is_deleted(store, note_id):
        return None
    session = redacted(session)
    summary = summarizer.summarize(session)
    if summary is None:
        return None
    extra = _held(existing, session, summary)
    if existing:
        return store.update(
            note_id,
            extra=extra,
            title=_title(summary),
            body=summary.body,
            tags=_tags(_valid_tags(existing, summary), source),
            prov_model=summary.prov_model,
        )
    now = utcnow()
    note = Memory(
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
        extra=extra,
    )
    return store.put(with_space(note, space) if space else note)


def _held(existing: Memory | None, session: ParsedSession, summary: SummaryResult) -> dict[str, str]:
    """The front matter of the session's note, with a mark if its agent said what no later session may be told as it is.

    The user's own messages are not judged: what a person types is no agent's order.
    """
    told = [session.last_outcome, *(each.text for each in session.statements if not each.by_user)]
    reason = why_dangerous("\n".join([*told, *([summary.body] if summary.prov_model else [])]))
    note = existing or Memory("", "episodic", "", "")
    is_new = reason and HELD not in marks_of(note)
    return with_mark(note, HELD, hold(reason, session.model)).extra if is_new else note.extra


def _is_deleted(store: MemoryStore, note_id: str) -> bool:
    return is_purged(store.root, note_id) or any(trashed.id == note_id for trashed in store.trashed())


def _is_unread(store: MemoryStore, session: ParsedSession) -> bool:
    """Whether the transcript could not be read; the reason is logged."""
    if session.problem:
        log(store.root, "transcript not read", reason=session.problem)
    return bool(session.problem)


def redacted(session: ParsedSession) -> ParsedSession:
    """The session without secrets: what one of its texts reveals as a secret is removed from all.

    Redaction comes before clipping: half a secret is no longer recognised.
    """
    known = secrets_in([session.first_prompt, session.last_outcome, *session.prompts, *session.answers])

    def clean(text: str) -> str:
        text = redact(text)
        return without_known(text, known) if known else text

    return replace(
        session,
        first_prompt=clean(session.first_prompt),
        last_outcome=clean(session.last_outcome),
        prompts=[*map(clean, session.prompts)],
        statements=[replace(each, text=clean(each.text)) for each in session.statements],
        git_branch=clean(session.git_branch),
        files_touched=[*map(clean, session.files_touched)],
        files_created=[*map(clean, session.files_created)],
    )


def _note_id(store: MemoryStore, session: ParsedSession) -> str:
    """An id that every capture of the session derives alike: from its start and id, or from its content."""
    content = session.session_id or "\n".join((session.cwd, session.first_prompt, session.last_outcome))
    name = f"session:{content}"
    by_start = derived_id(session.started_at, name)
    return by_start if has_time(by_start) else id_of_record(store, name, utcnow())


def _title(summary: SummaryResult) -> str:
    return summary.title if summary.title.strip() else UNTITLED


def _valid_tags(existing: Memory, summary: SummaryResult) -> list[str]:
    """The tags that still hold: the additions of a resumed session have not been reflected yet."""
    return [tag for tag in existing.tags if tag != REFLECTED or summary.body == existing.body]


def _tags(tags: list[str], source: str) -> list[str]:
    """The tags of this capture, then the other tags. `session-end` is never replaced by `precompact`."""
    source = _SOURCE if _SOURCE in tags else source
    return ["session", source, *(tag for tag in tags if tag not in ("session", source, *_CAPTURES))]
