"""A daemon that cannot begin ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.web.daemon import environment

# No connection of its own can be opened when the notes' threads have been started.
_SCRIPT = """
from anamnesis.config import resolve_settings
from anamnesis.daemon import run, serving

def no_lanes(*_):
    raise RuntimeError("no lanes")

serving.Lanes = no_lanes
run(resolve_settings(), port=0)
"""


def test_a_daemon_that_cannot_reach_its_database_ends_with_the_reason(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], env=environment(tmp_path), capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 1
    assert done.stderr.endswith("RuntimeError: no lanes\n")
