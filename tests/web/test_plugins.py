"""The plugins of Engram for Claude Code and OpenCode work: their own requests, sent with curl from a shell."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.web.daemon import environment
from tests.web.test_lifecycle import anamnesis, free_port

SCRIPT = Path(__file__).with_name("plugins.sh")


@pytest.mark.skipif(not shutil.which("curl") or not shutil.which("bash"), reason="the plugins need bash and curl")
def test_a_session_of_each_plugin_goes_as_with_engram(tmp_path: Path) -> None:
    home, folder, programs = tmp_path / "home", tmp_path / "harbor", tmp_path / "bin"
    for each in (home, folder, programs):
        each.mkdir()
    (programs / "engram").symlink_to(Path(sys.executable).with_name("anamnesis"))
    with free_port() as port:
        variables = environment(home, ENGRAM_PORT=str(port))
        variables["PATH"] = f"{programs}:{variables['PATH']}"
        try:
            done = subprocess.run(
                ["bash", str(SCRIPT), str(folder)], env=variables, capture_output=True, text=True, check=False
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
        finally:
            assert anamnesis(home, "daemon", "stop").stdout.startswith("Stopped")
