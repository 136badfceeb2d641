"""Runs the program through a link that is called `engram`, in a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import forking


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


class Program:
    """`engram` in the folder `work/proj` of an empty home, with its data in the folder `engram` of it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "work" / "proj"
        self.folder.mkdir(parents=True)
        self.path = home / "bin" / "engram"
        self.path.parent.mkdir()
        self.path.symlink_to(Path(sys.executable).with_name("anamnesis"))
        self.variables = {
            "PATH": f"{self.path.parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "USER": "tester",
            "ANAMNESIS_HOME": str(home / "anamnesis"),
            "ENGRAM_DATA_DIR": str(home / "engram"),
            "PYTHONWARNINGS": "error",
        }

    def __call__(self, *arguments: str | bytes, stdin: str = "", **variables: str) -> Done:
        command = (str(self.path), *arguments)
        code, out, err = forking.run(command, stdin.encode(), self.folder, self.environment(variables))
        return Done(code, out.decode(), err.decode())

    def environment(self, variables: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in {**self.variables, **variables}.items() if value}

    def mcp(self, *arguments: str, **variables: str) -> Tools:
        return Tools(self, arguments, variables)


class Tools:
    """One `engram mcp`, spoken to line by line."""

    def __init__(self, program: Program, arguments: tuple[str, ...], variables: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [program.path, "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=program.folder,
            env=program.environment(variables),
        )
        handshake = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        self.server: Any = self.ask("initialize", handshake)["result"]["serverInfo"]

    def __enter__(self) -> Tools:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        errors = self.process.communicate(timeout=30)[1].decode()
        if kind is None:
            assert (self.process.returncode, errors) == (0, "")

    def send(self, message: object) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, params: object) -> Any:
        self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return self.receive()

    def call(self, tool: str, arguments: object) -> Any:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def text(self, tool: str, **arguments: object) -> str:
        """What a tool says, if it refuses nothing."""
        result = self.call(tool, arguments)["result"]
        assert "isError" not in result, result
        (content,) = result["content"]
        return str(content["text"])

    def refusal(self, tool: str, **arguments: object) -> str:
        result = self.call(tool, arguments)["result"]
        assert result["isError"] is True, result
        return str(result["content"][0]["text"])
