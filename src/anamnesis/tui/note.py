"""One note: its text, its use, and the notes around it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList

from anamnesis.age import age
from anamnesis.editing import Change, apply_change, with_tags, without_tags
from anamnesis.exchange.standing import departures
from anamnesis.notes import PINNED, Memory
from anamnesis.notes.foreign import with_origin
from anamnesis.notes.links import named
from anamnesis.plural import counted
from anamnesis.store import Hit, MemoryStore
from anamnesis.store.facets import links, named_notes
from anamnesis.store.recording import record
from anamnesis.store.strength import KINDS
from anamnesis.store.use_report import use_report
from anamnesis.tui import drawing
from anamnesis.tui.chrome import TuiPage
from anamnesis.tui.dialogs import Ask, Confirm
from anamnesis.tui.latest import Latest
from anamnesis.tui.rows import Pane, Rows
from anamnesis.tui.user_editor import edit
from anamnesis.vault import Vault

_RELATED = 5


class NoteDetails(NamedTuple):
    """A note with its use, and the notes around it: how each is linked, its id and its title."""

    note: Memory
    use: dict[str, Any]
    around: list[tuple[str, str, str]]


def read_details(store: MemoryStore, note_id: str) -> NoteDetails:
    """Read a note and the notes around it."""
    note = read_note(store, note_id)
    store.usage.take_in()
    use = use_report(note, store.usage.of([note.id]).get(note.id), store.usage.events(note.id), time.time())
    known = named_notes(store, named(note.body)).values()
    linked = [(link.how, link.id, link.title) for link in links(store, note.id, note.title, known)]
    related = [("is related", hit.memory.id, _title(hit)) for hit in store.related(note.id, k=_RELATED)]
    return NoteDetails(note, use, list({each[1]: each for each in [*related, *linked]}.values()))


def read_note(store: MemoryStore, note_id: str) -> Memory:
    """A note, with its origin if it is foreign."""
    note = store.get(note_id)
    return with_origin(note, store.origins([note]).get(note.id))


class NotePage(TuiPage):
    """A note on top of the section that it was opened from."""

    AUTO_FOCUS = "#text"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit"),
        Binding("h", "history", "History"),
        Binding("t", "timeline", "Timeline"),
        Binding("p", "pin", "Pin"),
        Binding("number_sign", "tag", "Tags", key_display="#"),
        Binding("d", "delete", "Delete"),
        Binding("y", "copy", "Copy id"),
    ]

    def __init__(self, note_id: str) -> None:
        super().__init__()
        self.note_id = note_id
        self._note: Memory | None = None
        self._details = Latest[NoteDetails](self)

    def parts(self) -> Iterable[Widget]:
        yield Pane(id="text")
        yield Rows(id="linked")

    def on_mount(self) -> None:
        self.query_one("#linked").display = False
        self.read(lambda store: read_note(store, self.note_id), self._show_text)
        self.reload()
        record(self.program.settings.home, "opened", [self.note_id])

    def reload(self) -> None:
        """Read the note and the notes around it, which may take a second; the text is shown before."""
        self._details.ask(lambda: read_details(self.program.vault.notes, self.note_id), self._show)

    def _show_text(self, note: Memory) -> None:
        self._note = note
        self.query_one("#text", Pane).show(drawing.note(note), note.id)

    def _show(self, found: NoteDetails) -> None:
        self._note = found.note
        used = drawing.line(_use_line(found.use), drawing.MUTED)
        text = [drawing.line(found.note.title, "bold"), *drawing.facts(found.note), used, Content()]
        self.query_one("#text", Pane).show(drawing.lines([*text, drawing.body(found.note.body)]), found.note.id)
        rows = [(id, _linked_row(how, title)) for how, id, title in found.around]
        linked = self.query_one("#linked", Rows)
        linked.display = bool(rows)
        linked.fill(rows, linked.key)

    @on(OptionList.OptionSelected, "#linked")
    def _open(self, event: OptionList.OptionSelected) -> None:
        self.program.open_note(event.option_id or "")

    def action_edit(self) -> None:
        edit(self.program, self.note_id)

    def action_history(self) -> None:
        from anamnesis.tui.history import History

        self.app.push_screen(History(self.note_id))

    def action_timeline(self) -> None:
        if self._note:
            self.program.show_timeline(self._note)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.note_id)
        self.announce("The id was copied to the clipboard.")

    def action_pin(self) -> None:
        """Pin the note, or unpin it."""
        if self._note:
            is_pinned = PINNED in self._note.tags
            change = (without_tags if is_pinned else with_tags)([PINNED])
            self._change(change, "Unpinned." if is_pinned else "Pinned.", edits=False)

    def action_tag(self) -> None:
        """Change the tags of the note."""
        if self._note:
            self.app.push_screen(Ask("Tags of the note, separated by spaces", " ".join(self._note.tags)), self._retag)

    def _retag(self, given: str | None) -> None:
        if given is not None:
            tags = [tag.removeprefix("#") for tag in given.replace(",", " ").split()]
            self._change(lambda _: {"tags": tags}, "Saved.")

    def _change(self, change: Change, done: str, *, edits: bool = True) -> None:
        def work(vault: Vault) -> Memory:
            before = vault.get(self.note_id)
            return apply_change(vault.notes, before, change(before), edits=edits)

        self.change(work, lambda _: self._changed(done))

    def _changed(self, done: str) -> None:
        self.announce(done)
        self.program.reload()

    def action_delete(self) -> None:
        if self._note:
            question = f"Delete “{drawing.line(self._note.title, longest=80)}”?\nIt goes to the trash."
            self.app.push_screen(Confirm(question), self._delete)

    def _delete(self, is_sure: bool | None) -> None:
        if is_sure:
            self.change(lambda vault: vault.delete(self.note_id), self._deleted)

    def _deleted(self, note: Memory) -> None:
        said = departures(self.program.settings.home, [note.id], deletes=True)
        self.announce(" ".join([f"Deleted. To restore it: anamnesis restore {note.id}", *said]))
        self.action_back()
        self.program.reload()


def _title(hit: Hit) -> str:
    return f"{hit.marks.origin.brief}: {hit.memory.title}" if hit.marks.origin else hit.memory.title


def _linked_row(how: str, title: str) -> Content:
    return Content.assemble((f"{how:>16}  ", drawing.MUTED), drawing.line(title))


def _use_line(use: dict[str, Any]) -> str:
    """The use of a note in a line."""
    times = [f"{kind} {use[kind]}×" for kind in KINDS if use.get(kind)]
    rest = [*times, f"in {counted(use['sessions'], 'session')}", f"last {age(use['last_use'])}"] if times else []
    return " · ".join([f"strength {use['strength']:.2f}", *(rest or ["never used"])])
