"""`anamnesis serve`: the MCP server for agents, on standard input and output."""

from __future__ import annotations

import click

from anamnesis.config import resolve_settings


@click.command()
def command() -> None:
    """Serve the memory to an agent over MCP, on standard input and output.

    Agents start this themselves; it ends when its input ends.
    """
    run()


def run() -> None:
    """Serve until the input ends; what goes wrong inside is in the log."""
    from anamnesis.log import log
    from anamnesis.mcp.stdio import serve
    from anamnesis.server import build_server
    from anamnesis.vault import open_vault

    settings = resolve_settings()
    with open_vault(settings, pending=True) as vault:
        vault.notes.on_look = None  # an agent that only reads reconciles nothing; a write reconciles what is pending
        serve(build_server(vault.notes, settings=settings), lambda trace: log(settings.home, "mcp error", trace=trace))
