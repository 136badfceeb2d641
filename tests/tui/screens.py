"""The application on a home, driven without a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot

from anamnesis.config import Settings, read_settings
from anamnesis.tui.app import Anamnesis
from anamnesis.tui.rows import Pane, Rows

_TURNS = 1_000


class Driver:
    """Presses keys, and waits until the screen says something."""

    def __init__(self, app: Anamnesis, pilot: Pilot[None]) -> None:
        self.app = app
        self._pilot = pilot

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    async def click(self, selector: str, offset: tuple[int, int]) -> None:
        await self._pilot.click(selector, offset=offset)

    async def until(self, holds: Callable[[], object]) -> None:
        for _ in range(_TURNS):
            if holds():
                return
            await self._pilot.pause(0.02)
        raise AssertionError(f"It never held. The screen:\n{self.text}")

    async def shows(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.text for text in texts))

    @property
    def text(self) -> str:
        """The characters on the screen."""
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    @property
    def rows(self) -> list[str]:
        """The rows of the list in front."""
        lists = [each for each in self.app.screen.query(Rows) if each.id in ("hits", "rows", "revisions")]
        return [str(option.prompt) for option in lists[0].options]

    @property
    def pane(self) -> str:
        return str(self.app.screen.query_one(Pane)._text.content)


def settings_of(home: Path) -> Settings:
    return read_settings({"ANAMNESIS_HOME": str(home), "ANAMNESIS_MACHINE_ID": "thinkpad"}, home)


def drive(home: Path, play: Callable[[Driver], Awaitable[None]], size: tuple[int, int] = (100, 30)) -> None:
    """Run the application on a home while `play` uses it."""

    async def run() -> None:
        app = Anamnesis(settings_of(home))
        async with app.run_test(size=size, notifications=True) as pilot:
            await play(Driver(app, pilot))

    asyncio.run(run())
