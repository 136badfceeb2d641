"""The review of conflicts, proposals of dreams and imported notes; and the dreams, with undo."""

from __future__ import annotations

from datetime import date

from anamnesis import review
from anamnesis.dream import reviewing
from anamnesis.dream.dream_database import SavedProposal
from anamnesis.dream.dream_journal import entries, entry, report, shown, status
from anamnesis.dream.undoing import undo
from anamnesis.errors import InvalidArgument, NoteNotFound
from anamnesis.history.conflicting import compare
from anamnesis.history.diffs import beside, diff, text_of
from anamnesis.notes import Memory, acceptance, check_id, render
from anamnesis.notes.merge import without_conflict_tag
from anamnesis.plural import counted
from anamnesis.process import run_in_background
from anamnesis.store import MemoryStore, changeset
from anamnesis.sync.conflicts import KEEP, Conflict, find_conflicts, list_conflicts, resolve
from anamnesis.web.lanes import Lane
from anamnesis.web.ui.action import Action, FormInput, NextPage, seen
from anamnesis.web.ui.markdown import rendered
from anamnesis.web.ui.notes import page_of
from anamnesis.web.ui.view import Data, PageRequest, Site, View, summaries

# Imported notes are shown whole, and an import may add thousands.
_PAGE = 30
_KEPT = {
    "this": "this version stays, and the other is in the trash",
    "other": "the other version takes its place, and this one is in the trash",
    "both": "both versions stay, as two notes",
}


def _read(site: Site, request: PageRequest) -> Data:
    store, page = site.vault.notes, page_of(request)
    waiting = review.waiting(store)
    here = waiting[(page - 1) * _PAGE : page * _PAGE]
    return {
        "conflicts": [
            {"id": each.id, "title": (each.note or each.other).title, **_versions(store, each)}
            for each in list_conflicts(store)
        ],
        "proposals": [_proposal(store, each) for each in reviewing.listed(store, date.today())],
        "foreign": [
            {**each, "html": str(rendered(note.body)), "seen": acceptance.text_of(note).digest}
            for note, each in zip(here, summaries(store, here), strict=True)
        ],
        "waiting": len(waiting),
        "page": page,
        "next": page + 1 if page * _PAGE < len(waiting) else None,
    }


def _versions(store: MemoryStore, conflict: Conflict) -> Data:
    compared = compare(store, conflict)
    this, other = _texts(conflict)
    return {
        "other_id": conflict.other.id,
        "this": {"by": compared.this, "text": this},
        "other": {"by": compared.other, "text": other},
        "diff": compared.diff,
        "beside": beside(this, other),
        **(compared.origin.shown() if compared.origin else {}),
        "seen": seen(this, other),
    }


def _texts(conflict: Conflict) -> tuple[str, str]:
    return text_of(conflict.note), text_of(without_conflict_tag(conflict.other))


def _proposal(store: MemoryStore, kept: SavedProposal) -> Data:
    """A proposal, with the titles of its notes, and each note before and after it."""
    proposal = kept.proposal
    titles = store.ranking.headings([*proposal.notes])
    about = [{"id": id, "title": titles.get(id, {}).get("title", id)} for id in proposal.notes]
    return {
        **shown(proposal, "review"),
        "about": about,
        "changes": [_change(store, note) for note in proposal.after],
        "seen": seen(*map(render, proposal.after)),
    }


def _change(store: MemoryStore, note: Memory) -> Data:
    now, then = text_of(store.find(note.id)), text_of(note)
    compared = {"diff": diff(now, then), "beside": beside(now, then)}
    return {"id": note.id, "title": note.title, "text": render(note), **compared}


def _keep(site: Site, form: FormInput) -> NextPage:
    keep = form.text("keep")
    if keep not in KEEP:
        raise InvalidArgument(f"{keep!r} is not a version to keep.", f"Choose one of {', '.join(KEEP)}.")
    store = site.vault.notes
    conflict = find_conflicts(store, check_id(form.path["id"]))[0]
    form.check_seen(*_texts(conflict))
    done = resolve(store, conflict, keep)
    undo = " ".join([*filter(None, [done.change]), *(["trash", *done.trashed] if done.trashed else [])])
    return NextPage("review", f"The conflict is resolved: {_KEPT[keep]}.", undo)


def _decide(site: Site, form: FormInput) -> NextPage:
    """Decide about a proposal: accept it, unchanged or edited, reject it, or postpone it."""
    store = site.vault.notes
    kept = reviewing.proposal_named(store, form.path["id"])
    if kept is None:
        raise NoteNotFound(f"No proposal has the id {form.path['id']!r}.", "It may have been decided elsewhere.")
    decision, undo = form.text("decision"), f"proposal {kept.proposal.key}"
    form.check_seen(*map(render, kept.proposal.after))
    if decision == "accept":
        change = reviewing.accept(store, [kept])
        return NextPage("review", "Accepted.", change.id)
    if decision == "edit":
        texts = {note.id: form.text(note.id).replace("\r\n", "\n") for note in kept.proposal.after}
        change = reviewing.accept(store, [reviewing.edited(kept, texts)])
        return NextPage("review", "Accepted as you edited it.", change.id)
    if decision == "reject":
        reviewing.reject(store, [kept])
        return NextPage("review", "Rejected. It is not proposed again.", undo)
    if decision != "later":
        raise _unknown(decision)
    reviewing.postpone(store, [kept], date.today())
    return NextPage("review", "Postponed. It is listed again in a week.", undo)


def _decide_note(site: Site, form: FormInput) -> NextPage:
    note_id, decision = check_id(form.path["id"]), form.text("decision")
    if decision not in ("accept", "reject"):
        raise _unknown(decision)
    if decision == "accept":
        review.accept(site.vault.notes, note_id, form.text("seen"))
        return NextPage("review", "Accepted.", f"review {note_id}")
    review.reject(site.vault.notes, note_id)
    return NextPage("review", "Rejected. It is in the trash.", f"trash {note_id}")


def _unknown(decision: str) -> InvalidArgument:
    return InvalidArgument(f"{decision[:40]!r} is not a decision.", "Choose one of the buttons.")


def _dreams(site: Site, _request: PageRequest) -> Data:
    store = site.vault.notes
    return {"status": status(store), "cycles": entries(store)}


def _dream(site: Site, request: PageRequest) -> Data:
    store = site.vault.notes
    change = changeset.find(store, request.path["id"])
    files = [{"id": file.note, "diff": diff(file.before or "", file.after or "")} for file in change.files]
    return {"cycle": entry(change), "report": str(rendered(report(store, change))), "files": files}


def _undo_dream(site: Site, form: FormInput) -> NextPage:
    change = changeset.find(site.vault.notes, form.path["id"])
    outcome = undo(site.vault.notes, change)
    kept = f" {counted(len(outcome.kept), 'note')} changed since and left alone." if outcome.kept else ""
    return NextPage("dreams", f"Undone: {counted(len(outcome.restored), 'note')} as before.{kept}")


def _dream_now(site: Site, _form: FormInput) -> NextPage:
    run_in_background("dream")
    return NextPage("dreams", "A dream has started; it is listed here when it has ended.")


VIEWS = (
    View("/review", "review.html", _read, Lane.GIT),
    View("/dreams", "dreams.html", _dreams),
    View("/dreams/{id}", "dream.html", _dream),
)
ACTIONS = (
    Action("/review/conflicts/{id}", _keep),
    Action("/review/proposals/{id}", _decide),
    Action("/review/notes/{id}", _decide_note),
    Action("/dreams", _dream_now),
    Action("/dreams/{id}/undo", _undo_dream),
)
