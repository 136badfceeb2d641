"""The application of `anamnesis pick`: a search whose chosen note is the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input, OptionList

from anamnesis.tui.app import Reader
from anamnesis.tui.notes import Search

if TYPE_CHECKING:
    from anamnesis.config import Settings


class PickScreen(Search):
    """A search that ends with a note or with none. Keys move the cursor while the query is typed."""

    AUTO_FOCUS = "#query"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Choose", priority=True),
        Binding("escape", "leave", "Leave", priority=True),
        Binding("down,ctrl+j,ctrl+n", "move(1)", "Down", show=False, priority=True),
        Binding("up,ctrl+k,ctrl+p", "move(-1)", "Up", show=False, priority=True),
    ]

    def action_move(self, by: int) -> None:
        (self.hits.action_cursor_down if by > 0 else self.hits.action_cursor_up)()

    def action_choose(self) -> None:
        if self.hits.key:
            self.app.exit(self.hits.key)

    def action_leave(self) -> None:
        self.app.exit(None)

    @on(Input.Submitted, "#query")
    def _submitted(self) -> None:
        self.action_choose()

    @on(OptionList.OptionSelected, "#hits")
    def _selected(self) -> None:
        self.action_choose()


class Pick(Reader[str]):
    """The application that returns one note."""

    def __init__(self, settings: Settings, query: str = "", *, is_dark: bool = True) -> None:
        super().__init__(settings, is_dark=is_dark)
        self._query = query

    def on_mount(self) -> None:
        self.push_screen(PickScreen(self._query))
