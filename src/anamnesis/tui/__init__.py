"""The terminal application: search, read, edit and review the memory. Only this package imports Textual.

Nothing slow is imported before the first frame: see `first_frame`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from anamnesis.tui import first_frame

if TYPE_CHECKING:
    from anamnesis.config import Settings

# The application is designed for 80 columns and 24 lines; below these it is unusable.
LEAST_COLUMNS, LEAST_LINES = 60, 15


def is_on_terminal() -> bool:
    """Whether stdin and stderr are a terminal. Frames go to stderr, so that stdout can be a pipe."""
    # Under pythonw, the streams are None.
    return all(stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stderr__))


def refusal() -> str:
    """Why this terminal cannot show the application; "" if it can."""
    if not is_on_terminal():
        return "The terminal application needs a terminal. In a pipe, use `anamnesis search` or `anamnesis list`."
    if os.environ.get("TERM", "") in ("dumb", "unknown"):
        return "This terminal can only print lines (TERM is dumb). Use `anamnesis search` or `anamnesis list`."
    columns, lines = first_frame.size()
    if columns < LEAST_COLUMNS or lines < LEAST_LINES:
        return f"The terminal has {columns}×{lines} characters, and at least {LEAST_COLUMNS}×{LEAST_LINES} are needed."
    return ""


def run(settings: Settings) -> None:
    """Run the application until the user quits."""
    _shorten_escape_delay()
    is_dark = _is_dark(settings)
    with first_frame.shown(is_dark) as release:
        from anamnesis.tui.app import Anamnesis

        app = Anamnesis(settings, is_dark=is_dark)
        release()
        app.run()


def pick(settings: Settings, query: str = "") -> str | None:
    """The id of the note that the user picks; None if the user cancels."""
    _shorten_escape_delay()
    from anamnesis.tui.pick import Pick

    return Pick(settings, query, is_dark=_is_dark(settings)).run()


def _shorten_escape_delay() -> None:
    """Wait 25 ms instead of 100 for the rest of a key's escape sequence, unless the user has set the variable."""
    os.environ.setdefault("ESCDELAY", "25")


def _is_dark(settings: Settings) -> bool:
    """Whether the background is dark: by the setting, else by the terminal's variable, else true."""
    chosen = settings.resolved("theme").valid
    if chosen != "auto":
        return chosen == "dark"
    # "15;0" is white on black; the light backgrounds are 7 and 15.
    return os.environ.get("COLORFGBG", "").rpartition(";")[2] not in ("7", "15")
