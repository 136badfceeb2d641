"""The settings of this machine: the values in force, their sources, and changing them."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList

from anamnesis.config import DEFAULT, change_config, resolve_settings, saved_sentence
from anamnesis.errors import AnamnesisError
from anamnesis.setting import ResolvedSetting
from anamnesis.tui import drawing
from anamnesis.tui.dialogs import Ask
from anamnesis.tui.latest import notify_error
from anamnesis.tui.listing import Listing


class Section(Listing):
    """A row per setting; enter changes the one under the cursor."""

    SECTION = "settings"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "change", "Change", show=False),
        Binding("c", "change", "Change"),
        Binding("x", "unset", "Remove"),
    ]

    def reload(self) -> None:
        self.show_title("Settings of this machine")
        rows = self.rows
        rows.fill([(each.setting.name, _row(each)) for each in self.program.settings.found], rows.key)

    @property
    def _chosen(self) -> ResolvedSetting | None:
        key = self.rows.key
        return self.program.settings.resolved(key) if key else None

    @on(OptionList.OptionHighlighted, "#rows")
    def _describe(self) -> None:
        if each := self._chosen:
            self.pane.show(_described(each), each.setting.name)

    @on(OptionList.OptionSelected, "#rows")
    def action_change(self) -> None:
        each = self._chosen
        if each is None:
            return
        name = each.setting.name
        if each.setting.is_secret:
            self.announce(f"{name} is a secret. Set it in a shell: anamnesis config set {name} VALUE")
            return
        question = Ask(f"{name}\n{each.setting.purpose}", each.value or "")
        self.app.push_screen(question, lambda value: self._save(name, value))

    def action_unset(self) -> None:
        if each := self._chosen:
            self._save(each.setting.name, "")

    def _save(self, name: str, value: str | None) -> None:
        """Check and save a setting; an empty value removes it."""
        if value is None:
            return
        try:
            change_config(self.program.settings.home, name, value.strip() or None)
        except AnamnesisError as error:
            notify_error(self, error)
            return
        self.program.settings = resolve_settings()
        self.announce(saved_sentence(self.program.settings.resolved(name), is_removed=not value.strip()))
        self.reload()
        self._describe()


def _row(each: ResolvedSetting) -> Content:
    style = "$error" if each.fault else "bold" if each.source != DEFAULT else drawing.MUTED
    name, value = drawing.padded(each.setting.name, 22, "$primary"), drawing.line(each.shown or "none", style)
    return Content.assemble(name, " ", value)


def _described(each: ResolvedSetting) -> Content:
    source = DEFAULT if each.falls_back else each.source
    parts = [
        drawing.line(each.setting.name, "bold"),
        drawing.line(each.shown or "none"),
        Content(),
        drawing.multiline(each.setting.purpose),
        Content(),
        drawing.line(f"from {source}", drawing.MUTED),
        drawing.line(f"variable {each.setting.variable}", drawing.MUTED),
        drawing.line(f"default {each.setting.default}", drawing.MUTED),
    ]
    return drawing.lines([*parts, *([drawing.multiline(each.fault, "$error")] if each.fault else [])])
