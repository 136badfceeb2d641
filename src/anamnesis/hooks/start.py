"""`anamnesis inject`: the notes for a session that starts, resumes, was cleared or was compacted."""

from __future__ import annotations

from pathlib import Path

from anamnesis.at_hand import at_hand
from anamnesis.config import Settings, setting
from anamnesis.hooks.event import Event, text_of, working_folder
from anamnesis.hooks.received import record_received, record_told
from anamnesis.inject import notice_of, session_start
from anamnesis.project import find_project
from anamnesis.store.recording import record
from anamnesis.vault import open_vault
from anamnesis.working_copies import remember

# Sources of events within a running session.
_SAME_SESSION = ("clear", "compact")


def inject(event: Event, options: dict[str, str], settings: Settings) -> str:
    """The context for the session."""
    project, notice, hints = options.get("project", ""), "", list[str]()
    if not project:
        folder = Path(working_folder(event))
        found = find_project(folder, settings.home, settings.user_home)
        project, notice, hints = found.key, notice_of(found), at_hand(folder)
        remember(settings.home, found, folder)
    given = options.get("budget")
    budget = int(setting("inject_budget").check(given)) if given else settings.inject_budget
    with open_vault(settings, only_to_read=True, light=True) as vault:
        start = session_start(vault.notes, project=project, budget=budget, at_hand=hints, notice=notice)
    if "sync" in options and text_of(event, "source") not in _SAME_SESSION:
        from anamnesis.process import run_in_background

        run_in_background("sync")
    session = text_of(event, "session_id")
    if start.space:
        record_told(settings.home, session, start.space)
    record_received(settings.home, session, start.told)
    record(settings.home, "injected", start.told, session)
    return start.text
