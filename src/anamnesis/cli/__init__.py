"""The `anamnesis` command: a group that imports each command only when it is called."""

from __future__ import annotations

import importlib
import keyword
import sys

import click

from anamnesis import __version__
from anamnesis.cli.help import HELP_OPTION, add_help, show_help, suggestion
from anamnesis.errors import AnamnesisError

GROUPS = {
    "Find and read": ("tui", "search", "list", "show", "pick", "related", "history", "status"),
    "Write and change": ("write", "edit", "tag", "untag", "move", "pin", "unpin", "delete", "restore", "review"),
    "Other machines": ("sync", "conflicts"),
    "Set up": ("init", "uninstall", "config", "project", "import", "export", "service", "completion"),
    "For a team": ("login", "logout", "space", "hub"),
    "Maintain": ("reflect", "dream", "doctor", "reindex", "bridge", "backup", "eval"),
    "For agents": ("serve", "daemon", "engram", "inject", "recall", "capture"),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)


class LazyGroup(click.Group):
    """Imports a command when it is called; each is a module `anamnesis.cli.NAME` with a `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]  # importing `anamnesis.cli.list` shadows the built-in

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.load(cmd_name) if cmd_name in COMMANDS else None

    def get_help_option(self, ctx: click.Context) -> click.Option:
        return HELP_OPTION

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {args[0]!r}.{suggestion(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        room = formatter.width - 6 - max(map(len, COMMANDS))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.load(name).get_short_help_str(room)) for name in names])

    @staticmethod
    def load(name: str) -> click.Command:
        module = f"{name}_" if keyword.iskeyword(name) else name
        command: click.Command = importlib.import_module(f"anamnesis.cli.{module}").command
        add_help(command)
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

    Without a command, an agent gets `serve`, and a person on a terminal `tui`.
    """
    if ctx.invoked_subcommand is None:
        if not sys.stdin.isatty():
            ctx.invoke(LazyGroup.load("serve"))
        elif sys.stdout.isatty():
            ctx.invoke(LazyGroup.load("tui"))
        else:
            show_help(ctx)


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
