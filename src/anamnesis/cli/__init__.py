"""The `anamnesis` command: a group that imports each command only when it is called."""

from __future__ import annotations

import importlib
import keyword
import sys

import click

from anamnesis import __version__
from anamnesis.errors import AnamnesisError

COMMANDS = (
    "init",
    "uninstall",
    "status",
    "search",
    "list",
    "show",
    "history",
    "write",
    "edit",
    "tag",
    "untag",
    "move",
    "pin",
    "unpin",
    "delete",
    "restore",
    "review",
    "sync",
    "conflicts",
    "project",
    "bridge",
    "import",
    "reindex",
    "doctor",
    "config",
    "completion",
    "serve",
    "daemon",
    "engram",
    "inject",
    "recall",
    "capture",
)


class LazyGroup(click.Group):
    """Has only the names of its commands; each is a module `anamnesis.cli.NAME` with a `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]  # importing `anamnesis.cli.list` shadows the built-in

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.load(cmd_name) if cmd_name in COMMANDS else None

    @staticmethod
    def load(name: str) -> click.Command:
        module = f"{name}_" if keyword.iskeyword(name) else name
        command: click.Command = importlib.import_module(f"anamnesis.cli.{module}").command
        return command


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="anamnesis")
@click.pass_context
def anamnesis(ctx: click.Context) -> None:
    """One memory for every coding agent: markdown notes in a folder you own, found at once.

    The notes are under ANAMNESIS_HOME, by default ~/.anamnesis. Every command takes --json.

    Without a command, an agent gets `serve`, and a person this help.
    """
    if ctx.invoked_subcommand is None:
        if sys.stdin.isatty():
            click.echo(ctx.get_help())
        else:
            ctx.invoke(LazyGroup.load("serve"))


def main() -> None:
    """Run the command. Errors that a user can act on become a sentence on stderr and exit code 1, not a traceback."""
    try:
        anamnesis.main(prog_name="anamnesis")
    except AnamnesisError as error:
        click.echo(f"anamnesis: {error}", err=True)
        sys.exit(1)
    except Exception as error:
        sqlite3 = sys.modules.get("sqlite3")  # some commands do not import it
        if not sqlite3 or not isinstance(error, sqlite3.Error):
            raise
        click.echo(f"anamnesis: A database cannot be used: {error}. `anamnesis doctor` says which.", err=True)
        sys.exit(1)
