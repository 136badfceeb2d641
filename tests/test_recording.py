"""The pictures in the README are current."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent


def recorder(name: str = "recording") -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_recorded_session_is_current() -> None:
    recording = recorder()
    assert recording.drawn() == recording.DRAWING.read_text("utf-8"), "Out of date: run `make docs`."


def test_the_drawing_of_the_application_is_current() -> None:
    picture = recorder("picture")
    assert words(picture.drawn()) == words(picture.DRAWING.read_text("utf-8")), "Out of date: run `make docs`."


def words(drawing: str) -> str:
    """The text of a drawing; its colours change with versions of Textual."""
    texts = ("".join(each.itertext()) for each in ElementTree.fromstring(drawing).iter() if each.tag.endswith("}text"))
    return " ".join(" ".join(texts).split())


@pytest.mark.parametrize("name", ["docs/terminal.svg", "docs/tui.svg"])
def test_the_drawing_loads_nothing_and_is_in_the_readme(name: str) -> None:
    drawing = (ROOT / name).read_text("utf-8")
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    assert drawing.count("http") == 1  # the name of the format
    assert len(drawing) < 150_000
    assert name in (ROOT / "README.md").read_text("utf-8")


def test_the_pictures_of_the_dashboard_are_small_and_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    pictures = [*(ROOT / "docs/pictures").iterdir()]
    assert {path.name for path in pictures} == {*re.findall(r'docs/pictures/([^"]+)"', readme)}
    assert all(path.stat().st_size < 150_000 for path in pictures)
