"""Edits of other programs' settings files that leave every byte alone which is not ours. Pure: text in, text out."""

from __future__ import annotations

from anamnesis.onboard.formats.editing import Engine, Path, Unparsable

__all__ = ["Engine", "Path", "Unparsable", "engine"]


def engine(format: str) -> Engine:
    """The engine for "json", "jsonc", "toml" or "yaml". The first two are one: it keeps comments and adds none."""
    if format in ("json", "jsonc"):
        from anamnesis.onboard.formats import jsonc

        return Engine(jsonc)
    if format == "toml":
        from anamnesis.onboard.formats import toml

        return Engine(toml)
    if format == "yaml":
        from anamnesis.onboard.formats import yaml

        return Engine(yaml)
    raise ValueError(f"no engine for the format {format!r}")
