"""The settings of this run, read at their first use and kept in click's context."""

from __future__ import annotations

import click

from anamnesis.config import Settings, change_config, resolve_settings


def settings(context: click.Context | None = None, *, needs_config: bool = False) -> Settings:
    """The settings of this run. Shell completion has no current context and passes its own.

    Prints invalid values to stderr, once. With `needs_config`, a broken config.json is an error instead.
    """
    root = (context or click.get_current_context()).find_root()
    is_first, found = root.obj is None, root.obj or resolve_settings()
    root.obj = found
    if needs_config:
        found.demand_config()
    for sentence in found.refused if is_first and context is None else ():
        click.echo(f"anamnesis: {sentence}", err=True)
    return found


def change_setting(name: str, value: str | None) -> None:
    """Change config.json and read it again; before, nothing is said about values, which this may correct."""
    root = click.get_current_context().find_root()
    change_config((root.obj or resolve_settings()).home, name, value)
    root.obj = root.obj and resolve_settings()
