"""A conversation as an episode, by the rules of captured sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from anamnesis.capture import HeuristicSummarizer, is_trivial_session
from anamnesis.capture.draft import Draft
from anamnesis.capture.episodic import redacted
from anamnesis.importers.foreign_record import Record, SkippedConversation


class Message(NamedTuple):
    """A message of the user or the model."""

    by_user: bool
    texts: list[str]
    time: str = ""


def episode(
    key: str,
    messages: Iterable[Message],
    *,
    title: str = "",
    created_at: str = "",
    updated_at: str = "",
    model: str = "",
    fields: Mapping[str, Any] | None = None,
) -> Record | SkippedConversation:
    """The record of a conversation, unless it is trivial. A title of the export is kept."""
    draft = Draft()
    draft.place(session_id=key, started_at=created_at)
    for message in messages:
        if message.by_user:
            draft.ask(message.texts, message.time)
        else:
            draft.answer(message.texts, message.time)
    session = draft.session("")
    summary = None if is_trivial_session(session) else HeuristicSummarizer().summarize(redacted(session))
    if summary is None:
        return SkippedConversation(key)
    return Record(
        key=key,
        title=title.strip() or summary.title,
        body=summary.body,
        type="episodic",
        created_at=created_at or session.started_at,
        updated_at=updated_at or session.ended_at,
        tags=["session"],
        session=key,
        model=model,
        fields=fields or {},
    )
