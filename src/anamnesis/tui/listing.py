"""The layout of most sections: a title, rows, and a pane for the row under the cursor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from anamnesis.tui import drawing
from anamnesis.tui.chrome import TuiPage
from anamnesis.tui.rows import Pane, Rows


class Listing(TuiPage):
    """Reads its rows when it is opened. `WIDTH` is the class of the style sheet for the rows."""

    AUTO_FOCUS = "#rows"
    WIDTH: ClassVar[str] = "list"

    def parts(self) -> Iterable[Widget]:
        yield Static(classes="line", id="title", markup=False)
        with Horizontal(classes="columns"):
            yield Rows(id="rows", classes=self.WIDTH)
            yield Pane(id="pane")

    def on_mount(self) -> None:
        self.reload()

    @property
    def rows(self) -> Rows:
        return self.query_one("#rows", Rows)

    @property
    def pane(self) -> Pane:
        return self.query_one("#pane", Pane)

    def show_title(self, text: str | Content) -> None:
        self.query_one("#title", Static).update(drawing.line(text) if isinstance(text, str) else text)
