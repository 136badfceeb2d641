"""Runs the program in processes that are forked from one which has imported it already.

Each call is a process of its own, with its own arguments, environment, folder and streams, as if it had been started;
only the interpreter's start and the imports, most of the time of a short command, happen once. What the start itself
does is tested on processes that are started: those on a terminal, on special disks, and those of `test_starts.py`.

    python -P tests/forking.py SOCKET    # the process that forks
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import anamnesis
from anamnesis.entry import main

# Decided when an interpreter starts.
_OF_THE_START = ("PYTHON", "LANG", "LC_")
# The bytes of memory that a command may use; None for as many as this process.
memory: int | None = None
# What no short command needs, or what starts threads.
_NOT_IMPORTED = ("__main__", "daemon", "hub", "mcp", "meaning", "server", "tui", "web")


class Forker:
    """The process that forks, for environments that start an interpreter in the same way."""

    def __init__(self, environment: tuple[tuple[str, str], ...]) -> None:
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                env={"OPENBLAS_NUM_THREADS": "1", **dict(environment)},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.PIPE,  # its streams are of the kind that the commands' will be
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        atexit.register(self.close)

    def close(self) -> None:
        with self._control, self._process:
            self._process.kill()

    def run(
        self, command: Sequence[str | bytes], given: bytes, folder: Path, environment: dict[str, str]
    ) -> tuple[int, bytes, bytes]:
        """The exit status and the output of the command."""
        request = {
            "command": [os.fsencode(each).hex() for each in command],
            "environment": environment,
            "folder": str(folder),
            "memory": (memory, memory) if memory else resource.getrlimit(resource.RLIMIT_AS),
        }
        pipes = [os.pipe() for _ in range(3)]
        ours, theirs = socket.socketpair()
        with ours:
            with theirs, self._lock:
                ends = [pipes[0][0], pipes[1][1], pipes[2][1]]
                socket.send_fds(self._control, [b"!"], [*ends, theirs.fileno()])
            for end in ends:
                os.close(end)
            ours.sendall(json.dumps(request).encode() + b"\n")
            outputs = _exchange(given, pipes[0][1], pipes[1][0], pipes[2][0])
            status = ours.recv(16)  # nothing, if the process that forks has ended
        assert status, self._process.communicate()[1]
        return int(status), *outputs


def _exchange(given: bytes, stdin: int, stdout: int, stderr: int) -> tuple[bytes, bytes]:
    """Write and read at the same time, as `subprocess.Popen.communicate` does."""
    found: dict[int, bytes] = {}

    def read(end: int) -> None:
        with open(end, "rb") as stream:
            found[end] = stream.read()

    def write() -> None:
        try:
            with open(stdin, "wb") as stream:
                stream.write(given)
        except BrokenPipeError:
            pass

    threads = [threading.Thread(target=read, args=[stderr]), threading.Thread(target=write)]
    for thread in threads if given else threads[:1]:
        thread.start()
    if not given:
        os.close(stdin)
    read(stdout)
    for thread in threads if given else threads[:1]:
        thread.join()
    return found[stdout], found[stderr]


@functools.cache
def _forker(environment: tuple[tuple[str, str], ...]) -> Forker:
    return Forker(environment)


def run(
    command: Sequence[str | bytes], given: bytes, folder: Path, environment: dict[str, str]
) -> tuple[int, bytes, bytes]:
    """The exit status and the output of a command: the program, by any name, and its arguments."""
    of_the_start = {name: value for name, value in environment.items() if name.startswith(_OF_THE_START)}
    return _forker(tuple(sorted(of_the_start.items()))).run(command, given, folder, environment)


def _serve(control: socket.socket) -> None:
    """Fork a process for each request; it waits for the command's, which it forks, and says how that ended."""
    for found in pkgutil.walk_packages(anamnesis.__path__, "anamnesis."):
        if not any(part in _NOT_IMPORTED or part.startswith("hub_") for part in found.name.split(".")):
            importlib.import_module(found.name)
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()
    children = 0
    while True:
        data, ends, _, _ = socket.recv_fds(control, 1, 4)
        if not data:
            break
        if os.fork() == 0:
            control.close()
            _wait_for_command(ends)
        for end in ends:
            os.close(end)
        children += 1
        while children and os.waitpid(-1, os.WNOHANG)[0]:
            children -= 1


def _wait_for_command(ends: list[int]) -> NoReturn:
    with socket.socket(fileno=ends.pop()) as answers:
        with answers.makefile("rb") as lines:
            request = json.loads(lines.readline())
        command = os.fork()
        if command:
            for end in ends:
                os.close(end)
            answers.sendall(str(os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])).encode())
            os._exit(0)
    for number, end in enumerate(ends):
        os.dup2(end, number)
        os.close(end)
    _run_command(**request)


def _run_command(command: list[str], environment: dict[str, str], folder: str, memory: tuple[int, int]) -> NoReturn:
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    resource.setrlimit(resource.RLIMIT_AS, memory)
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.argv = [os.fsdecode(bytes.fromhex(each)) for each in command]
    status = 1
    try:
        main()
        status = 0
    except SystemExit as exit:
        if exit.code is None or isinstance(exit.code, int):
            status = exit.code or 0
        else:
            print(exit.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    # As an interpreter ends, without taking every imported module down.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        status = 120
    os._exit(status & 0xFF)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as control:
        _serve(control)
