"""Two machines that share a remote."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.end_to_end.machine import Machine


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Machine, Machine]:
    remote = tmp_path / "notes.git"
    subprocess.run(["git", "init", "--quiet", "--bare", remote], check=True)
    return Machine("desk", tmp_path, remote), Machine("lap", tmp_path, remote)
