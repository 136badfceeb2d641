"""Draws docs/tui.svg: the terminal application on a fresh home, in a search. A test draws it again."""

from __future__ import annotations

import asyncio
import io
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console
from textual.pilot import Pilot
from textual.widgets import Input

from anamnesis.config import read_settings
from anamnesis.notes import Memory
from anamnesis.store import MemoryStore
from anamnesis.tui.app import Anamnesis
from anamnesis.tui.notes import Section

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
from recording import FRAME, recorded_notes  # noqa: E402  the notes and the frame of the other drawing

DRAWING = DOCS / "tui.svg"
SIZE = (104, 20)
QUERY = "database lock"
# More notes for the drawing: type, project, title, body, days.
NOTES = (
    ("semantic", "github.com/acme/web", "Use WAL mode for SQLite", "Readers never wait for the lock of a writer.", 0),
    ("procedural", "github.com/acme/api", "Find who holds a lock", "SELECT * FROM pg_locks WHERE NOT granted", 4),
    ("semantic", "github.com/acme/api", "Reports read the database replica", "The primary is for requests.", 12),
    ("episodic", "github.com/acme/web", "Migration 41 took the table lock for an hour", "Split the backfill.", 21),
    ("semantic", "github.com/acme/infra", "The database is backed up at three", "Nothing heavy may run then.", 33),
    ("procedural", "github.com/acme/web", "Reset the test database", "make db-reset", 45),
    ("semantic", "github.com/acme/web", "The lock file is committed", "uv.lock decides what is deployed.", 58),
)


def drawn() -> str:
    """The application as an SVG."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with MemoryStore(home) as store:
            store.put_all([*recorded_notes(), *_notes()])
            store.embed()
        settings = read_settings({"ANAMNESIS_HOME": str(home), "ANAMNESIS_MACHINE_ID": "thinkpad"}, Path(folder))
        return asyncio.run(_drawn(Anamnesis(settings)))


def _notes() -> list[Memory]:
    now = datetime.now(UTC)
    found = []
    for number, (kind, project, title, body, days) in enumerate(NOTES):
        then = (now - timedelta(days=days, hours=2)).isoformat(timespec="seconds")
        note_id = f"01J9ZE3F7JBM5P9Q6S2V0W8X{number:02}"
        found.append(Memory(note_id, kind, title, body, project, "thinkpad", created_at=then, updated_at=then))
    return found


async def _drawn(app: Anamnesis) -> str:
    async with app.run_test(size=SIZE) as pilot:
        await _searched(app, pilot)
        width, height = SIZE
        console = Console(
            width=width,
            height=height,
            file=io.StringIO(),
            force_terminal=True,
            color_system="truecolor",
            record=True,
            legacy_windows=False,
            safe_box=False,
        )
        console.print(app.screen._compositor.render_update(full=True))
        return console.export_svg(title="anamnesis", code_format=FRAME, unique_id="anamnesis-tui")


async def _searched(app: Anamnesis, pilot: Pilot[None]) -> None:
    """Type the query, and wait until meaning was compared as well."""
    screen = app.screen
    assert isinstance(screen, Section)  # noqa: S101  the first section
    screen.query_one(Input).cursor_blink = False
    await pilot.press("slash", *QUERY)
    while screen.mode != "fused" or screen.found.query != QUERY:
        await pilot.pause(0.05)
    await pilot.pause()


if __name__ == "__main__":
    DRAWING.write_text(drawn(), encoding="utf-8")
