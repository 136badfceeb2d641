"""A daemon that cannot start exits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.disks import DISKS, command_on
from tests.web.daemon import environment

from anamnesis.store import MemoryStore

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


@pytest.mark.parametrize("is_new", [False, True], ids=["home", "new home"])
@pytest.mark.parametrize("disk", DISKS)
def test_a_disk_that_cannot_be_written_is_one_sentence(tmp_path: Path, disk: str, is_new: bool) -> None:
    MemoryStore(tmp_path / "store").close()
    home = tmp_path / "store" / ("new" if is_new else "")
    done = subprocess.run(
        command_on(disk, tmp_path / "store", [sys.executable, "-m", "anamnesis", "daemon", "--port", "0"]),
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=30,
    )
    (tmp_path / "store").chmod(0o700)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("anamnesis: ")
    assert done.stderr.count("\n") == 1
    assert str(home) in done.stderr
