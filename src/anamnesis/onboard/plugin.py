"""The plugins in JavaScript for agents whose hooks are functions: a shared beginning, then the part of the host."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from anamnesis.onboard.edits import OwnFile
from anamnesis.onboard.program import HOOKS

_FOLDER = Path(__file__).with_name("agents")


def plugin(folder: Path, host: str, calls: Mapping[str, Sequence[str]], export: str = "") -> OwnFile:
    """The plugin file for a host, with the commands that start us."""
    shared, own = ((_FOLDER / f"{name}.js").read_text("utf-8") for name in ("plugin", host))
    return OwnFile(folder / "anamnesis.js", shared.replace("CALLS", json.dumps(calls), 1) + own + export, HOOKS)
