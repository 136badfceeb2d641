"""The picture in the README is what the command prints today."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent


def recorder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recording", ROOT / "docs/recording.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_recorded_session_is_what_a_terminal_shows_today() -> None:
    recording = recorder()
    assert recording.drawn() == recording.DRAWING.read_text("utf-8"), "Out of date: run `make docs`."


def test_the_drawing_loads_nothing_and_is_in_the_readme() -> None:
    drawing = (ROOT / "docs/terminal.svg").read_text("utf-8")
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    assert drawing.count("http") == 1  # the name of the format
    assert "docs/terminal.svg" in (ROOT / "README.md").read_text("utf-8")
