"""`anamnesis recall`: the notes that a prompt is about; none for most prompts."""

from __future__ import annotations

from anamnesis.config import TREES, Settings
from anamnesis.hooks.event import Event, text_of, working_folder
from anamnesis.hooks.hosts import STARTS_AT_PROMPT
from anamnesis.recall.relevance import LONGEST_QUERY, subject


def recall(event: Event, options: dict[str, str], settings: Settings) -> str:
    """The context to add to a prompt, with that of the session's start for hosts that accept it only here."""
    return _start(event, options, settings) + _recalled(event, options, settings)


def _start(event: Event, options: dict[str, str], settings: Settings) -> str:
    if text_of(event, "host") not in STARTS_AT_PROMPT:
        return ""
    from anamnesis.hooks.received import has_started
    from anamnesis.hooks.start import inject

    return (
        ""
        if has_started(settings.home, text_of(event, "session_id"))
        else inject(event, {**options, "sync": ""}, settings)
    )


def _recalled(event: Event, options: dict[str, str], settings: Settings) -> str:
    prompt = text_of(event, "prompt")[:LONGEST_QUERY]
    home = settings.home
    if not subject(prompt) or not any((home / tree).is_dir() for tree in TREES.values()):
        return ""
    # Imported here, as most prompts end above.
    from anamnesis.hooks.received import received_notes, record_received
    from anamnesis.inject import render_recall, select_recall
    from anamnesis.project import find_project
    from anamnesis.store.recording import record
    from anamnesis.vault import open_vault

    session = text_of(event, "session_id")
    known = received_notes(home, session)
    project = options.get("project") or find_project(working_folder(event), home, settings.user_home).key
    with open_vault(settings, only_to_read=True, light=True) as vault:
        notes = select_recall(vault.notes, prompt, project=project, known=known)
    if notes:
        ids = {note.id for note in notes}
        record_received(home, session, known | ids)
        record(home, "recalled", ids, session)
    return render_recall(notes)
