"""What the hub's image installs agrees with pyproject.toml; no text of ours installs another program of our name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.constraints import PLACE, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
# A package manager that is given our name without a version or a source.
INSTALLS = re.compile(
    r"\b(?:pip[0-9.]*|pipx|uvx?|poetry|pdm|conda)\b[^\n]*?"
    r"(?<![\w/.@-])anamnesis-memory(?:\[[\w,-]*\])?(?!\w|-|\[| *(?:==|<|@))"
)
PLACES = ("src", "docs", "plugins", "deploy", "examples", ".claude-plugin", "README.md", "SECURITY.md", "Makefile")


def pinned() -> dict[str, set[str]]:
    """The versions of each package in the constraints, one for each kind of platform."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", PLACE.read_text("utf-8"), re.MULTILINE):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


@pytest.mark.parametrize(
    "wanted",
    [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["hub"], "hatchling"],
)
def test_each_direct_dependency_is_pinned_within_its_range(wanted: str) -> None:
    requirement = Requirement(wanted)
    versions = pinned()[canonicalize_name(requirement.name)]
    assert all(requirement.specifier.contains(version) for version in versions)


def test_every_version_is_exact_has_hashes_and_names_no_address() -> None:
    text = PLACE.read_text("utf-8")
    assert "://" not in text
    entries = re.split(r"^(?=\w)", text.partition("\n")[2], flags=re.MULTILINE)[1:]
    assert len(entries) > 20
    for entry in entries:
        assert re.fullmatch(
            r"[\w.-]+==[\w.]+(?: ; [^\n]*?)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", entry
        ), entry


def texts() -> Iterator[Path]:
    for place in PLACES:
        path = ROOT / place
        yield from (path,) if path.is_file() else (each for each in path.rglob("*") if each.is_file())


def test_no_text_installs_the_registry_s_package_of_our_name() -> None:
    """It is an older program of other people."""
    found = []
    for path in texts():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in INSTALLS.finditer(text)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("uv tool install anamnesis-memory", True),
        ("RUN pip install --no-cache-dir 'anamnesis-memory[hub]' && useradd", True),
        ("pipx install anamnesis-memory.", True),
        ("uvx --from anamnesis-memory anamnesis", True),
        ("uv tool install 'anamnesis-memory[hub]==1.2'", False),
        ("pip install 'anamnesis-memory @ git+ssh://host/a'", False),
        ("uv tool install .", False),
        ("pip install /home/me/anamnesis-memory", False),
    ],
)
def test_an_installation_by_name_is_recognised(text: str, is_found: bool) -> None:
    assert bool(INSTALLS.search(text)) == is_found
