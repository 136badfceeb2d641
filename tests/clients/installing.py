"""Installs the clients' programs from the package registries into a cache, one folder per version."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

_VERSIONS = Path(__file__).with_name("versions.toml")


@dataclass(frozen=True, slots=True)
class Package:
    """A client's package in a registry. `beside` are further packages that it needs."""

    registry: str
    name: str
    version: str
    beside: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return cache() / self.registry / f"{self.name}@{self.version}"

    @property
    def programs(self) -> Path:
        """The folder of its programs, for a PATH."""
        return self.folder / ("node_modules/.bin" if self.registry == "npm" else "bin")


class NotInstalled(Exception):
    """A package cannot be installed; the message is the reason."""


def cache() -> Path:
    """Where the programs are kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anamnesis-clients"


def pinned() -> dict[str, Package]:
    """The packages in versions.toml, by the names of their clients."""
    tables = tomllib.loads(_VERSIONS.read_text("utf-8"))
    return {
        host: Package(each["registry"], each["package"], each["version"], tuple(each.get("with", ())))
        for host, each in tables.items()
    }


def newest(package: Package) -> Package:
    """The package in the newest version that its registry has."""
    if package.registry == "npm":
        said = _run(["npm", "view", package.name, "version"]).split()
    else:
        said = _run([sys.executable, "-m", "pip", "index", "versions", package.name]).partition("(")[2].split(")")[:1]
    if not said:
        raise NotInstalled(f"{package.registry} does not know {package.name}")
    return replace(package, version=said[-1])


def install(package: Package) -> Path:
    """Install a package unless it is cached; returns the folder of its programs."""
    done = package.folder / ".installed"
    if done.exists():
        return package.programs
    package.folder.mkdir(parents=True, exist_ok=True)
    if package.registry == "npm":
        # An older npm, which runs these scripts anyway, only warns about the unknown option.
        _run(["npm", "install", "--no-audit", "--no-fund", f"--allow-scripts={package.name}", "--prefix",
              str(package.folder), f"{package.name}@{package.version}", *package.beside])  # fmt: skip
    else:
        _run([sys.executable, "-m", "venv", str(package.folder)])
        _run(
            [
                str(package.folder / "bin/python"),
                "-m",
                "pip",
                "install",
                "--quiet",
                f"{package.name}=={package.version}",
            ]
        )
    done.touch()
    return package.programs


def _run(words: list[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise NotInstalled(f"{words[0]}: {error.strerror}") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotInstalled(f"{' '.join(words[:2])} failed: {' / '.join(lines[-3:])}")
    return done.stdout
