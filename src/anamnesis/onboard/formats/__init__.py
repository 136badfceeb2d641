"""Edits other programs' settings files without changing any other byte. Pure: text in, text out."""

from __future__ import annotations

from importlib import import_module

from anamnesis.onboard.formats.editing import Engine, KeyPath, Unparsable

__all__ = ["Engine", "KeyPath", "Unparsable", "engine"]


def engine(format: str) -> Engine:
    """The engine for "json", "jsonc", "toml" or "yaml". The first two share one, which keeps comments and adds none."""
    if format not in ("json", "jsonc", "toml", "yaml"):
        raise ValueError(f"no engine for the format {format!r}")
    return Engine(import_module(f"{__name__}.{'jsonc' if format == 'json' else format}"))
