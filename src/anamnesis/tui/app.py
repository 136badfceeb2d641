"""The application: its sections, its keys, and the memory that its screens read."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Input

from anamnesis.tui.looks import DARK, LIGHT, STYLES
from anamnesis.tui.sections import SECTIONS

if TYPE_CHECKING:
    from anamnesis.config import Settings
    from anamnesis.notes import Memory
    from anamnesis.tui.chrome import TuiPage
    from anamnesis.vault import Vault

T = TypeVar("T")
R = TypeVar("R")
_LOOK_SECONDS = 1.0
# Modules that are not needed for the first frame.
_LATER = (*SECTIONS, "note", "history", "help", "user_editor")


def _screen(name: str) -> Screen[None]:
    """The screen of a section, whose module is imported only now."""
    screen: Screen[None] = importlib.import_module(f"anamnesis.tui.{name}").Section()
    return screen


class Reader(App[T]):
    """An application that reads the memory, which is opened by the first read, in its thread."""

    CSS = STYLES
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", "Quit", show=False, priority=True)]

    def __init__(self, settings: Settings, *, is_dark: bool = True) -> None:
        super().__init__()
        self.settings = settings
        self._opening = threading.Lock()
        self._vault: Vault | None = None
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        # Set before the style sheet is parsed; otherwise it would be parsed twice, which takes 15 ms.
        self.set_reactive(App.theme, (DARK if is_dark else LIGHT).name)
        self.stylesheet.set_variables(self.get_css_variables())
        self.update_classes({"-dark-mode": is_dark, "-light-mode": not is_dark}, update=False)

    @property
    def vault(self) -> Vault:
        """The memory, for reading."""
        with self._opening:
            if self._vault is None:
                from anamnesis.vault import open_vault  # takes 100 ms, so it is imported after the first frame

                self._vault = open_vault(self.settings, only_to_read=True)
            return self._vault

    def with_vault(self, work: Callable[[Vault], R]) -> R:
        """Change the memory in a vault of its own, as a command does; the bridge follows."""
        from anamnesis.vault import open_vault

        with open_vault(self.settings) as vault:
            return work(vault)

    def on_unmount(self) -> None:
        with self._opening:
            if self._vault:
                self._vault.close()


class Anamnesis(Reader[None]):
    """The application: sections, each with its own stack of screens."""

    MODES: ClassVar[dict[str, str | Callable[[], Screen[None]]]] = {name: partial(_screen, name) for name in SECTIONS}
    DEFAULT_MODE = "notes"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"section('{name}')", title, show=False)
            for number, (name, title) in enumerate(SECTIONS.items(), 1)
        ),
        # With priority, it runs before the next key is read: "/words" may arrive at once.
        Binding("slash", "search", "Search", show=False, priority=True),
        Binding("T", "theme", "Light or dark", show=False),
        Binding("question_mark", "help", "Help"),
        Binding("q", "quit", "Quit"),
    ]

    def on_mount(self) -> None:
        self._last: int | None = None  # the last change that was seen
        self.set_interval(_LOOK_SECONDS, lambda: self.run_worker(self._look(), group="look", exclusive=True))

    async def _look(self) -> None:
        """Show the changes of other programs: on this screen at once, on others when they are opened again."""
        from anamnesis.tui.latest import FAILURES

        if self._vault is None:
            return
        if self._last is None:  # the first page is shown: import the other sections' modules now
            await asyncio.to_thread(lambda: [importlib.import_module(f"anamnesis.tui.{name}") for name in _LATER])
        try:
            last = await asyncio.to_thread(self._vault.notes.log.last)
        except FAILURES:
            return  # the next read reports it
        if self._last is not None and last != self._last:
            for page in self._pages():
                page.is_stale = True
                if page is self.screen:
                    page.catch_up()
        self._last = last

    def action_section(self, name: str) -> None:
        self.switch_mode(name)

    def action_search(self) -> None:
        """Go to the search of the notes."""
        from anamnesis.tui.notes import Section

        self.switch_mode("notes")
        while len(self.screen_stack) > 1:
            self.pop_screen()
        if isinstance(self.screen, Section):
            self.screen.action_query()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In an input, a slash is text."""
        return action != "search" or not isinstance(self.focused, Input)

    def action_theme(self) -> None:
        """Switch between light and dark, for this run; the setting `theme` is permanent."""
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name

    def action_help(self) -> None:
        from anamnesis.tui.help import Help

        if not isinstance(self.screen, Help):
            self.push_screen(Help(self.screen))

    def open_note(self, note_id: str) -> None:
        """Show a note on top of this screen."""
        from anamnesis.tui.note import NotePage

        self.push_screen(NotePage(note_id))

    def show_timeline(self, note: Memory) -> None:
        """Show the timeline around a note."""
        from anamnesis.tui.timeline import NotesAround

        self.push_screen(NotesAround(note))

    def on_app_focus(self) -> None:
        """Show the changes that other programs made while another window had the focus."""
        from anamnesis.tui.chrome import TuiPage

        if isinstance(self.screen, TuiPage) and self.screen.is_mounted:
            self.screen.reload()

    def reload(self) -> None:
        """Reload every open screen after a change."""
        for page in self._pages():
            page.reload()

    def _pages(self) -> list[TuiPage]:
        from anamnesis.tui.chrome import TuiPage

        screens = [screen for stack in self._screen_stacks.values() for screen in stack]
        return [screen for screen in screens if isinstance(screen, TuiPage) and screen.is_mounted]
