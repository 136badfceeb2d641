"""The sessions: those of Engram with their observations, and the notes of captured sessions."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import NamedTuple

from textual import on
from textual.content import Content
from textual.widgets import OptionList

from anamnesis.age import brief_age
from anamnesis.engram import sessions
from anamnesis.engram.database import connect_to_read, reading
from anamnesis.engram.record import SessionSummary
from anamnesis.notes import Memory
from anamnesis.timeline import utc
from anamnesis.tui import drawing
from anamnesis.tui.listing import Listing
from anamnesis.tui.timeline import session
from anamnesis.vault import Vault

_MOST = 100


class RecentSession(NamedTuple):
    """A session of Engram or a session's note, and its time."""

    at: str
    what: Memory | SessionSummary


def recent_sessions(vault: Vault) -> list[RecentSession]:
    """The last sessions, the newest first."""
    found = [
        RecentSession(note.created_at, note) for note in vault.notes.list(type="episodic", limit=_MOST, order="created")
    ]
    if vault.engram:
        with closing(connect_to_read(vault.engram)) as db, reading(db):
            found += [RecentSession(utc(each.started_at), each) for each in sessions.recent(db, limit=_MOST)]
    return sorted(found, key=lambda each: each.at, reverse=True)


class Section(Listing):
    """The sessions, the newest first."""

    SECTION = "sessions"

    def __init__(self) -> None:
        super().__init__()
        self._sessions: dict[str, RecentSession] = {}

    def reload(self) -> None:
        self.read(lambda _: recent_sessions(self.program.vault), self._show)

    def _show(self, found: list[RecentSession]) -> None:
        self._sessions = {each.what.id: each for each in found}
        self.show_title("Sessions, the newest first" if found else "No sessions yet")
        self.rows.fill(self._rows(), self.rows.key)

    def _rows(self) -> Iterable[tuple[str, Content]]:
        for key, (at, what) in self._sessions.items():
            text = what.title if isinstance(what, Memory) else what.summary or what.id
            where = what.project.rpartition("/")[2]
            since, project = (f"{brief_age(at):>5} ", drawing.MUTED), drawing.padded(where, 10, "$success")
            yield key, Content.assemble(since, project, " ", drawing.line(text))

    @on(OptionList.OptionHighlighted, "#rows")
    def _preview(self) -> None:
        if each := self._sessions.get(self.rows.key or ""):
            shown = drawing.note(each.what) if isinstance(each.what, Memory) else session(each.what)
            self.pane.show(shown, each.what.id)

    @on(OptionList.OptionSelected, "#rows")
    def _open(self) -> None:
        each = self._sessions.get(self.rows.key or "")
        if each and isinstance(each.what, Memory):
            self.program.open_note(each.what.id)
