"""The first frame, in escape sequences: the user sees it, and can type, 200 ms before Textual is imported.

Textual then draws the same frame over it. Keys typed until then stay in the terminal's queue.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from anamnesis.tui.sections import PLACEHOLDER, SECTIONS

# Background, surface and text of the themes (see `looks`), for terminals that announce true colours.
_DARK, _LIGHT = ((22, 24, 29), (29, 32, 39), (140, 147, 160)), ((251, 250, 247), (241, 239, 233), (104, 106, 114))


def size() -> tuple[int, int]:
    """The columns and lines of the terminal."""
    found = shutil.get_terminal_size((80, 24))
    return found.columns, found.lines


@contextmanager
def shown(is_dark: bool) -> Iterator[Callable[[], None]]:
    """Show the frame. The yielded function hands the terminal to Textual, which restores it itself."""
    stream = sys.__stderr__
    if os.name == "nt" or stream is None:
        yield lambda: None
        return
    unlock = _without_echo()
    stream.write(_frame(is_dark, *size()))
    stream.flush()
    is_ours = True

    def release() -> None:
        nonlocal is_ours
        unlock()
        is_ours = False

    try:
        yield release
    finally:
        if is_ours:
            unlock()
            stream.write("\x1b[0m\x1b[?1049l\x1b[?25h")
            stream.flush()


def _without_echo() -> Callable[[], None]:
    """Turn off echo and line buffering of the terminal; the returned function restores them."""
    import termios

    before = termios.tcgetattr(0)
    now = termios.tcgetattr(0)
    now[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(0, termios.TCSANOW, now)
    return lambda: termios.tcsetattr(0, termios.TCSANOW, before)


def _frame(is_dark: bool, columns: int, lines: int) -> str:
    """The sections, the search line and the footer, as the application shows them before its first read."""
    background, surface, text = (_colours if _has_true_colour() else _plain)(_DARK if is_dark else _LIGHT)
    names = "".join(f" {number} {title}" for number, title in enumerate(SECTIONS.values(), 1))
    rows = {1: (surface, names), 2: (background, f" / {PLACEHOLDER}"), lines: (surface, "")}
    drawn = "".join(
        f"\x1b[{row};1H{colour}{text}{line[:columns].ljust(columns)}" for row, (colour, line) in rows.items()
    )
    return f"\x1b[?1049h\x1b[?25l{background}\x1b[2J{drawn}\x1b[0m"


def _colours(colours: tuple[tuple[int, int, int], ...]) -> tuple[str, ...]:
    codes = [";".join(map(str, colour)) for colour in colours]
    return (f"\x1b[48;2;{codes[0]}m", f"\x1b[48;2;{codes[1]}m", f"\x1b[38;2;{codes[2]}m")


def _plain(_: object) -> tuple[str, ...]:
    return ("", "", "")


def _has_true_colour() -> bool:
    return os.environ.get("COLORTERM", "") in ("truecolor", "24bit") and "NO_COLOR" not in os.environ
