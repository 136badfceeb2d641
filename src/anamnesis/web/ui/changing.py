"""Changes by a person: a new note, an edit, many notes at once, the trash; and undo."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from anamnesis import editing, review
from anamnesis.dream import reviewing
from anamnesis.errors import InvalidArgument, NoteNotFound
from anamnesis.exchange.standing import departures
from anamnesis.history import restoring
from anamnesis.history.diffs import beside, text_of
from anamnesis.notes import PINNED, SCOPES, Memory, check_id, parse, render
from anamnesis.notes.authorship import as_edited
from anamnesis.notes.cleaning import redacted_kinds, warning
from anamnesis.notes.line_merge import MINE, THEIRS, has_marks
from anamnesis.notes.record import GLOBAL
from anamnesis.notes.spaces import space_of
from anamnesis.plain import one_line
from anamnesis.plural import counted, listed
from anamnesis.project import check_key
from anamnesis.store import MemoryStore, changeset
from anamnesis.store.facets import named_note
from anamnesis.store.ids import changed_at
from anamnesis.store.projects import one_each
from anamnesis.store.spaces import lines_of_project, who_reads
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.action import Action, FormInput, NextPage, ShownPage, own_page
from anamnesis.web.ui.markdown import rendered
from anamnesis.web.ui.note import find_note
from anamnesis.web.ui.view import Data, PageRequest, Site, View

_KIND = "edit"
_LONGEST = 80
_MOST_NAMED = 3
# What a change of the scope means for others.
_ELSEWHERE = {
    "machine-local": " The next sync removes it elsewhere; the history of git keeps what it has.",
    "portable": " The next sync sends it to your other machines.",
}
# The characters that HTML cannot hold; a browser sends U+FFFD instead.
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_BLANK = Memory(id="", type="semantic", title="", body="", machine_id="")


def _new(site: Site, request: PageRequest) -> Data:
    project = request.query.get("project") or "global"
    draft = _draft(replace(_BLANK, project=project, title=request.query.get("title", "")))
    return {"draft": draft, "projects": one_each(site.vault.notes.projects()), "preview": "", "fault": ""}


def _create(site: Site, form: FormInput) -> NextPage | ShownPage:
    if form.text("preview"):
        shown = _new_again(form, "")
        return ShownPage(shown.template, {**shown.data, "preview": str(rendered(form.text("body")))})
    draft = {name: _lines(form.text(name)) for name in ("title", "body", "type", "scope")}
    project, tags = check_key(form.text("project").strip() or GLOBAL), form.text("tags").replace(",", " ").split()
    extra = lines_of_project(site.vault.notes, project, draft["scope"], {})
    note = site.vault.write(
        tags=tags,
        project=project,
        machine_id=site.settings.machine_id,
        extra=extra,
        **draft,  # type: ignore[arg-type]
    )
    said = f"Saved. {who_reads(site.vault.notes, note)}".rstrip()
    return NextPage(f"notes/{note.id}", _saved(said, draft, note))


def _saved(said: str, given: Mapping[str, object], note: Memory) -> str:
    """The answer to a saved text, with what was redacted of it."""
    return f"{said} {warning(redacted_kinds(given, note))}".strip()


def _new_again(form: FormInput, fault: str) -> ShownPage:
    draft = {name: form.text(name) for name in ("title", "body", "type", "project", "scope", "tags")}
    return ShownPage("new.html", {"draft": draft, "projects": [], "preview": "", "fault": fault}, 400 if fault else 200)


def _draft(note: Memory) -> Data:
    fields = {name: getattr(note, name) for name in ("title", "body", "type", "project", "scope")}
    return {**fields, "tags": " ".join(note.tags)}


def _edit(site: Site, request: PageRequest) -> Data:
    note = find_note(site.vault.notes, check_id(request.path["id"]))
    return _form(note.id, render(note), render(note), title=note.title)


def _edit_missing(request: PageRequest, fault: str) -> Data:
    """The form of a note that is gone, for a text that was typed before: it can be saved as a new note."""
    return _form(request.path["id"], "", "", fault=fault, is_gone=True)


def _form(note_id: str, text: str, base: str, **also: object) -> Data:
    """The form that edits a note; `theirs` compares the typed text with the current note."""
    blank: Data = {
        "title": note_id,
        "theirs": [],
        "marks": None,
        "chosen": "",
        "is_gone": False,
        "preview": "",
        "fault": "",
    }
    return {**blank, "id": note_id, "text": text, "base": base, **also}


def _edit_again(form: FormInput, fault: str) -> ShownPage:
    is_gone = bool(form.text("new"))
    again = _form(form.path["id"], _lines(form.text("text")), form.text("base"), fault=fault, is_gone=is_gone)
    return ShownPage("edit.html", again, 400)


def _save(site: Site, form: FormInput) -> NextPage | ShownPage:
    """Save an edit. If the note has changed since it was opened, both changes are merged and shown again."""
    note_id = check_id(form.path["id"])
    text, base = _lines(form.text("text")), _lines(form.text("base"))
    if form.text("preview"):
        note = editing.parse_edited(note_id, text)
        return ShownPage("edit.html", _form(note_id, text, base, title=note.title, preview=str(rendered(note.body))))
    if form.text("new"):
        return _save_as_new(site, text)
    try:
        now = find_note(site.vault.notes, note_id)
    except NoteNotFound as error:
        return ShownPage("edit.html", _form(note_id, text, base, fault=str(error), is_gone=True), 404)
    current = render(now)
    if _as_sent(current) == base:
        done = editing.save_text(site.vault.notes, now, text.replace("\n", "\r\n") if "\r\n" in now.body else text)
        typed = parse(text)
        given = {name: getattr(typed, name) for name in ("title", "body", "tags")}
        return NextPage(f"notes/{note_id}", _saved(f"Saved. {done.merged}".strip(), given, done.note))
    mine, theirs = editing.parse_edited(note_id, text), parse(_as_sent(current))
    opened = parse(base)
    merged = editing.merged_edit(opened, mine, theirs)
    chosen = listed(editing.chosen(opened, mine, theirs))
    compared = beside(text_of(mine), text_of(theirs))
    marks = (MINE, THEIRS) if has_marks(merged.body) else None
    again = _form(note_id, render(merged), current, title=merged.title, theirs=compared, marks=marks, chosen=chosen)
    return ShownPage("edit.html", again, 409)


def _save_as_new(site: Site, text: str) -> NextPage:
    """Save an edited text as a new note, as the one that it was of is gone."""
    typed = parse(text)
    names = ("type", "title", "body", "project", "tags", "scope", "confidence", "supersedes", "extra")
    given = {name: getattr(typed, name) for name in names}
    note = site.vault.write(machine_id=site.settings.machine_id, **given)
    space = space_of(note)
    return NextPage(
        f"notes/{note.id}", _saved(f"Saved as a new note{f' of the space {space}' if space else ''}.", given, note)
    )


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
    notes = [find_note(store, id) for id in ids]  # before the first is changed
    if what == "delete":
        for id in ids:
            site.vault.delete(id)
        said = f"{counted(len(notes), 'note is', 'notes are')} in the trash: {_titles(notes)}."
        lost = departures(store.root, ids, deletes=True)
        return NextPage(back, " ".join([said, *lost]), f"trash {' '.join(ids)}")
    change = _change_of(what, form.text("value").strip())
    pairs = [(note, replace(note, **change(note))) for note in notes]
    edits = what not in ("pin", "unpin")  # pinning does not make the note the user's own
    after = [
        replace(as_edited(old, new) if edits else new, updated_at=changed_at(old)) for old, new in pairs if new != old
    ]
    if not after:
        return NextPage(back, "Nothing had to change.")
    made = changeset.apply(store, after, kind=_KIND, reason=f"{what.capitalize()} by a person.")
    elsewhere = _ELSEWHERE[form.text("value").strip()] if what == "scope" else ""
    local = [note.id for note in after if note.scope == SCOPES[1]]
    said = f"{counted(len(after), 'note is', 'notes are')} changed: {_titles(after)}.{elsewhere}"
    return NextPage(back, " ".join([said, *departures(store.root, local)]), made.id)


def _titles(notes: Sequence[Memory]) -> str:
    """The titles of the first notes, and how many more there are."""
    first = [f"“{one_line(note.title, _LONGEST)}”" for note in notes[:_MOST_NAMED]]
    return listed([*first, *([f"{len(notes) - len(first)} more"] if len(notes) > len(first) else [])])


def _change_of(what: str, value: str) -> editing.Change:
    if what in ("pin", "unpin"):
        return (editing.with_tags if what == "pin" else editing.without_tags)([PINNED])
    if what in ("tag", "untag"):
        return (editing.with_tags if what == "tag" else editing.without_tags)([value])
    if what == "project":
        check_key(value)
    if what in ("project", "type", "scope"):
        return lambda _: {what: value}
    raise InvalidArgument(f"{what!r} is not a change of notes.", "Choose from the list.")


def _supersede(site: Site, form: FormInput) -> NextPage:
    """Make a note supersede another one, which searches then no longer find."""
    note = site.vault.get(check_id(form.path["id"]))
    named = form.text("other").strip()
    other = site.vault.get(named_note(site.vault.notes, named) or check_id(named))
    if other.id == note.id:
        raise InvalidArgument("A note cannot replace itself.", "Give the id or the title of the other one.")
    if other.id in note.superseded:
        return NextPage(f"notes/{note.id}", f"It already replaces {one_line(other.title, _LONGEST)}.")
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
    existing = store.hashes_of(ids)  # restored by another tab or program
    gone = [id for id in ids if id not in existing]
    for id in gone:
        site.vault.restore(id)
    count, kept = len({*gone, *outcome.restored}), len(outcome.kept) + len(existing)
    done = f"Undone: {counted(count, 'note is', 'notes are')} restored." if count else "Nothing was undone."
    were = f"{counted(kept, 'note was', 'notes were')} changed or restored since"
    left = f" {were}, and {'is' if kept == 1 else 'are'} left."
    return NextPage(_back(form), done + left * bool(kept))


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
    revisions = site.vault.history(note_id)  # a sync may have added some in between
    form.check_seen(*(each.version.text for each in revisions if each.number == number))
    done = restoring.restore(store, revisions, number)
    message = f"The note is as in revision {number}." if done.diff else "The note already is as in that revision."
    return NextPage(f"notes/{note_id}", f"{message} {done.kept}".strip())


VIEWS = (View("/notes/new", "new.html", _new), View("/notes/{id}/edit", "edit.html", _edit, missing=_edit_missing))
ACTIONS = (
    Action("/notes/new", _create, again=_new_again),
    Action("/notes/change", _change_many),
    Action("/notes/{id}/edit", _save, again=_edit_again),
    Action("/notes/{id}/restore", _restore),
    Action("/notes/{id}/supersede", _supersede),
    Action("/notes/{id}/history/{number:int}", _restore_revision, Lane.GIT),
    Action("/undo", _undo),
)
