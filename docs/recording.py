"""Draws docs/terminal.svg: a real session of the command in a terminal, in a fresh home. A test draws it again."""

from __future__ import annotations

import io
import shlex
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from anamnesis.notes import Memory

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))
from tests.cli.command import Command  # noqa: E402  the terminal of the tests, which is not installed

DRAWING = DOCS / "terminal.svg"
WIDTH = 80
COMMANDS = (
    'anamnesis write "Use WAL mode for SQLite" "Set busy_timeout on every connection." --tag sqlite',
    "anamnesis list",
    "anamnesis search database lock",
    "anamnesis pin @1",
    "anamnesis show @1",
)
# Notes with fixed ids and ages: id, type, project, title, body, days.
NOTES = (
    ("01J9Z8YPM7Q3X2V4WT6B5N0KGD", "procedural", "github.com/acme/web", "Run a single test", "pytest -k name", 2),
    (
        "01J9ZB0C4F8H2K6M3P9R7S5T1W",
        "semantic",
        "github.com/acme/web",
        "The pool has six connections",
        "One lock each.",
        9,
    ),
    ("01J9ZC1D5G9J3M7N4Q0S8T6V2X", "semantic", "global", "Prefer small commits", "One story each.", 40),
    (
        "01J9ZD2E6HAK4N8P5R1T9V7W3Y",
        "episodic",
        "github.com/acme/api",
        "Writes failed: a report holds the database lock while it is made",
        "It kept one transaction open for minutes.\n\n- read in pages\n- commit in between",
        70,
    ),
)
# What a new note has instead of its own random id.
NEW_ID = "01M7FB33AK4TRD146HDA4CWPY7"
# The frame of the drawing. The fonts are those of the reader, so that nothing is loaded from elsewhere.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
    font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
    font-size: {char_height}px; line-height: {line_height}px;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def drawn() -> str:
    """The session as an SVG."""
    console = Console(
        width=WIDTH, record=True, file=io.StringIO(), force_terminal=True, color_system="standard", legacy_windows=False
    )
    for line, shown in session():
        console.print(Text.assemble(("$ ", "bold green"), (line, "bold")), soft_wrap=False)
        console.print(Text.from_ansi(shown))
    return console.export_svg(title="anamnesis", theme=DIMMED_MONOKAI, code_format=FRAME, unique_id="anamnesis")


def session() -> list[tuple[str, str]]:
    """Each command with what it printed on a terminal, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        command = Command(Path(folder))
        with command.store() as store:
            store.put_all(recorded_notes())
        return [(line, _steady(command, line)) for line in COMMANDS]


def recorded_notes() -> list[Memory]:
    """The notes of the session, as old as they are to be."""
    now = datetime.now(UTC)
    found = []
    for note_id, kind, project, title, body, days in NOTES:
        then = (now - timedelta(days=days, hours=1)).isoformat(timespec="seconds")
        found.append(Memory(note_id, kind, title, body, project, "thinkpad", created_at=then, updated_at=then))
    return found


def _steady(command: Command, line: str) -> str:
    """What a command prints on a terminal, with one and the same id for the new note."""
    shown = command.on_terminal(*shlex.split(line)[1:], COLUMNS=str(WIDTH), TERM="xterm")
    with command.store() as store:
        for note in store.list():
            if note.id not in {each[0] for each in NOTES}:
                shown = shown.replace(note.id, NEW_ID).replace(note.id[-8:], NEW_ID[-8:])
    return "\n".join(each.rstrip() for each in shown.rstrip().split("\n"))


if __name__ == "__main__":
    DRAWING.write_text(drawn(), encoding="utf-8")
