"""Small questions over a screen: yes or no, and a line of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static

from anamnesis.tui.drawing import MUTED, multiline


class Confirm(ModalScreen[bool]):
    """A question that is answered by y or n."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "answer(True)", "Yes"),
        Binding("n,escape,q", "answer(False)", "No"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> Iterable[Widget]:
        with Vertical(classes="dialog"):
            yield Static(multiline(self._question), markup=False)
            yield Static(Content.assemble("\n", ("y", "bold $primary"), " yes   ", ("n", "bold $primary"), " no"))

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


class Ask(ModalScreen[str | None]):
    """A question for a line of text; None if the user cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Back", show=False)]

    def __init__(self, question: str, value: str = "") -> None:
        super().__init__()
        self._question = question
        self._value = value

    def compose(self) -> Iterable[Widget]:
        with Vertical(classes="dialog"):
            yield Static(multiline(self._question), markup=False)
            yield Input(self._value, select_on_focus=False)
            yield Static(Content.styled("\nenter saves, esc cancels", MUTED))

    @on(Input.Submitted)
    def _answer(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)
