"""Where programs keep their settings on a machine. Reads no environment by itself, so any system can be tested."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

# VS Code and what was made of it, by the names of their folders.
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
        """The file or folder that a variable names, else the default one; under home where it is not absolute."""
        value = self.variables.get(variable)
        return self.home / (value.removeprefix("~").lstrip("/") if value and value[0] == "~" else value or default)

    def config(self, name: str = "") -> Path:
        """~/.config, which some programs use on every system."""
        return self.named("XDG_CONFIG_HOME", ".config") / name

    def app_data(self, name: str = "") -> Path:
        """Where the system wants programs to keep their settings."""
        if self.system == "windows":
            return self.named("APPDATA", "AppData/Roaming") / name
        if self.system == "macos":
            return self.home / "Library/Application Support" / name
        return self.config(name)

    def local_data(self) -> Path:
        """Windows' folder for what does not travel with the user."""
        return self.named("LOCALAPPDATA", "AppData/Local")

    def vscode(self) -> list[Path]:
        """The user folders of VS Code, its previews and its free build, as far as they exist; else VS Code's."""
        return present(self.app_data(name) / "User" for name in _VSCODE)

    def extension(self, name: str) -> list[Path]:
        """The folders where an extension keeps its files in any editor, as far as they exist; else in VS Code."""
        users = [self.app_data(editor) / "User" for editor in _EDITORS] + [self.home / ".vscode-server/data/User"]
        return present(user / "globalStorage" / name for user in users)

    def extensions(self, name: str) -> list[Path]:
        """Where an extension is installed."""
        folders = (self.home / editor / "extensions" for editor in _EXTENSIONS)
        return [path for folder in folders for path in folder.glob(f"{name}-*")]

    def program(self, name: str) -> str | None:
        """Where a program is on the PATH."""
        return shutil.which(name, path=self.variables.get("PATH", ""))


def present(paths: Iterable[Path]) -> list[Path]:
    """Those that exist; the first if none does."""
    candidates = list(paths)
    return [path for path in candidates if path.exists()] or candidates[:1]
