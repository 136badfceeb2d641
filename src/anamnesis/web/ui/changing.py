"""Changes by a person: a new note, an edit, many notes at once, the trash; and undo."""

from __future__ import annotations

import re
from dataclasses import replace

from anamnesis import editing, review
from anamnesis.dream import reviewing
from anamnesis.errors import InvalidArgument
from anamnesis.exchange.standing import departures
from anamnesis.history import restoring
from anamnesis.history.diffs import beside, text_of
from anamnesis.notes import PINNED, SCOPES, Memory, check_id, parse, render
from anamnesis.notes.authorship import as_edited
from anamnesis.plain import one_line
from anamnesis.plural import counted
from anamnesis.store import MemoryStore, changeset
from anamnesis.store.facets import named_note
from anamnesis.store.ids import changed_at
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.action import Action, FormInput, NextPage, ShownPage, own_page
from anamnesis.web.ui.markdown import rendered
from anamnesis.web.ui.view import Data, PageRequest, Site, View

_KIND = "edit"
_LONGEST = 80
# The characters that HTML cannot hold; a browser sends U+FFFD instead.
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_BLANK = Memory(id="", type="semantic", title="", body="", machine_id="")


def _new(site: Site, request: PageRequest) -> Data:
    project = request.query.get("project") or "global"
    draft = _draft(replace(_BLANK, project=project, title=request.query.get("title", "")))
    return {"draft": draft, "projects": sorted(site.vault.notes.projects()), "preview": "", "fault": ""}


def _create(site: Site, form: FormInput) -> NextPage | ShownPage:
    if form.text("preview"):
        shown = _new_again(form, "")
        return ShownPage(shown.template, {**shown.data, "preview": str(rendered(form.text("body")))})
    draft = {name: _lines(form.text(name)) for name in ("title", "body", "type", "project", "scope")}
    tags = form.text("tags").replace(",", " ").split()
    note = site.vault.write(tags=tags, machine_id=site.settings.machine_id, **draft)  # type: ignore[arg-type]
    return NextPage(f"notes/{note.id}", "Saved.")


def _new_again(form: FormInput, fault: str) -> ShownPage:
    draft = {name: form.text(name) for name in ("title", "body", "type", "project", "scope", "tags")}
    return ShownPage("new.html", {"draft": draft, "projects": [], "preview": "", "fault": fault}, 400 if fault else 200)


def _draft(note: Memory) -> Data:
    fields = {name: getattr(note, name) for name in ("title", "body", "type", "project", "scope")}
    return {**fields, "tags": " ".join(note.tags)}


def _edit(site: Site, request: PageRequest) -> Data:
    note = site.vault.get(check_id(request.path["id"]))
    return _form(note.id, render(note), render(note), title=note.title)


def _form(note_id: str, text: str, base: str, **also: object) -> Data:
    """The form that edits a note; `theirs` compares the typed text with the current note."""
    blank = {"title": note_id, "theirs": [], "preview": "", "fault": ""}
    return {**blank, "id": note_id, "text": text, "base": base, **also}


def _edit_again(form: FormInput, fault: str) -> ShownPage:
    return ShownPage(
        "edit.html", _form(form.path["id"], _lines(form.text("text")), form.text("base"), fault=fault), 400
    )


def _save(site: Site, form: FormInput) -> NextPage | ShownPage:
    """Save an edit. If the note has changed since it was opened, both changes are merged and shown again."""
    note_id = check_id(form.path["id"])
    text, base = _lines(form.text("text")), _lines(form.text("base"))
    if form.text("preview"):
        note = editing.parse_edited(note_id, text)
        return ShownPage("edit.html", _form(note_id, text, base, title=note.title, preview=str(rendered(note.body))))
    now = site.vault.get(note_id)
    current = render(now)
    if _as_sent(current) == base:
        editing.save_text(site.vault.notes, now, text.replace("\n", "\r\n") if "\r\n" in now.body else text)
        return NextPage(f"notes/{note_id}", "Saved.")
    mine, theirs = editing.parse_edited(note_id, text), parse(_as_sent(current))
    opened = parse(base)
    title = theirs.title if mine.title == opened.title else mine.title  # the page shows the other title beside
    both = editing.merged_edit(opened, *(replace(each, title=title) for each in (mine, theirs)))
    merged = replace(both.note, body=both.note.body if both.other is None else _both_bodies(mine, theirs))
    compared = beside(text_of(mine), text_of(theirs))
    return ShownPage("edit.html", _form(note_id, render(merged), current, title=merged.title, theirs=compared), 409)


def _both_bodies(mine: Memory, theirs: Memory) -> str:
    """Both texts, if the same lines were changed, for the user to decide."""
    return f"{mine.body.rstrip()}\n\n---\n\n{theirs.body}"


def _lines(text: str) -> str:
    """A form's text, with LF as line ends."""
    return text.replace("\r\n", "\n")


def _as_sent(text: str) -> str:
    """A text as a form sends it back: with line feeds, and without characters that HTML cannot hold."""
    return _UNSENDABLE.sub("\ufffd", _lines(text).replace("\r", "\n"))


def _change_many(site: Site, form: FormInput) -> NextPage:
    """Tag, pin, move or delete the chosen notes, as one change that can be undone."""
    store = site.vault.notes
    ids = [check_id(id) for id in dict.fromkeys(form.texts("id"))]
    back = _back(form)
    if not ids:
        raise InvalidArgument("No note is chosen.", "Check the boxes of some notes first.")
    what = form.text("what")
    if what == "delete":
        for id in ids:
            site.vault.delete(id)
        said = [
            f"{counted(len(ids), 'note is', 'notes are')} in the trash.",
            *departures(store.root, ids, deletes=True),
        ]
        return NextPage(back, " ".join(said), f"trash {' '.join(ids)}")
    change = _change_of(what, form.text("value").strip())
    notes = [store.get(id) for id in ids]
    pairs = [(note, replace(note, **change(note))) for note in notes]
    edits = what not in ("pin", "unpin")  # pinning does not make the note the user's own
    after = [
        replace(as_edited(old, new) if edits else new, updated_at=changed_at(old)) for old, new in pairs if new != old
    ]
    if not after:
        return NextPage(back, "Nothing had to change.")
    made = changeset.apply(store, after, kind=_KIND, reason=f"{what.capitalize()} by a person.")
    local = [note.id for note in after if note.scope == SCOPES[1]]
    said = [f"{counted(len(after), 'note is', 'notes are')} changed.", *departures(store.root, local)]
    return NextPage(back, " ".join(said), made.id)


def _change_of(what: str, value: str) -> editing.Change:
    if what in ("pin", "unpin"):
        return (editing.with_tags if what == "pin" else editing.without_tags)([PINNED])
    if what in ("tag", "untag"):
        return (editing.with_tags if what == "tag" else editing.without_tags)([value])
    if what in ("project", "type", "scope") and value:
        return lambda _: {what: value}
    raise InvalidArgument(f"{what!r} is not a change of notes.", "Choose from the list.")


def _supersede(site: Site, form: FormInput) -> NextPage:
    """Make a note supersede another one, which searches then no longer find."""
    note = site.vault.get(check_id(form.path["id"]))
    named = form.text("other").strip()
    other = site.vault.get(named_note(site.vault.notes, named) or check_id(named))
    if other.id == note.id:
        raise InvalidArgument("A note cannot replace itself.", "Give the id or the title of the other one.")
    after = as_edited(note, replace(note, supersedes=[*note.superseded, other.id], updated_at=changed_at(note)))
    made = changeset.apply(site.vault.notes, [after], kind=_KIND, reason="Superseded by a person.")
    return NextPage(f"notes/{note.id}", f"It replaces {one_line(other.title, _LONGEST)}.", made.id)


def _undo(site: Site, form: FormInput) -> NextPage:
    """Undo a form's change; `undo` names a changeset, notes in the trash, or a review."""
    store = site.vault.notes
    kind, _, rest = form.text("undo").partition(" ")
    if kind == "proposal":
        reviewing.relist(store, rest)
        return NextPage(_back(form), "It is listed again.")
    if kind == "review":
        review.reopen(store, check_id(rest))
        return NextPage(_back(form), "It waits for review again.")
    change, _, trashed = form.text("undo").partition("trash ")
    outcome = _undo_change(store, change.strip()) if change else changeset.UndoResult([], [])
    ids = [check_id(id) for id in trashed.split()]
    for id in ids:
        site.vault.restore(id)
    kept = (
        f" {counted(len(outcome.kept), 'note has', 'notes have')} changed since and are left alone."
        if outcome.kept
        else ""
    )
    return NextPage(
        _back(form), f"Undone: {counted(len({*ids, *outcome.restored}), 'note is', 'notes are')} restored.{kept}"
    )


def _undo_change(store: MemoryStore, change_id: str) -> changeset.UndoResult:
    change = changeset.find(store, change_id)
    return reviewing.undo_accept(store, change) if change.kind == reviewing.KIND else changeset.undo(store, change_id)


def _back(form: FormInput) -> str:
    """The page that a form came from, by its field; only a page of the dashboard."""
    return own_page(form.text("back")) or "notes"


def _restore(site: Site, form: FormInput) -> NextPage:
    note = site.vault.restore(check_id(form.path["id"]))
    return NextPage(f"notes/{note.id}", "Restored.")


def _restore_revision(site: Site, form: FormInput) -> NextPage:
    store: MemoryStore = site.vault.notes
    note_id, number = check_id(form.path["id"]), int(form.path["number"])
    done = restoring.restore(store, site.vault.history(note_id), number)
    message = f"The note is as in revision {number}." if done.diff else "The note already is as in that revision."
    return NextPage(f"notes/{note_id}", message)


VIEWS = (View("/notes/new", "new.html", _new), View("/notes/{id}/edit", "edit.html", _edit))
ACTIONS = (
    Action("/notes/new", _create, again=_new_again),
    Action("/notes/change", _change_many),
    Action("/notes/{id}/edit", _save, again=_edit_again),
    Action("/notes/{id}/restore", _restore),
    Action("/notes/{id}/supersede", _supersede),
    Action("/notes/{id}/history/{number:int}", _restore_revision, Lane.GIT),
    Action("/undo", _undo),
)
