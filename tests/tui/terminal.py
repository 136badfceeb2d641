"""A program in a pseudo-terminal: its output, and keys that are typed once a text has been drawn."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from types import TracebackType
from typing import Self

from tests.cli.command import Command

_SECONDS = 60.0


class Terminal:
    """`anamnesis` with keys from a terminal and frames on it; its stdout can be a pipe instead."""

    def __init__(self, command: Command, *arguments: str, piped: bool = False, size: str = "80x24", **variables: str):
        columns, lines = map(int, size.split("x"))
        self._controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.shown = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "anamnesis", *arguments],
            stdin=terminal,
            stdout=subprocess.PIPE if piped else terminal,
            stderr=terminal,
            cwd=command.folder,
            env={**command.variables, "TERM": "xterm-256color", "PYTHONWARNINGS": "", **variables},
        )
        os.close(terminal)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._controller)
        if self.process.stdout:
            self.process.stdout.close()

    @property
    def text(self) -> str:
        """Everything that was drawn, without what positions and colours it."""
        return re.sub(r"\x1b\[[0-9;?<>=]*[a-zA-Z$]|\x1b[()=>].?", " ", self.shown.decode("utf-8", "replace"))

    def wait_for(self, text: str) -> None:
        """Wait until a text has been drawn since the last key."""
        deadline = time.monotonic() + _SECONDS
        while text not in self.text:
            assert time.monotonic() < deadline, f"{text!r} is not in:\n{self.text[-4000:]}"
            if select.select([self._controller], [], [], 0.1)[0] and not self._read():
                raise AssertionError(f"It ended without {text!r}:\n{self.text[-4000:]}")

    def pause(self) -> None:
        """Read what is drawn until nothing has been for a while."""
        while select.select([self._controller], [], [], 0.25)[0] and self._read():
            pass

    def type(self, keys: str) -> None:
        self.shown = b""
        os.write(self._controller, keys.encode())

    def finish(self) -> tuple[int, str]:
        """The exit code, and what was printed to the pipe."""
        while self._read():
            pass
        printed = self.process.stdout.read().decode() if self.process.stdout else ""
        return self.process.wait(_SECONDS), printed

    def _read(self) -> bool:
        try:
            part = os.read(self._controller, 65536)
        except OSError:  # Linux says so when the last writer has gone
            return False
        self.shown += part
        return bool(part)
