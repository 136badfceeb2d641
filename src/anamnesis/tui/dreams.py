"""The dreams: what each cycle changed, as a report with diffs, and its undo."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList

from anamnesis.age import age, brief_age
from anamnesis.dream.dream_journal import entries, report, status
from anamnesis.dream.undoing import undo
from anamnesis.history.diffs import diff
from anamnesis.plural import counted
from anamnesis.process import run_in_background
from anamnesis.store import MemoryStore, changeset
from anamnesis.tui import drawing
from anamnesis.tui.dialogs import Confirm
from anamnesis.tui.latest import Latest
from anamnesis.tui.listing import Listing

_MOST = 200


class Dreams(NamedTuple):
    """The state of dreams, and the recorded cycles."""

    status: dict[str, Any]
    cycles: list[dict[str, Any]]


def dreams(store: MemoryStore) -> Dreams:
    return Dreams(status(store), entries(store, _MOST))


def cycle(store: MemoryStore, id: str) -> Content:
    """A cycle with its changes to each note."""
    change = changeset.find(store, id)
    parts = [drawing.body(report(store, change))]
    for file in change.files:
        parts += [drawing.line(file.note, "bold"), drawing.diff(diff(file.before or "", file.after or "")), Content()]
    return drawing.lines(parts)


class Section(Listing):
    """The cycles, the newest first."""

    SECTION = "dreams"
    WIDTH = "narrow"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "dream", "Dream now"),
        Binding("u", "undo", "Undo this"),
        Binding("R", "reload", "Reload"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._details = Latest[Content](self)

    def reload(self) -> None:
        self.read(dreams, self._show)

    def action_reload(self) -> None:
        self.reload()

    def _show(self, found: Dreams) -> None:
        state, last = found.status, found.status["last"]
        parts = [f"last {age(last['at'])}"] if last else ["no dream yet"]
        parts += [counted(state["changed_notes"], "changed note"), f"{state['review']} for review"]
        self.show_title(" · ".join(parts))
        rows = self.rows
        rows.fill([(each["id"], _row(each)) for each in found.cycles], rows.key)

    @on(OptionList.OptionHighlighted, "#rows")
    def _show_cycle(self) -> None:
        key = self.rows.key
        if key:
            self._details.ask(lambda: cycle(self.program.vault.notes, key), lambda found: self.pane.show(found, key))

    def action_dream(self) -> None:
        run_in_background("dream")
        self.announce("A dream has started. R reloads this list.")

    def action_undo(self) -> None:
        key = self.rows.key
        if key:
            question = "Undo this cycle?\nNotes that have changed since are left alone."
            self.app.push_screen(Confirm(question), lambda is_sure: self._undo(key) if is_sure else None)

    def _undo(self, key: str) -> None:
        self.change(lambda vault: undo(vault.notes, changeset.find(vault.notes, key)), self._undone)

    def _undone(self, outcome: changeset.UndoResult) -> None:
        kept = f" {counted(len(outcome.kept), 'note')} changed since and left alone." if outcome.kept else ""
        self.announce(f"Undone: {counted(len(outcome.restored), 'note')} as before.{kept}")
        self.program.reload()


def _row(each: dict[str, Any]) -> Content:
    return Content.assemble(
        (f"{brief_age(each['at']):>5} ", drawing.MUTED),
        drawing.line(f"{each['kind']} · {counted(len(each['notes']), 'note')}"),
        (f" {each['state']}", "$warning" if each["state"] != changeset.DONE else drawing.MUTED),
    )
