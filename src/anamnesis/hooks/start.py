"""`anamnesis inject`: the notes for a session that starts, resumes, was cleared or was compacted."""

from __future__ import annotations

from pathlib import Path

from anamnesis.at_hand import at_hand
from anamnesis.config import Settings, setting
from anamnesis.hooks.event import Event, text_of, working_folder
from anamnesis.hooks.received import record_received, record_told
from anamnesis.inject import render_inject, select_inject
from anamnesis.notes.fence import ids_in
from anamnesis.project import MARKER, find_project
from anamnesis.store.recording import record
from anamnesis.store.spaces import spaces_of_project
from anamnesis.vault import open_vault
from anamnesis.working_copies import remember

# Sources of events within a running session.
_SAME_SESSION = ("clear", "compact")
# Quotes nothing from the marker, which may come from a hostile clone.
_UNTRUSTED = (
    f"Anamnesis injected no notes of the project that {MARKER} names: git tracks that file, and it contradicts the git"
    " remote. The user can run `anamnesis project` to compare them, and `anamnesis project trust` to accept the file.\n"
)


# What a session is told once, before it writes anything.
_SHARED = (
    "Anamnesis: this project belongs to the space {}, whose members read what `memory_write` writes about it and the"
    ' summary of this session. Tell the user; `memory_write` with space "~" keeps a note private.\n'
)


def inject(event: Event, options: dict[str, str], settings: Settings) -> str:
    """The context for the session."""
    project, notice, hints = options.get("project", ""), "", list[str]()
    if not project:
        folder = Path(working_folder(event))
        found = find_project(folder, settings.home, settings.user_home)
        project, notice, hints = found.key, _UNTRUSTED if found.ignored else "", at_hand(folder)
        remember(settings.home, found, folder)
    given = options.get("budget")
    budget = int(setting("inject_budget").check(given)) if given else settings.inject_budget
    with open_vault(settings, only_to_read=True, light=True) as vault:
        spaces = spaces_of_project(vault.notes, project)
        notes = select_inject(vault.notes, project=project, budget=budget, at_hand=hints)
    session = text_of(event, "session_id")
    if len(spaces) == 1:
        notice += _SHARED.format(*spaces)
        record_told(settings.home, session, *spaces)
    shown = notice + render_inject(notes, budget - len(notice))
    if "sync" in options and text_of(event, "source") not in _SAME_SESSION:
        from anamnesis.process import run_in_background

        run_in_background("sync")
    ids = ids_in(shown)
    record_received(settings.home, session, ids)
    record(settings.home, "injected", ids, session)
    return shown
