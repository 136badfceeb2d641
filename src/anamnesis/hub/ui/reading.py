"""The pages about notes: home, search and lists, a note, its versions, and what waits for a decision."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from anamnesis.errors import NoteConflict
from anamnesis.history.diffs import differing
from anamnesis.hub import search, versions
from anamnesis.hub.accounts import list_invitations
from anamnesis.hub.refusal import Refusal
from anamnesis.hub.routes import number_in
from anamnesis.hub.search_routes import excerpt, shown
from anamnesis.hub.store import SharedNote, marked_by_itself
from anamnesis.hub.ui.visit import Data, Form, Next, Page, Visit
from anamnesis.notes import as_dict, parse
from anamnesis.notes.acceptance import text_of
from anamnesis.notes.foreign import shown_origin
from anamnesis.web.ui.action import FormInput
from anamnesis.web.ui.markdown import rendered

_RECENT, _PAGE, _MOST_PAGES = 12, 30, 100
_MOST_VERSIONS = 30
_MOST_REVIEWED = 100
_RELATED = 5


def home(visit: Visit) -> Data:
    """The newest notes, the caller's spaces, and how much waits for a decision."""
    sizes = visit.store.sizes()
    return {
        "total": sum(sizes.values()),
        "spaces": spaces_of(visit),
        "recent": _rows(visit, visit.store.list(limit=_RECENT)),
        "conflicts": len(visit.store.conflicts(_MOST_REVIEWED)),
        "waiting": len(visit.store.waiting(_MOST_REVIEWED)),
        "invitations": len(list_invitations(visit.db)),
    }


def spaces_of(visit: Visit) -> list[Data]:
    sizes = visit.store.sizes()
    return [
        {"name": held.name, "role": held.role, "notes": sizes.get(held.id, 0), "projects": held.projects}
        for held in visit.caller.spaces.values()
    ]


def notes(visit: Visit) -> Data:
    """What was found, by rank, or all notes, the newest first."""
    filters: dict[str, Any] = {name: visit.query.get(name) or None for name in ("space", "project", "type")}
    query, number = visit.query.get("q", "").strip(), _page(visit)
    names = [*visit.caller.spaces]
    if query:
        hits = visit.store.hits(query[:10_000], k=search.MOST_HITS, **filters)
        some = hits[(number - 1) * _PAGE : number * _PAGE]
        found = [{**shown(hit, query), "reason": _space(hit.memory)} for hit in some]
        return {"notes": found, "total": len(hits), "page": number, "more": len(hits) > number * _PAGE, "names": names}
    some_notes = visit.store.list(**filters, limit=_PAGE + 1, offset=(number - 1) * _PAGE)
    return {
        "notes": _rows(visit, some_notes[:_PAGE]),
        "total": visit.store.count(**filters),
        "page": number,
        "more": len(some_notes) > _PAGE,
        "names": names,
    }


def note(visit: Visit) -> Data:
    """A note with its last version, its marks, and notes about the same."""
    found = visit.store.get(visit.path["id"], space=visit.query.get("space") or None)
    held = visit.caller.spaces[found.space]
    last = versions.current_version(visit.db, held, found.id)
    origin = visit.store.origins([found]).get(found.id)
    return {
        "origin": origin.sentence if origin else "",
        "note": {
            **as_dict(found),
            **(origin.shown() if origin else {}),
            "space": found.space,
            "version": found.version,
        },
        "html": str(rendered(found.body)),
        "text": last.text or "",
        "last": {"author": last.author, "machine": last.machine, "at": last.at},
        "marks": marked_by_itself(found).sentences(),
        "related": [
            {"id": hit.memory.id, "title": hit.memory.title, "space": _space(hit.memory), **hit.marks.shown()}
            for hit in visit.store.related(found.id, k=_RELATED)
        ],
        "may_write": not visit.caller.refusal(held, "writer"),
    }


def history(visit: Visit) -> Data:
    """The last versions, each with what it changed."""
    held = visit.caller.space(visit.query.get("space", ""))
    id = visit.path["id"]
    texts = versions.version_texts(visit.db, visit.caller, held, id, _MOST_VERSIONS + 1)
    listed = versions.list_versions(visit.db, visit.caller, held, id, _MOST_VERSIONS)
    older = dict(pairwise(texts))
    for each in listed:
        before = texts[older[each["version"]]] if each["version"] in older else None
        each["diff"] = differing(before or "", texts.get(each["version"]) or "")
    found = visit.store.find(id, space=held.name)
    return {
        "id": id,
        "space": held.name,
        "title": found.title if found else id,
        **(shown_origin(visit.store.origins([found]), found) if found else {}),
        "versions": listed,
        "may_write": not visit.caller.refusal(held, "writer"),
    }


def review(visit: Visit) -> Data:
    """What a person decides: conflicts in the spaces that the caller may write, unreviewed notes, and redactions."""
    rows = visit.db.execute(
        """
        SELECT v.space, v.id, v.author, v.at, n.title FROM anamnesis.notes n
        JOIN anamnesis.versions v ON v.space = n.space AND v.id = n.id AND v.version = n.version
        WHERE n.space = ANY (%(spaces)s) AND v.redacted AND NOT n.deleted AND v.at > now() - interval '30 days'
        ORDER BY v.at DESC LIMIT %(most)s
        """,
        {"spaces": [held.id for held in visit.caller.spaces.values()], "most": _MOST_REVIEWED},
    )
    names = {held.id: held.name for held in visit.caller.spaces.values()}
    redacted = [{**row, "space": names[row["space"]], "at": versions.moment(row["at"])} for row in rows]
    found = visit.store.waiting(_MOST_REVIEWED)
    waiting = [
        {**row, "html": str(rendered(each.body)), "seen": text_of(each).digest}
        for each, row in zip(found, _rows(visit, found), strict=True)
    ]
    conflicts = _rows(visit, visit.store.conflicts(_MOST_REVIEWED))
    return {"conflicts": conflicts, "waiting": waiting, "redacted": redacted}


def decide(visit: Visit, given: FormInput) -> Next:
    """Accept a note that waits for the caller's review, or delete it for everybody."""
    found = visit.store.get(given.path["id"], space=given.text("space") or None)
    decision = given.text("decision")
    if decision not in ("accept", "reject"):
        raise Refusal(f"{decision[:40]!r} is neither accept nor reject.")
    origin = visit.store.origins([found]).get(found.id)
    if not origin or not origin.needs_review:
        raise Refusal(f"The note {found.id} needs no review.")
    if decision == "reject":
        visit.caller.space(found.space, "writer")
        return delete(visit, given)._replace(page="review")
    if given.text("seen") not in ("", text_of(found).digest):
        raise NoteConflict(f"The note {found.id} has changed since you saw it.", "Read it again before you accept it.")
    visit.store.accept(found)
    return Next("review", f"Accepted “{found.title}”.")


def delete(visit: Visit, given: FormInput) -> Next:
    """Delete a note for everybody who shares its space. Who wrote its versions, or deletes it, can still read them."""
    note = visit.store.delete(given.path["id"], space=given.text("space") or None)
    whose = "" if note.space == visit.caller.personal else f" for everybody in {note.space}"
    return Next(
        f"notes/{note.id}/history?space={note.space}", f"Deleted “{note.title}”{whose}. Its versions stay here."
    )


def restore(visit: Visit, given: FormInput) -> Next:
    """Write an earlier version again. If another member took the note out of the space, it is a note of one's own."""
    held = visit.caller.space(given.text("space"), "writer")
    number = number_in(given.text("version"))
    if number is None:
        raise Refusal(f"{given.text('version')[:40]!r} is not a version.")
    id = given.path["id"]
    old = versions.past_version(visit.db, visit.caller, held, id, number)
    if old.text is None:
        raise Refusal("This version has no text.")
    last = versions.current_version(visit.db, held, id)
    if last.text is None and last.author != visit.caller.name and held.name != visit.caller.personal:
        own = visit.store.keep_copy(held.name, parse(old.text))
        taker = last.author or "An administrator"
        told = f"{taker} took the note out of {held.name}: version {number} is a note of your own."
        return Next(f"notes/{own.id}?space={own.space}", told)
    visit.store.put_text(held.name, id, last.version, old.text)
    return Next(f"notes/{id}?space={held.name}", f"Version {number} is restored.")


def _rows(visit: Visit, notes: Sequence[SharedNote]) -> list[dict[str, Any]]:
    """Notes as lists show them."""
    origins = visit.store.origins(notes)
    return [
        {
            **as_dict(note, body=False),
            **shown_origin(origins, note),
            "space": note.space,
            "excerpt": excerpt(note.body, ""),
            "reason": note.space,
        }
        for note in notes
    ]


def _space(note: object) -> str:
    return str(getattr(note, "space", ""))


def _page(visit: Visit) -> int:
    text = visit.query.get("page", "1")
    number = number_in(text)
    if number is None or not 1 <= number <= _MOST_PAGES:
        raise Refusal(f"{text[:40]!r} is not a page.", f"There are up to {_MOST_PAGES}: search for what is older.")
    return number


PAGES = [
    Page("/", "hub/home.html", home),
    Page("/notes", "hub/notes.html", notes),
    Page("/notes/{id}", "hub/note.html", note),
    Page("/notes/{id}/history", "hub/history.html", history),
    Page("/review", "hub/review.html", review),
]
FORMS = [
    Form("/notes/{id}/delete", delete),
    Form("/notes/{id}/restore", restore),
    Form("/review/notes/{id}", decide),
]
