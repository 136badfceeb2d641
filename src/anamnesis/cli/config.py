"""`anamnesis config`: this machine's settings."""

from __future__ import annotations

from collections.abc import Sequence

import click

from anamnesis.cli.completing import complete_settings
from anamnesis.cli.context import change_setting, settings
from anamnesis.cli.options import as_json
from anamnesis.cli.output import bare_table, console, on_terminal, print_json, print_lines
from anamnesis.cli.text_input import STDIN, given_text
from anamnesis.config import CONFIG_NAME, DEFAULT, SETTINGS
from anamnesis.setting import ResolvedSetting

# The width from which the list also shows the purpose of each setting.
_WIDE = 110


@click.group()
def command() -> None:
    """Read and change this machine's settings.

    A setting comes from its environment variable, else from config.json, else from its default. A program reads them
    when it starts: restart the daemon and running agents after a change.
    """


@command.command("list")
@as_json
def list_settings(as_json: bool) -> None:
    """List the values in force and their sources: a variable, config.json or the default.

    For an invalid value, "fault" gives the reason, and the default is in force.

    \b
    In a pipe: name, value, source, separated by tabs.
    JSON: [{"name", "value", "source", "variable", "purpose", "fault"}]
    """
    found = settings().found
    if as_json:
        print_json(
            [
                {
                    "name": each.setting.name,
                    "value": each.shown,
                    "source": _source(each),
                    "variable": each.setting.variable,
                    "purpose": each.setting.purpose,
                    "fault": each.fault or None,
                }
                for each in found
            ]
        )
    elif on_terminal():
        _draw(found)
    else:
        print_lines([(each.setting.name, each.shown or "", _source(each)) for each in found])


@command.command("get")
@click.argument("name", shell_complete=complete_settings)
@as_json
def get_setting(name: str, as_json: bool) -> None:
    """Print the value of a setting; for a secret, only its end.

    JSON: the value, or null.
    """
    value = settings().resolved(name).shown
    if as_json:
        print_json(value)
    elif value is not None:
        click.echo(value)


@command.command("set")
@click.argument("name", shell_complete=complete_settings)
@click.argument("value")
@as_json
def set_setting(name: str, value: str, as_json: bool) -> None:
    """Set a setting in config.json. With `-` the value is read from standard input, as a secret should be.

    JSON: the value in force.
    """
    change_setting(name, given_text(STDIN)[0].strip() if value == STDIN else value)
    _report(name, as_json)


@command.command("unset")
@click.argument("name", shell_complete=complete_settings)
@as_json
def unset_setting(name: str, as_json: bool) -> None:
    """Remove a setting from config.json, or a key that is none.

    JSON: the value in force, or null.
    """
    change_setting(name, None)
    if any(each.name == name for each in SETTINGS):
        _report(name, as_json)
    elif as_json:
        print_json(None)
    else:
        click.echo(f"{name} is removed from {CONFIG_NAME}.")


def _draw(found: Sequence[ResolvedSetting]) -> None:
    from rich.table import Column
    from rich.text import Text

    screen = console()
    is_wide = screen.width >= _WIDE
    table = bare_table("setting", Column("value", overflow="fold"), "from", *(["for"] if is_wide else []))
    for each in found:
        style = "red" if each.fault else "bold" if each.source != DEFAULT else ""
        value = Text(each.shown, style) if each.shown else Text("none", "dim")
        purpose = [Text(each.setting.purpose, "dim")] if is_wide else []
        table.add_row(Text(each.setting.name, "cyan"), value, Text(_source(each), "dim"), *purpose)
    screen.print(table)
    screen.draw(
        "[cyan]anamnesis config set NAME VALUE[/] changes a setting in {}.", settings().home / CONFIG_NAME, style="dim"
    )


def _source(resolved: ResolvedSetting) -> str:
    """Where the value in force comes from."""
    return DEFAULT if resolved.falls_back else resolved.source


def _report(name: str, as_json: bool) -> None:
    now = settings().resolved(name)
    if as_json:
        print_json(now.shown)
    elif now.source == now.setting.variable and not now.falls_back:
        click.echo(f"Saved, but the variable {now.source} overrides it: {now.shown}", err=True)
    elif now.shown:
        click.echo(f"{name} is {now.shown} (from {now.source}).")
    else:
        click.echo(f"{name} is not set.")
