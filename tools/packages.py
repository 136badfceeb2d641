"""`python -m tools.packages`: builds the wheel and the sdist into dist/, installs them in a clean environment of every
installed Python, runs the README's first commands there, and opens the terminal application.

uv and pipx, if they are installed, install the wheel as well; uv also with the oldest versions that are allowed. The
release notes go to dist/NOTES.md.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from anamnesis import __version__

ROOT = Path(__file__).parents[1]
_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_SHARED = ("man/man1/anamnesis.1", "bash-completion/completions/anamnesis")
_SECONDS = 60.0
_LIST_TOOLS = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}\n'


def main() -> None:
    """Build, install and run; exits with 1 at the first failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where the packages go")
    dist: Path = parser.parse_args().dist
    shutil.rmtree(dist, ignore_errors=True)
    _run([sys.executable, "-m", "hatchling", "build", "-d", str(dist)], cwd=ROOT)
    (dist / "NOTES.md").write_text(release_notes((ROOT / "CHANGELOG.md").read_text("utf-8"), __version__), "utf-8")
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    pythons = [*_pythons()]
    for python in pythons:
        for package in (wheel, sdist) if python == pythons[0] else (wheel,):
            with tempfile.TemporaryDirectory() as folder:
                _run([python, "-m", "venv", folder])
                _run([f"{folder}/bin/pip", "install", "--quiet", "--disable-pip-version-check", str(package)])
                _play(f"pip, {package.suffix[1:]}, {Path(python).name}", Path(folder), Path(folder) / "share")
    if uv := shutil.which("uv"):
        with tempfile.TemporaryDirectory() as folder:
            _run([uv, "venv", "--quiet", "--python", pythons[0], folder])
            oldest = [
                uv,
                "pip",
                "install",
                "--quiet",
                "--python",
                f"{folder}/bin/python",
                "--resolution",
                "lowest-direct",
            ]
            _run([*oldest, f"{wheel}[hub]"])
            _play("the oldest versions", Path(folder), Path(folder) / "share")
    for name, words in (("uv", ["tool", "install"]), ("pipx", ["install"])):
        if program := shutil.which(name):
            with tempfile.TemporaryDirectory() as folder:
                places = {"UV_TOOL_DIR": "tools", "UV_TOOL_BIN_DIR": "bin", "PIPX_HOME": "tools", "PIPX_BIN_DIR": "bin"}
                variables = {key: f"{folder}/{value}" for key, value in places.items()}
                _run([program, *words, str(wheel)], env={**os.environ, **variables})
                _play(name, Path(folder))


def release_notes(changes: str, version: str) -> str:
    """The section of the change log for a version; "Unreleased" for a development version."""
    wanted = "Unreleased" if ".dev" in version else version
    parts = re.split(r"^## ", changes, flags=re.MULTILINE)[1:]
    found = [part for part in parts if part.split(maxsplit=1)[0] == wanted]
    if not found:
        raise SystemExit(f"CHANGELOG.md has no section {wanted}.")
    return f"# Anamnesis {version}\n{found[0].partition(chr(10))[2]}"


def first_commands(readme: str) -> list[str]:
    """The commands of the README's first example."""
    example = re.search(r"^```console\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    if not example:
        raise SystemExit("README.md has no example.")
    return re.findall(r"^\$ (.+)$", example[1], re.MULTILINE)


def _pythons() -> Iterator[str]:
    """One interpreter of each supported version: on PATH, or installed by pyenv."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in _PYTHONS:
        found = [str(path) for path in sorted(versions.glob(f"{version}.*/bin/python{version}"))]
        if on_path := shutil.which(f"python{version}"):
            found.append(on_path)
        for python in found:
            if subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True).returncode == 0:
                yield python
                break


def _play(name: str, environment: Path, shared: Path | None = None) -> None:
    """Run the first commands as a new user would, and list the server's tools."""
    with tempfile.TemporaryDirectory() as home:
        variables = {"PATH": f"{environment}/bin:{os.environ['PATH']}", "HOME": home, "LANG": "C.UTF-8"}
        for command in first_commands((ROOT / "README.md").read_text("utf-8")):
            _run(["bash", "-c", command], env=variables, cwd=home)
        listed = _run(["anamnesis"], env=variables, cwd=home, stdin=_LIST_TOOLS)
        if '"memory_search"' not in listed:
            raise SystemExit(f"{name}: the server did not list its tools.")
        _open_terminal(name, variables)
        missing = [path for path in _SHARED if shared and not (shared / path).is_file()]
        if missing:
            raise SystemExit(f"{name}: {missing[0]} is not installed.")
    print(f"{name}: works")


def _open_terminal(name: str, variables: Mapping[str, str]) -> None:
    """Open the terminal application, and leave it with a key, which it reads once it has started."""
    controller, terminal = pty.openpty()
    given = {**variables, "TERM": "xterm-256color"}
    with subprocess.Popen(["anamnesis", "tui"], stdin=terminal, stdout=terminal, stderr=terminal, env=given) as running:
        os.close(terminal)
        os.write(controller, b"q")
        shown, deadline = b"", time.monotonic() + _SECONDS
        with contextlib.suppress(OSError):  # Linux says so when the program has ended
            while time.monotonic() < deadline:
                if select.select([controller], [], [], 0.1)[0]:
                    shown += os.read(controller, 65536)
        running.kill()
    os.close(controller)
    if running.returncode or b"Settings" not in shown:
        raise SystemExit(f"{name}: the terminal application did not open:\n{shown.decode('utf-8', 'replace')}")


def _run(
    words: Sequence[str], env: Mapping[str, str] | None = None, cwd: Path | str | None = None, stdin: str = ""
) -> str:
    done = subprocess.run(words, env=env, cwd=cwd, input=stdin, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"`{' '.join(words)}` exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
