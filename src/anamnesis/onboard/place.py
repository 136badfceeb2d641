"""Where programs keep their settings. The environment is passed in, so tests can use any system."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

# VS Code and its forks, by the names of their folders.
_VSCODE = ("Code", "Code - Insiders", "VSCodium")
_EDITORS = (*_VSCODE, "Cursor", "Windsurf")
_EXTENSIONS = (".vscode", ".vscode-insiders", ".vscode-oss", ".cursor", ".windsurf", ".vscode-server")


@dataclass(frozen=True, slots=True)
class Place:
    """A user's machine: its system (`linux`, `macos` or `windows`), home folder and environment."""

    system: str
    home: Path
    variables: Mapping[str, str]

    def named(self, variable: str, default: str | Path) -> Path:
        """The path that a variable names, else the default; under home if relative."""
        value = self.variables.get(variable)
        return self.home / (value.removeprefix("~").lstrip("/") if value and value[0] == "~" else value or default)

    def config(self, name: str = "") -> Path:
        """~/.config, which some programs use on every system."""
        return self.named("XDG_CONFIG_HOME", ".config") / name

    def app_data(self, name: str = "") -> Path:
        """The system's folder for the settings of programs."""
        if self.system == "windows":
            return self.named("APPDATA", "AppData/Roaming") / name
        if self.system == "macos":
            return self.home / "Library/Application Support" / name
        return self.config(name)

    def local_data(self) -> Path:
        """The Windows folder for settings that do not roam."""
        return self.named("LOCALAPPDATA", "AppData/Local")

    def vscode(self) -> list[Path]:
        """The user folders of VS Code, VS Code Insiders and VSCodium that exist; VS Code's if none does."""
        return present(self.app_data(name) / "User" for name in _VSCODE)

    def extension(self, name: str) -> list[Path]:
        """The storage folders of an extension in all editors that exist; VS Code's if none does."""
        users = [self.app_data(editor) / "User" for editor in _EDITORS] + [self.home / ".vscode-server/data/User"]
        return present(user / "globalStorage" / name for user in users)

    def extensions(self, name: str) -> list[Path]:
        """Where an extension is installed."""
        folders = (self.home / editor / "extensions" for editor in _EXTENSIONS)
        return [path for folder in folders for path in folder.glob(f"{name}-*")]

    def program(self, name: str) -> str | None:
        """The path of a program on the PATH."""
        return shutil.which(name, path=self.variables.get("PATH", ""))


def present(paths: Iterable[Path]) -> list[Path]:
    """The paths that exist; the first if none does."""
    candidates = list(paths)
    return [path for path in candidates if path.exists()] or candidates[:1]
