"""The help on top of a screen: the keys of the application and those of the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Static

from anamnesis.tui.drawing import lines
from anamnesis.tui.sections import SECTIONS

_EVERYWHERE = (
    ("j k ↑ ↓", "move the cursor, scroll"),
    ("g G", "first, last"),
    ("^d ^u", "page down, page up"),
    ("enter", "open"),
    ("tab", "to the next part"),
    ("/", "search the notes"),
    ("esc", "back"),
    (f"1 … {len(SECTIONS)}", "the sections"),
    ("T", "light or dark"),
    ("q", "quit"),
    ("mouse", "choose, open, scroll"),
)


class Help(ModalScreen[None]):
    """The meaning of keys on a screen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,enter", "dismiss", "Close")]

    def __init__(self, below: Screen[Any]) -> None:
        super().__init__()
        self._below = below

    def compose(self) -> Iterable[Widget]:
        bindings = [each for some in self._below._bindings.key_to_bindings.values() for each in some if each.show]
        here = [(self.app.get_key_display(each), each.description.lower()) for each in bindings]
        with Horizontal(classes="dialog wide"):
            yield Static(_table("Everywhere", _EVERYWHERE))
            yield Static(_table("On this screen", [pair for pair in here if pair[1] != "back"]))


def _table(title: str, keys: Sequence[tuple[str, str]]) -> Content:
    return lines([Content.styled(title, "bold"), *map(_row, keys)])


def _row(pair: tuple[str, str]) -> Content:
    return Content.assemble((f"{pair[0]:<9}", "$primary"), pair[1])
