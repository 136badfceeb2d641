"""A separate machine for every test."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.onboard.machines import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    home = tmp_path / "home"
    home.mkdir()
    return Machine(home)
