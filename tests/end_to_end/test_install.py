"""An installation from a checkout is complete, in a clean environment."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_an_installed_package_has_everything_it_needs(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment = {**kept, "HOME": str(tmp_path), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment.pop("ANAMNESIS_HOME", None)

    def run(*command: str) -> str:
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(str(programs / "python"), "-m", "pip", "install", "--quiet", str(ROOT))
    anamnesis = str(programs / "anamnesis")
    assert run(anamnesis, "--version").startswith("anamnesis, version ")
    note_id = run(anamnesis, "write", "A title", "zebra crossing").strip()
    assert note_id in run(anamnesis, "search", "zebra")
    assert (tmp_path / ".anamnesis/memory/semantic" / f"{note_id}.md").is_file()
    assert run(anamnesis, "doctor") == ""
