"""The documentation is true: generated pages are current, examples work, and nothing is missing."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest
from tests.cli.command import Command

from anamnesis.cli import COMMANDS, anamnesis
from anamnesis.config import ENGRAM_VARIABLES, HOME_VARIABLE, HUB_VARIABLES, SETTINGS
from anamnesis.hub.app import routes
from anamnesis.hub.ui import keeping, reading

ROOT = Path(__file__).parent.parent
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text("utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


SPEAKING_JSON_ALREADY = {"serve", "inject", "recall", "capture"}
FOR_PEOPLE_ALONE = {"tui"}
WITH_ENGRAMS_OPTIONS = {"engram"}


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_pages_are_current() -> None:
    for path, text in generator().pages().items():
        assert path.read_text("utf-8") == text, f"{path.name} is out of date: run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_and_variable_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    named = re.findall(r"(?:`|^ {4}|^\$ )anamnesis ([a-z]+)", text, re.MULTILINE)
    assert set(named) <= set(COMMANDS)
    variables = {HOME_VARIABLE, *(each.variable for each in SETTINGS), *ENGRAM_VARIABLES, *HUB_VARIABLES}
    assert set(re.findall(r"(?:ANAMNESIS|(?<!ANAMNESIS_)ENGRAM)_[A-Z_]+", text)) <= variables


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_points_to_a_file(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def resolved(name: str) -> object:
    """The object of a dotted name under the package."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        with contextlib.suppress(ModuleNotFoundError):
            found: object = importlib.import_module(".".join(["anamnesis", *parts[:count]]))
            for part in parts[count:]:
                found = getattr(found, part)
            return found
    raise AssertionError(name)


def test_the_paths_through_the_architecture_name_functions_that_exist() -> None:
    paths = ARCHITECTURE.partition("## Five paths")[2]
    names = re.findall(r"`([a-z_]+(?:\.\w+)+)`", paths)
    assert len(names) > 30
    for name in names:
        assert callable(resolved(name)), name


def test_the_architecture_has_a_short_glossary_and_describes_every_package() -> None:
    glossary, _, rest = ARCHITECTURE.partition("## One picture")
    assert glossary.count("\n| ") - 2 <= 25
    packages = {path.parent.name for path in (ROOT / "src/anamnesis").glob("*/__init__.py")}
    rooms = set(re.findall(r"\w+", " ".join(re.findall(r"\*\*(.+?)\.\*\*", rest))))
    assert packages <= rooms


def test_every_dependency_has_its_reason_on_a_decision_page() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    wanted = [*project["dependencies"], *optional["dev"], *optional["hub"]]
    reasons = (ROOT / "docs/decisions/dependencies.md").read_text("utf-8").lower()
    for requirement in wanted:
        name = re.split(r"[><=\[]", requirement)[0].lower()
        if name == project["name"]:
            continue  # the extra [hub], for development
        assert f"| {name} |" in reasons, name


def test_every_command_has_a_page_section_and_takes_json() -> None:
    page = (ROOT / "docs/cli.md").read_text("utf-8")
    context = anamnesis.make_context("anamnesis", [], resilient_parsing=True)
    assert all(f"## anamnesis {name}\n" in page for name in COMMANDS)
    for name in set(COMMANDS) - SPEAKING_JSON_ALREADY - FOR_PEOPLE_ALONE - WITH_ENGRAMS_OPTIONS:
        command = anamnesis.get_command(context, name)
        assert command
        inside = click.Context(command, info_name=name, parent=context)
        assert all(any(option.name == "as_json" for option in leaf.params) for leaf in leaves(command, inside)), name


def test_every_route_of_the_hub_is_described() -> None:
    page = (ROOT / "docs/hub-api.md").read_text("utf-8")
    for route in routes():
        text = inspect.cleandoc(route.endpoint.__doc__ or "")
        assert text and text in page, route.path
    pages = [(each.path, each.read.__doc__) for each in (*reading.PAGES, *keeping.PAGES)]
    forms = [(each.path, each.do.__doc__) for each in (*reading.FORMS, *keeping.FORMS)]
    for path, described in [*pages, *forms]:
        assert described and f" | /ui{path} | " in page, path


def leaves(command: click.Command, context: click.Context) -> Iterator[click.Command]:
    """A command itself, or all commands of a group that are not groups."""
    if not isinstance(command, click.Group):
        yield command
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner
        yield from leaves(inner, click.Context(inner, info_name=name, parent=context))


def test_the_examples_of_the_readme_print_the_shown_output(anamnesis_command: Command) -> None:
    """Each `$ anamnesis ...` line in a console block is run in turn; ids and times may differ."""
    for block in re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, expected = example.partition("\n")
            done = subprocess.run(
                ["bash", "-c", line],
                env={
                    **anamnesis_command.variables,
                    "PATH": f"{_bin()}:{anamnesis_command.variables['PATH']}",
                },
                cwd=anamnesis_command.folder,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.stderr == "", line
            assert _same(done.stdout) == _same(expected), line


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    script = example.replace("/tmp/demo", str(tmp_path / "demo"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "['Use WAL mode']\n"


@pytest.fixture
def anamnesis_command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def _bin() -> Path:
    return Path(sys.executable).parent


def _same(text: str) -> str:
    text = re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "ID", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "TIME", text)
    return re.sub(r"\b\d+\.\d{3}\b", "SCORE", text).strip()
