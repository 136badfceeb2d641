"""`anamnesis recall`: the notes that a prompt is about; none for most prompts."""

from __future__ import annotations

from anamnesis.config import TREES, Settings
from anamnesis.hooks.event import Event, text_of, working_folder
from anamnesis.hooks.hosts import STARTS_AT_PROMPT
from anamnesis.recall.relevance import subject

# A prompt is a question, not a document: pasted text after it is not part of the query.
_LONGEST_QUERY = 2_000


def recall(event: Event, options: dict[str, str], settings: Settings) -> str:
    """The context to add to a prompt, after that of the start where a host takes it only here."""
    return _start(event, options, settings) + _recalled(event, options, settings)


def _start(event: Event, options: dict[str, str], settings: Settings) -> str:
    if text_of(event, "host") not in STARTS_AT_PROMPT:
        return ""
    from anamnesis.hooks.start import inject
    from anamnesis.hooks.told import is_told

    return (
        "" if is_told(settings.home, text_of(event, "session_id")) else inject(event, {**options, "sync": ""}, settings)
    )


def _recalled(event: Event, options: dict[str, str], settings: Settings) -> str:
    prompt = text_of(event, "prompt")[:_LONGEST_QUERY]
    home = settings.home
    if not subject(prompt) or not any((home / tree).is_dir() for tree in TREES.values()):
        return ""
    # Most prompts are about nothing that a note could hold, and need not wait for these.
    from anamnesis.hooks.told import tell, told
    from anamnesis.inject import render_recall, select_recall
    from anamnesis.project import find_project
    from anamnesis.store.recording import record
    from anamnesis.vault import open_vault

    session = text_of(event, "session_id")
    known = told(home, session)
    project = options.get("project") or find_project(working_folder(event), home, settings.user_home).key
    with open_vault(settings, only_to_read=True, light=True) as vault:
        notes = select_recall(vault.notes, prompt, project=project, known=known)
    if notes:
        ids = {note.id for note in notes}
        tell(home, session, known | ids)
        record(home, "recalled", ids, session)
    return render_recall(notes)
