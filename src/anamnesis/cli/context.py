"""The settings of this run, read at their first use and kept in click's context."""

from __future__ import annotations

import click

from anamnesis.config import Settings, change_config, resolve_settings


def settings(context: click.Context | None = None) -> Settings:
    """The settings of this run. Shell completion has no current context and passes its own.

    Prints invalid values to stderr, once.
    """
    root = (context or click.get_current_context()).find_root()
    if root.obj is None:
        root.obj = resolve_settings()
        for sentence in root.obj.refused if context is None else ():
            click.echo(f"anamnesis: {sentence}", err=True)
    found: Settings = root.obj
    return found


def change_setting(name: str, value: str | None) -> None:
    """Change config.json and read it again."""
    change_config(settings().home, name, value)
    click.get_current_context().find_root().obj = resolve_settings()
