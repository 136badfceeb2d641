"""`anamnesis inject`: the notes for a session that starts, resumes, was cleared or was compacted."""

from __future__ import annotations

from anamnesis.bridge import open_memory
from anamnesis.config import resolve_budget, resolve_home, setting
from anamnesis.hooks.event import Event, text_of, working_folder
from anamnesis.hooks.told import tell
from anamnesis.inject import render_inject, resolve_project_key, select_inject
from anamnesis.notes.fence import ids_in

# A session that begins anew in the same place a moment later.
_GOING_ON = ("clear", "compact")


def inject(event: Event, options: dict[str, str]) -> str:
    """What the session is told."""
    home = resolve_home()
    project = options.get("project") or resolve_project_key(working_folder(event))
    given = options.get("budget")
    budget = int(setting("inject_budget").check(given)) if given else resolve_budget()
    with open_memory(home, only_to_read=True) as store:
        notes = select_inject(store, project=project)
    shown = render_inject(notes, budget)
    if "sync" in options and text_of(event, "source") not in _GOING_ON:
        from anamnesis.later import run_later

        run_later("sync")
    session = text_of(event, "session_id")
    tell(home, session, ids_in(shown))
    return shown
