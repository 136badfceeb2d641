"""The revisions of a note, each as a diff to the one before or side by side with it, and restoring one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList

from anamnesis.age import brief_age
from anamnesis.errors import NoteConflict
from anamnesis.history.diffs import beside
from anamnesis.history.restoring import RestoredNote, restore
from anamnesis.plural import counted
from anamnesis.tui import drawing
from anamnesis.tui.dialogs import Confirm
from anamnesis.tui.listing import Listing

if TYPE_CHECKING:
    from anamnesis.history.version import Revision
    from anamnesis.vault import Vault


class History(Listing):
    """The newest revision first."""

    WIDTH = "narrow"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "beside", "Side by side"),
        Binding("r", "restore", "Restore this"),
    ]

    def __init__(self, note_id: str) -> None:
        super().__init__()
        self.note_id = note_id
        self._revisions: dict[str, Revision] = {}
        self._is_beside = False

    def reload(self) -> None:
        self.read(lambda _: self.program.vault.history(self.note_id), self._show)

    def _show(self, found: list[Revision]) -> None:
        self._revisions = {str(each.number): each for each in reversed(found)}
        title = next((each.version.note.title for each in reversed(found) if each.version.note), self.note_id)
        named = Content.assemble(drawing.line(title, "bold $foreground"), f"  {counted(len(found), 'revision')}")
        self.show_title(named)
        rows = self.rows
        rows.fill([(number, _row(each)) for number, each in self._revisions.items()], rows.key)

    @on(OptionList.OptionHighlighted, "#rows")
    def _show_diff(self) -> None:
        each = self._revisions.get(self.rows.key or "")
        if each is None:
            return
        pane = self.pane
        before = each.before.text if each.before else ""
        if self._is_beside:
            heads = (f"revision {each.number - 1}" if each.before else "", f"revision {each.number}")
            shown = drawing.beside(beside(before, each.version.text), pane.room, heads)
        else:
            shown = drawing.diff(each.diff)
        origin = " ".join(word for word in (each.version.source, each.version.commit, each.version.by) if word)
        moment = f"{each.version.at[:19].replace('T', ' ')} UTC"
        foreign = [drawing.line(each.version.origin.sentence, "$warning")] if each.version.origin else []
        text = drawing.lines([drawing.line(f"{moment} · {origin}", drawing.MUTED), *foreign, Content(), shown])
        pane.show(text, f"{each.number} {self._is_beside}")

    def on_resize(self) -> None:
        self._show_diff()

    def action_beside(self) -> None:
        self._is_beside = not self._is_beside
        self._show_diff()

    def action_restore(self) -> None:
        number = self.rows.key
        if number:
            question = f"Restore the note to revision {number}?\nThe current text stays in the history."
            self.app.push_screen(Confirm(question), lambda is_sure: self._restore(int(number)) if is_sure else None)

    def _restore(self, number: int) -> None:
        shown = self._revisions[str(number)].version.text

        def work(vault: Vault) -> RestoredNote:
            found = vault.history(self.note_id)
            if [each.version.text for each in found if each.number == number] != [shown]:
                raise NoteConflict(
                    f"Revision {number} has another text by now.", "A sync has brought more: look again."
                )
            return restore(vault.notes, found, number)

        self.change(work, self._restored)

    def _restored(self, done: RestoredNote) -> None:
        said = "Restored." if done.diff else "The note already is as in that revision."
        self.announce(f"{said} {done.kept}".strip())
        self.program.reload()


def _row(revision: Revision) -> Content:
    return Content.assemble(
        (f"{revision.number:>3} ", "$primary"),
        (f"{brief_age(revision.version.at):>5} ", drawing.MUTED),
        drawing.line(revision.summary),
    )
