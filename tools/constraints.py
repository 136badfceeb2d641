"""`python -m tools.constraints`: writes deploy/constraints.txt: versions and hashes of what the hub's image installs.

They are the newest that pyproject.toml allows, for every platform, with the packages that build ours. The file names
packages and no registry. Needs uv.
"""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "deploy" / "constraints.txt"
_HEADER = "# Written by `make constraints`, for deploy/Dockerfile.\n"
_OPTIONS = ("--universal", "--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--quiet")


def main() -> None:
    """Resolve the packages of the program with the extra `hub`, and write the file."""
    uv = shutil.which("uv")
    if not uv:
        raise SystemExit("Install uv: it resolves the versions for every platform.")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    python = project["project"]["requires-python"].removeprefix(">=")
    words = [uv, "pip", "compile", *_OPTIONS, "--python-version", python, "--extra", "hub", "pyproject.toml", "-"]
    building = "\n".join(project["build-system"]["requires"])
    done = subprocess.run(words, cwd=ROOT, input=building, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    if "://" in done.stdout:
        raise SystemExit("The versions hold an address.")
    PLACE.write_text(_HEADER + done.stdout, "utf-8")


if __name__ == "__main__":
    main()
