"""The context that a session would get, in a folder and at a prompt, and what sessions got lately."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from textual import on
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static

from anamnesis.age import brief_age
from anamnesis.at_hand import at_hand
from anamnesis.config import Settings, read_anew
from anamnesis.errors import InvalidArgument
from anamnesis.eval.report import estimate_tokens
from anamnesis.inject import notice_of, render_recall, select_recall, session_start
from anamnesis.notes import Memory
from anamnesis.plural import counted
from anamnesis.project import find_project
from anamnesis.recall.relevance import LONGEST_QUERY
from anamnesis.store import MemoryStore
from anamnesis.timeline import recently_received
from anamnesis.tui import drawing
from anamnesis.tui.listing import Listing

_MOST_EVENTS = 40


class SessionContext(NamedTuple):
    """The notes and the text for the start of a session and for a prompt, and the last injections."""

    project: str
    start: list[Memory]
    text: str
    at_prompt: list[Memory]
    answer: str
    log: list[dict[str, Any]]


def session_context(store: MemoryStore, settings: Settings, folder: str, prompt: str) -> SessionContext:
    """The context of a session in a folder, at its start and then at a prompt."""
    place = Path(folder)
    if not place.is_absolute() or not place.is_dir():
        raise InvalidArgument(f"{folder[:200]!r} is not a folder of this machine.", "Give its full path.")
    found, hints = find_project(place, settings.home, settings.user_home), at_hand(place)
    project, budget = found.key, int(read_anew(settings, "inject_budget").valid)
    start = session_start(store, project=project, budget=budget, at_hand=hints, notice=notice_of(found))
    asked = prompt.strip()[:LONGEST_QUERY]
    at_prompt = select_recall(store, asked, project=project, known=start.told) if asked else []
    told = [note for note in start.notes if note.id in start.told]
    answer = render_recall(at_prompt)
    return SessionContext(project, told, start.text, at_prompt, answer, recently_received(store, _MOST_EVENTS))


class Section(Listing):
    """A folder and a prompt to try, and the notes that the session would get."""

    SECTION = "context"

    def __init__(self) -> None:
        super().__init__()
        self._found: SessionContext | None = None

    def parts(self) -> Iterable[Widget]:
        for name, value, hint in (("folder", _here(), "a folder"), ("prompt", "", "a prompt to try")):
            with Horizontal(classes="query"):
                yield Static(f"{name:<7}", classes="label", markup=False)
                yield Input(value, placeholder=hint, id=name, compact=True)
        yield from super().parts()

    @on(Input.Submitted)
    def reload(self) -> None:
        folder, prompt = self.query_one("#folder", Input).value, self.query_one("#prompt", Input).value
        settings = self.program.settings
        self.read(lambda store: session_context(store, settings, folder, prompt), self._show)

    def _show(self, found: SessionContext) -> None:
        self._found = found
        tokens = estimate_tokens(found.text)
        title = f"{found.project}: {counted(len(found.start), 'note')} at the start, about {tokens:,} tokens"
        self.show_title(title)
        rows = self.rows
        rows.fill(_rows(found), rows.key)
        self._show_chosen()

    @on(OptionList.OptionHighlighted, "#rows")
    def _show_chosen(self) -> None:
        if self._found is None:
            return
        kind, _, id = (self.rows.key or "").partition(" ")
        notes = {note.id: note for note in (*self._found.start, *self._found.at_prompt)}
        texts = {"start": self._found.text, "prompt": self._found.answer}
        pane = self.pane
        if not id and kind in texts:
            pane.show(drawing.multiline(texts[kind] or "Nothing."))
        elif id in notes:
            pane.show(drawing.note(notes[id]), id)
        else:
            pane.show(Content())

    @on(OptionList.OptionSelected, "#rows")
    def _open(self, event: OptionList.OptionSelected) -> None:
        _, *ids = (event.option_id or "").split(" ")
        if ids:
            self.program.open_note(ids[0])


def _here() -> str:
    """This folder; "" if it has been removed."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def _rows(found: SessionContext) -> Iterable[tuple[str, Content]]:
    yield "start", Content.styled("At the start of the session", "bold")
    for note in found.start:
        yield f"start {note.id}", drawing.row(note)
    if found.at_prompt or found.answer:
        yield "prompt", Content.styled("At the prompt", "bold")
        for note in found.at_prompt:
            yield f"prompt {note.id}", drawing.row(note)
    if found.log:
        yield "", Content.styled("Injected lately", f"bold {drawing.MUTED}")
    for number, event in enumerate(found.log):
        age = f"{brief_age(event['at']):>5} "
        origin = f"{event['origin']}: " if "origin" in event else ""
        title = drawing.line(f"{origin}{event['title'] or event['id']}")
        yield f"log {event['id']} {number}", Content.assemble((age, drawing.MUTED), f"{event['kind']:<9}", title)
