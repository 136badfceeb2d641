"""The parts that all screens share: the sections at the top, the keys at the bottom, and the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from anamnesis.tui.latest import FAILURES, Latest, notify_error
from anamnesis.tui.sections import SECTIONS

if TYPE_CHECKING:
    from anamnesis.store import MemoryStore
    from anamnesis.tui.app import Anamnesis
    from anamnesis.vault import Vault

T = TypeVar("T")
# Below this width, lists have fewer columns and facets replace the preview.
WIDE = 100


class TuiPage(Screen[None]):
    """A screen of the application. It reads the memory in a thread and shows the result."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", "Back")]
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012  as Textual declares it
    SECTION: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self._reads = Latest[Any](self)
        self.is_stale = False

    @property
    def program(self) -> Anamnesis:
        return cast("Anamnesis", self.app)

    @property
    def is_wide(self) -> bool:
        return self.size.width >= WIDE

    def compose(self) -> Iterable[Widget]:
        yield Static(heading(self.SECTION or self.app.current_mode), id="heading")
        yield from self.parts()
        yield KeyLine(id="keys")

    def parts(self) -> Iterable[Widget]:
        """The widgets between the heading and the keys."""
        return ()

    def on_screen_resume(self) -> None:
        self.catch_up()

    def catch_up(self) -> None:
        """Reload if notes have changed since the last read."""
        if self.is_stale:
            self.is_stale = False
            self.reload()

    def read(self, work: Callable[[MemoryStore], T], show: Callable[[T], object]) -> None:
        """Read notes in a thread and show the result."""
        self._reads.ask(lambda: work(self.program.vault.notes), show)

    def change(self, work: Callable[[Vault], T], then: Callable[[T], object]) -> None:
        """Change the memory in a thread, as a command would, then call `then`. A later read does not cancel it."""
        self.app.run_worker(self._changing(work, then))

    async def _changing(self, work: Callable[[Vault], T], then: Callable[[T], object]) -> None:
        try:
            done = await asyncio.to_thread(self.program.with_vault, work)
        except FAILURES as error:
            notify_error(self, error)
            return
        then(done)

    def announce(self, message: str) -> None:
        self.app.notify(message, markup=False)

    def action_back(self) -> None:
        """Close a screen on top of a section; in a section, go to the notes."""
        if len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        else:
            self.program.action_section("notes")

    def reload(self) -> None:
        """Read and show again, after a change."""


class KeyLine(Static):
    """The active keys, each clickable. One widget, where a `Footer` has one for each key."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.show())
        self.show()

    def show(self) -> None:
        shown = dict.fromkeys(each.binding for each in self.screen.active_bindings.values() if each.binding.show)
        parts = [Content.assemble(*self._named(each)) for each in shown]
        # The last two are help and quit. Keys that do not fit are in the help.
        while sum(part.cell_length for part in parts) > self.app.size.width and len(parts) > 2:
            parts.pop(-3)
        self.update(Content.assemble(*parts))

    def on_resize(self) -> None:
        self.show()

    def _named(self, binding: Binding) -> Iterable[Content | tuple[str, str]]:
        yield f" {self.app.get_key_display(binding)} ", "$primary"
        yield Content.from_markup(f"[@click=app.simulate_key('{binding.key}')]{binding.description}[/]")


def heading(section: str) -> Content:
    """The names of the sections, each a link; the current one is highlighted."""
    shown = " "
    for number, (name, title) in enumerate(SECTIONS.items(), 1):
        if name == section:
            shown = f"{shown[:-1]}[bold $foreground on $panel] {number} {title} [/]"
        else:
            shown += f"[$primary]{number}[/] [@click=app.section('{name}')]{title}[/] "
    return Content.from_markup(shown)
