"""`engram tui`: the terminal application."""

from __future__ import annotations

from anamnesis import tui
from anamnesis.config import Settings
from anamnesis.engram_cli.console import Stop


def run_tui(_: list[str], settings: Settings) -> None:
    """Run the application of `anamnesis tui`; Engram's own has the same keys."""
    if reason := tui.refusal():
        raise Stop(f"engram: {reason}")
    tui.run(settings)
