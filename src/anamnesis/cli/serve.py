"""`anamnesis serve`: the MCP server for agents, on standard input and output."""

from __future__ import annotations

import click

from anamnesis.server import run


@click.command()
def command() -> None:
    """Serve the memory to an agent over MCP, on standard input and output.

    Agents start this themselves; it ends when its input ends.
    """
    run()
