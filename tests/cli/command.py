"""Runs the real command, in a process of its own, on a home of its own; on a terminal, in one that is started."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import forking

import anamnesis
from anamnesis.store import MemoryStore

# The name of the program that is run by `python -m anamnesis`.
MAIN = str(Path(anamnesis.__file__).with_name("__main__.py"))


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Command:
    """`anamnesis` with ANAMNESIS_HOME at `home`; HOME is another empty folder."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "anamnesis"
        self.folder = folder
        self.variables = {
            **{name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ},
            "HOME": str(folder / "home"),
            "ANAMNESIS_HOME": str(self.home),
            "ANAMNESIS_MACHINE_ID": "thinkpad",
            "PYTHONUTF8": "1",
            "PYTHONWARNINGS": "error",
        }
        (folder / "home").mkdir()

    def __call__(self, *arguments: str, stdin: str | bytes = b"", **variables: str) -> Done:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        code, out, err = forking.run((MAIN, *arguments), given, self.folder, self.environment(variables))
        return Done(code, out.decode(), err.decode())

    def on_terminal(self, *arguments: str, typed: str = "", **variables: str) -> str:
        """The output of this command, with stdin, stdout and stderr on a terminal of 100 columns."""
        controller, terminal = pty.openpty()
        os.write(controller, typed.encode())
        process = subprocess.Popen(
            [sys.executable, "-m", "anamnesis", *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=self.folder,
            env=self.environment({"COLUMNS": "100", "LINES": "40", "TERM": "xterm-256color", **variables}),
        )
        os.close(terminal)
        shown = b""
        try:
            while part := os.read(controller, 65536):
                shown += part
        except OSError:  # Linux says so when the last writer has gone
            pass
        os.close(controller)
        process.wait(timeout=60)
        return shown.decode().replace("\r\n", "\n")

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        merged = {**self.variables, **variables}
        return {name: value for name, value in merged.items() if value}

    def store(self) -> MemoryStore:
        return MemoryStore(self.home)
