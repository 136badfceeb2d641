"""The page of one note, and of its history."""

from __future__ import annotations

import time

from anamnesis.errors import NoteNotFound
from anamnesis.history.diffs import beside
from anamnesis.notes import Memory, as_dict, check_id, render
from anamnesis.notes.links import named
from anamnesis.notes.marks import LINKS, marks_of
from anamnesis.store import MemoryStore
from anamnesis.store.deleted import deleted_notes
from anamnesis.store.facets import links, named_notes
from anamnesis.store.spaces import shared_space_of
from anamnesis.store.use_report import use_report
from anamnesis.timeline import names_of
from anamnesis.web.guard import PAGES
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.action import seen
from anamnesis.web.ui.markdown import rendered
from anamnesis.web.ui.timeline import turn
from anamnesis.web.ui.view import Data, PageRequest, Site, View

_RELATED = 6


def _read(site: Site, request: PageRequest) -> Data:
    store = site.vault.notes
    note = find_note(store, check_id(request.path["id"]))
    origin = store.origins([note]).get(note.id)
    related = store.related(note.id, k=_RELATED, warm=True)
    known = named_notes(store, named(note.body))
    linked = links(store, note.id, note.title, known.values())
    names = names_of(store, [link.id for link in linked])

    def address(name: str) -> str | None:
        return f"{PAGES}/notes/{known[name]}" if name in known else None

    return {
        "note": as_dict(note) | (origin.shown() if origin else {}),
        "origin": origin.sentence if origin else "",
        "space": shared_space_of(store, note),
        "html": str(rendered(note.body, address)),
        "marks": _marks(store, note),
        "turn": turn(site.lanes.connection(), note) if site.lanes.has_engram else None,
        "links": [link._asdict() | names[link.id] for link in linked],
        "related": [
            {"id": hit.memory.id, "title": hit.memory.title, "score": round(hit.score, 3), **hit.marks.shown()}
            for hit in related
        ],
        "use": _use(store, note),
        "text": render(note),
    }


def find_note(store: MemoryStore, note_id: str) -> Memory:
    """The note of a page; the error for a deleted one names the trash."""
    try:
        return store.get(note_id)
    except NoteNotFound as error:
        if any(each.id == note_id for each in deleted_notes(store)):
            raise NoteNotFound(
                f"The note {note_id} is in the trash.", "Restore it on the page of the trash."
            ) from error
        raise


def _marks(store: MemoryStore, note: Memory) -> list[Data]:
    """The marks of a note, with the titles of the notes that they name."""
    marks = marks_of(note)
    titles = store.ranking.headings([id for name in LINKS for id in marks.get(name, "").split()])
    return [
        {
            "name": name,
            "text": "" if name in LINKS else text,
            "notes": [
                {"id": id, "title": titles.get(id, {}).get("title", id)}
                for id in (text.split() if name in LINKS else ())
            ],
        }
        for name, text in marks.items()
    ]


def _use(store: MemoryStore, note: Memory) -> Data:
    """The uses of the note: kind, session and time."""
    store.usage.take_in()
    return use_report(note, store.usage.of([note.id]).get(note.id), store.usage.events(note.id), time.time())


def _history(site: Site, request: PageRequest) -> Data:
    note_id = check_id(request.path["id"])
    revisions = site.vault.history(note_id)
    if not revisions:
        raise NoteNotFound(f"No note has the id {note_id}.", "The list of notes shows the ids.")
    last = next((each.version for each in reversed(revisions) if each.version.note), None)
    return {
        "id": note_id,
        "title": last.note.title if last and last.note else note_id,
        **(last.origin.shown() if last and last.origin else {}),
        "revisions": [
            {
                "number": each.number,
                "at": each.version.at,
                "source": each.version.source,
                "by": each.version.by,
                "commit": each.version.commit,
                "summary": each.summary,
                "diff": each.diff,
                "seen": seen(each.version.text),
                "beside": beside(each.before.text if each.before else "", each.version.text),
                **(each.version.origin.shown() if each.version.origin else {}),
            }
            for each in reversed(revisions)
        ],
    }


VIEWS = (
    View("/notes/{id}", "note.html", _read, Lane.SEARCH),
    View("/notes/{id}/history", "history.html", _history, Lane.GIT),
)
