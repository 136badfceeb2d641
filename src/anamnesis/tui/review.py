"""The review: conflicts side by side, proposals of dreams with their diffs, and imported notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from itertools import islice
from typing import ClassVar, NamedTuple

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList

from anamnesis import review
from anamnesis.dream import reviewing
from anamnesis.dream.dream_database import SavedProposal
from anamnesis.history.conflicting import ConflictComparison, compare
from anamnesis.history.diffs import beside, diff, text_of
from anamnesis.notes import Memory, acceptance
from anamnesis.notes.foreign import with_origins
from anamnesis.plural import counted
from anamnesis.store import MemoryStore
from anamnesis.sync.conflicts import Conflict, list_conflicts, resolve
from anamnesis.tui import drawing
from anamnesis.tui.listing import Listing
from anamnesis.vault import Vault

# An import may leave thousands; each decision makes room for the next one.
_MOST = 200


class ReviewQueue(NamedTuple):
    """The conflicts, proposals and imported notes that wait, each under its key."""

    conflicts: dict[str, tuple[Conflict, ConflictComparison]]
    proposals: dict[str, tuple[SavedProposal, list[str]]]
    foreign: dict[str, Memory]


def review_queue(store: MemoryStore) -> ReviewQueue:
    """Read everything that waits for a person; of a note that waits and is a version of a conflict, the conflict."""
    conflicts = {each.other.id: (each, compare(store, each)) for each in list_conflicts(store)}
    foreign = [note for note in review.waiting(store) if note.id not in conflicts]
    return ReviewQueue(
        conflicts,
        {
            each.proposal.key: (each, [_diff(store, note) for note in each.proposal.after])
            for each in reviewing.listed(store, date.today())
        },
        {note.id: note for note in with_origins(foreign, store.origins(foreign))},
    )


def _diff(store: MemoryStore, note: Memory) -> str:
    return diff(text_of(store.find(note.id)), text_of(note))


class Section(Listing):
    """The list of waiting items, and the decision about the one under the cursor."""

    SECTION = "review"
    WIDTH = "narrow"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "decide('accept')", "Accept"),
        Binding("r", "decide('reject')", "Reject"),
        Binding("l", "decide('later')", "Later"),
        Binding("less_than_sign", "keep('this')", "Keep this", key_display="<"),
        Binding("greater_than_sign", "keep('other')", "Keep other", key_display=">"),
        Binding("b", "keep('both')", "Keep both"),
        Binding("e", "edit", "Edit"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._queue = ReviewQueue({}, {}, {})

    def reload(self) -> None:
        self.read(review_queue, self._show)

    def _show(self, found: ReviewQueue) -> None:
        self._queue = found
        rows = self.rows
        rows.fill(_rows(found), rows.key)
        nouns = (("conflict", ""), ("proposal", ""), ("imported note", ""))
        counts = [len(some) for some in (found.conflicts, found.proposals, found.foreign)]
        summary = " · ".join(counted(count, *noun) for count, noun in zip(counts, nouns, strict=True) if count)
        self.show_title(Content(summary or "Nothing waits for you."))
        self._show_chosen()
        self.refresh_bindings()

    @on(OptionList.OptionHighlighted, "#rows")
    def _chose(self) -> None:
        self._show_chosen()
        self.refresh_bindings()

    @property
    def _key(self) -> str:
        return self.rows.key or ""

    def _show_chosen(self) -> None:
        pane, key, found = self.pane, self._key, self._queue
        if key in found.conflicts:
            pane.show(_conflict(*found.conflicts[key], pane.room), key)
        elif key in found.proposals:
            pane.show(_proposal(*found.proposals[key]), key)
        elif key in found.foreign:
            pane.show(drawing.note(found.foreign[key]), key)
        else:
            pane.show(Content())

    def on_resize(self) -> None:
        self._show_chosen()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only the decisions that apply to the item under the cursor."""
        if action not in ("keep", "decide", "edit"):
            return True
        found, key = self._queue, self._key if self.is_mounted else ""
        if action == "decide":
            return key in found.proposals or (key in found.foreign and parameters != ("later",))
        return key in found.conflicts or (key in found.foreign and action == "edit")

    def action_keep(self, which: str) -> None:
        conflict, _ = self._queue.conflicts[self._key]
        self._decide(lambda vault: resolve(vault.notes, conflict, which), f"The conflict is resolved: kept {which}.")

    def action_decide(self, decision: str) -> None:
        key, found = self._key, self._queue
        if key in found.foreign:
            seen = acceptance.text_of(found.foreign[key]).digest
            work_on_note: dict[str, Callable[[Vault], object]] = {
                "accept": lambda vault: review.accept(vault.notes, key, seen),
                "reject": lambda vault: review.reject(vault.notes, key),
            }
            self._decide(work_on_note[decision], _DONE_NOTE[decision])
            return
        kept, _ = found.proposals[key]
        work: dict[str, Callable[[Vault], object]] = {
            "accept": lambda vault: reviewing.accept(vault.notes, [kept]),
            "reject": lambda vault: reviewing.reject(vault.notes, [kept]),
            "later": lambda vault: reviewing.postpone(vault.notes, [kept], date.today()),
        }
        self._decide(work[decision], _DONE[decision])

    def _decide(self, work: Callable[[Vault], object], done: str) -> None:
        self.change(work, lambda _: self._decided(done))

    def _decided(self, done: str) -> None:
        self.announce(done)
        self.program.reload()

    def action_edit(self) -> None:
        from anamnesis.tui.user_editor import edit

        key = self._key
        edit(self.program, self._queue.conflicts[key][0].id if key in self._queue.conflicts else key)


_DONE = {
    "accept": "Accepted. `anamnesis dream undo` undoes it.",
    "reject": "Rejected. It is not proposed again.",
    "later": "Postponed. It is listed again in a week.",
}
_DONE_NOTE = {"accept": "Accepted.", "reject": "Rejected. It is in the trash."}


def _rows(found: ReviewQueue) -> Iterable[tuple[str, Content]]:
    heading = f"bold {drawing.MUTED}"
    if found.conflicts:
        yield "", Content.styled("Conflicts", heading)
        for key, (conflict, _) in found.conflicts.items():
            yield key, drawing.line((conflict.note or conflict.other).title)
    if found.proposals:
        yield "", Content.styled("Proposals of dreams", heading)
        for key, (kept, _) in found.proposals.items():
            each, sure = kept.proposal, (f"{kept.proposal.confidence:.2f} ", drawing.MUTED)
            yield key, Content.assemble(sure, f"{each.kind} ", drawing.line(each.reason))
    if found.foreign:
        yield "", Content.styled("Imported notes", heading)
        for key, note in islice(found.foreign.items(), _MOST):
            yield key, drawing.line(note.title)
        if (more := len(found.foreign) - _MOST) > 0:
            yield "", Content.styled(f"and {more:,} more", drawing.MUTED)


def _conflict(conflict: Conflict, compared: ConflictComparison, room: int) -> Content:
    """Both versions side by side."""
    title = drawing.line((conflict.note or conflict.other).title, "bold")
    if compared.origin:
        title = Content.assemble(title, (f"  {compared.origin.brief}", "$warning"))
    heads = (f"this · {compared.this or 'a machine'}", f"other · {compared.other or 'a machine'}")
    rows = beside(text_of(conflict.note), text_of(conflict.other))
    return drawing.lines([title, Content(), drawing.beside(rows, room, heads)])


def _proposal(kept: SavedProposal, diffs: list[str]) -> Content:
    """A proposal, its reason, and its changes."""
    each = kept.proposal
    parts = [
        drawing.line(f"{each.kind}, {each.confidence:.0%} sure", "bold"),
        drawing.multiline(each.reason),
        drawing.line(f"notes {' '.join(each.notes)}", drawing.MUTED),
    ]
    for text in diffs:
        parts += [Content(), drawing.diff(text)]
    return drawing.lines(parts)
