"""The terminal application: search, read, edit and look after the memory. Only this package imports Textual.

Nothing slow is imported before the first frame: see `first_frame`.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from anamnesis.tui import first_frame

if TYPE_CHECKING:
    from anamnesis.config import Settings

# The application is made for 80 columns and 24 lines; below these it cannot be used.
LEAST_COLUMNS, LEAST_LINES = 60, 15


def is_on_terminal() -> bool:
    """Whether keys come from a terminal and frames go to one. Frames go to stderr, so that stdout can be a pipe."""
    # Under pythonw, there are no streams.
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
    """Run the application until it is left."""
    _answer_escape_soon()
    is_dark = _is_dark(settings)
    with first_frame.shown(is_dark) as release:
        from anamnesis.tui.app import Anamnesis

        app = Anamnesis(settings, is_dark=is_dark)
        release()
        app.run()


def pick(settings: Settings, query: str = "") -> str | None:
    """The id of the note that a person chooses; None if none is chosen."""
    _answer_escape_soon()
    from anamnesis.tui.pick import Pick

    return Pick(settings, query, is_dark=_is_dark(settings)).run()


def _answer_escape_soon() -> None:
    """Wait 25 ms, not 100, for what follows an escape in the sequence of a key; the user's own variable counts."""
    os.environ.setdefault("ESCDELAY", "25")


def _is_dark(settings: Settings) -> bool:
    """Whether the background is dark: by the setting, else by the variable that some terminals set, else it is."""
    chosen = settings.resolved("theme").valid
    if chosen != "auto":
        return chosen == "dark"
    # "15;0" is white on black; the light backgrounds are 7 and 15.
    return os.environ.get("COLORFGBG", "").rpartition(";")[2] not in ("7", "15")
