"""The timeline: notes, sessions and prompts in order of time, and the notes before and after one."""

from __future__ import annotations

from contextlib import closing
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList

from anamnesis.age import age, brief_age
from anamnesis.engram.database import connect_to_read, reading
from anamnesis.engram.record import Prompt, SessionSummary
from anamnesis.notes import Memory
from anamnesis.notes.foreign import origin_of, with_origins
from anamnesis.store import MemoryStore
from anamnesis.timeline import TimelineEvent, newest_events
from anamnesis.tui import drawing
from anamnesis.tui.listing import Listing
from anamnesis.vault import Vault

_MOST = 100
_STYLES = {"note": "$success", "session": "$primary", "prompt": "$accent"}
# The most notes that are shown before and after one.
_NEIGHBOURS = 30


def recent_events(vault: Vault) -> list[TimelineEvent]:
    """The newest entries of the whole memory."""
    if vault.engram is None:
        return newest_events(vault.notes, None, "", most=_MOST)
    with closing(connect_to_read(vault.engram)) as db, reading(db):
        return newest_events(vault.notes, db, "", most=_MOST)


class Section(Listing):
    """The timeline of all projects, the newest first."""

    SECTION = "timeline"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("t", "around", "Around this note")]

    def __init__(self) -> None:
        super().__init__()
        self._events: dict[str, TimelineEvent] = {}

    def reload(self) -> None:
        self.read(lambda _: recent_events(self.program.vault), self._show)

    def _show(self, found: list[TimelineEvent]) -> None:
        self._events = {f"{each.kind} {each.what.id}": each for each in found}
        self.show_title("Notes, sessions and prompts, the newest first")
        self.rows.fill([(key, _row(each)) for key, each in self._events.items()], self.rows.key)

    @property
    def _chosen(self) -> TimelineEvent | None:
        return self._events.get(self.rows.key or "")

    @on(OptionList.OptionHighlighted, "#rows")
    def _preview(self) -> None:
        if each := self._chosen:
            self.pane.show(_described(each), self.rows.key or "")

    @on(OptionList.OptionSelected, "#rows")
    def _open(self) -> None:
        if (each := self._chosen) and isinstance(each.what, Memory):
            self.program.open_note(each.what.id)

    def action_around(self) -> None:
        if (each := self._chosen) and isinstance(each.what, Memory):
            self.program.show_timeline(each.what)


def _row(each: TimelineEvent) -> Content:
    what = each.what
    if isinstance(what, Memory):
        text = _title(what)
    elif isinstance(what, SessionSummary):
        text = what.summary or f"{what.project}, {what.observation_count} observations"
    else:
        text = what.content
    return Content.assemble(
        (f"{brief_age(each.at):>5} ", drawing.MUTED),
        (f"{each.kind:<8}", _STYLES[each.kind]),
        drawing.line(text),
    )


def _title(note: Memory) -> str:
    """The title of a note, after its origin if it is foreign."""
    origin = origin_of(note)
    return f"{origin.brief}: {note.title}" if origin else note.title


def _described(each: TimelineEvent) -> Content:
    if isinstance(each.what, Memory):
        return drawing.note(each.what)
    if isinstance(each.what, SessionSummary):
        return session(each.what)
    return prompt(each.what)


def session(each: SessionSummary) -> Content:
    """A session of Engram as a text."""
    ended = f"ended {age(each.ended_at.replace(' ', 'T') + '+00:00')}" if each.ended_at else "not ended"
    facts = f"{each.project} · {each.observation_count} observations · {ended}"
    parts = [drawing.line(f"Session {each.id}", "bold"), drawing.line(facts, drawing.MUTED), Content()]
    return drawing.lines([*parts, drawing.body(each.summary or "It has no summary.")])


def prompt(each: Prompt) -> Content:
    """A prompt of a user as a text."""
    facts = drawing.line(f"{each.project or 'no project'} · session {each.session_id}", drawing.MUTED)
    return drawing.lines([Content.styled("Prompt", "bold"), facts, Content(), drawing.multiline(each.content)])


def around(store: MemoryStore, note: Memory) -> list[Memory]:
    """The notes of a project that changed before and after one, the newest first."""
    later = store.count(project=note.project, since=note.updated_at)
    offset = max(0, later - _NEIGHBOURS)
    notes = store.list(project=note.project, limit=2 * _NEIGHBOURS, offset=offset)
    return with_origins(notes, store.origins(notes))


class NotesAround(Listing):
    """The notes of a project before and after one; the cursor is on that one."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "edit", "Edit")]

    def __init__(self, note: Memory) -> None:
        super().__init__()
        self._note = note
        self._notes: dict[str, Memory] = {}

    def reload(self) -> None:
        self.read(lambda store: around(store, self._note), self._show)

    def _show(self, found: list[Memory]) -> None:
        self._notes = {note.id: note for note in found}
        self.show_title(f"{self._note.project}: changes before and after “{self._note.title}”")
        self.rows.fill([(note.id, self._row(note)) for note in found], self.rows.key or self._note.id)

    def _row(self, note: Memory) -> Content:
        is_centre = note.id == self._note.id
        return Content.assemble(
            ("▶ " if is_centre else "  ", "$accent"),
            (f"{brief_age(note.updated_at):>5} ", drawing.MUTED),
            (f"{note.type[:4]} ", "$secondary"),
            drawing.line(_title(note), "bold" if is_centre else ""),
        )

    @on(OptionList.OptionHighlighted, "#rows")
    def _preview(self) -> None:
        if note := self._notes.get(self.rows.key or ""):
            self.pane.show(drawing.note(note), note.id)

    @on(OptionList.OptionSelected, "#rows")
    def _open(self) -> None:
        self.program.open_note(self.rows.key or "")

    def action_edit(self) -> None:
        from anamnesis.tui.user_editor import edit

        if self.rows.key:
            edit(self.program, self.rows.key)
