"""The wheel contains exactly what the program needs; release notes come from the change log."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tools.packages import ROOT, first_commands, release_notes

from anamnesis import __version__


def test_the_wheel_has_the_package_a_manual_and_completions(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if name.startswith("anamnesis/")} == source
    others = {name.partition("/")[2] for name in names} - {name.partition("/")[2] for name in source}
    assert others == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
        "licenses/LICENSE",
        "data/share/man/man1/anamnesis.1",
        "data/share/bash-completion/completions/anamnesis",
        "data/share/zsh/site-functions/_anamnesis",
        "data/share/fish/vendor_completions.d/anamnesis.fish",
    }


def test_the_release_notes_are_the_change_log_of_the_version() -> None:
    changes = "# Changes\n\n## Unreleased\n\n- new\n\n## 1.0.0 (2026-11-18)\n\n- first\n"
    assert release_notes(changes, "1.0.0") == "# Anamnesis 1.0.0\n\n- first\n"
    assert "- new" in release_notes(changes, "1.1.0.dev0")
    with pytest.raises(SystemExit, match=r"no section 2\.0\.0"):
        release_notes(changes, "2.0.0")
    assert release_notes((ROOT / "CHANGELOG.md").read_text("utf-8"), __version__)


def test_the_first_commands_are_those_of_the_readme() -> None:
    assert [command.split()[1] for command in first_commands((ROOT / "README.md").read_text("utf-8"))] == [
        "write",
        "search",
        "list",
    ]
