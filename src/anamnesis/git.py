"""Runs the git program, isolated from the caller's environment: no inherited repository, hooks, signing or prompts.

The user's own configuration is read only `as_user`: it has the credentials, proxies and rewritten addresses.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from anamnesis.errors import AnamnesisError
from anamnesis.light import lazy_pattern

LOCAL_TIMEOUT = 600.0
# git holds a lock file for milliseconds; one this old is stale: its git was killed.
_STALE_SECONDS = 10.0
# Loose objects are not compressed: it takes 0.12 s to compress the tree of a folder of 100,000 notes from 5.7 to 4 MB.
_NEUTRAL = (
    f"core.hooksPath={os.devnull}",
    f"core.excludesFile={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.autocrlf=false",
    "core.fileMode=false",
    "core.fsmonitor=false",
    "core.ignoreStat=false",
    "core.looseCompression=0",
    "core.quotePath=false",
    "core.safecrlf=false",
    "core.sparseCheckout=false",
    "core.symlinks=false",
    "gc.auto=0",
)
_FOR_THE_NETWORK = ("GIT_SSH", "GIT_SSL", "GIT_PROXY", "GIT_ASKPASS", "GIT_HTTP", "GIT_CONFIG_GLOBAL")
# Matches a line of git's trace that only an answer of the remote can cause.
_ANSWER = lazy_pattern(rb"packet: +[\w./-]+< |<= Recv header")
# Files that git writes, such as objects with the texts of notes, are for their owner alone.
_PRIVATE = 0o077
# Running processes: killed at exit, because a thread that waits for one may be abandoned.
_running: set[subprocess.Popen[bytes]] = set()
# The last line of git's message; an earlier one, by ssh or the network, has the reason.
_VAGUE = "Could not read from remote repository"


class GitFailed(AnamnesisError):
    """git failed: the message is the line with the reason, `said` the whole error output."""

    def __init__(self, message: str, hint: str = "", said: str = "") -> None:
        super().__init__(message, hint)
        self.said = said


class NoAnswer(GitFailed):
    """The remote has sent nothing within the connect timeout."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The remote did not answer within {seconds:g} s.")
        self.seconds = seconds


def git(
    folder: Path,
    *arguments: str,
    options: Sequence[str] = (),
    input: bytes | None = None,
    variables: Mapping[str, str] | None = None,
    as_user: bool = False,
    timeout: float = LOCAL_TIMEOUT,
    connect_timeout: float | None = None,
    most: int = -1,
) -> bytes:
    """Run git in a folder and return its output, or the first `most` bytes of it.

    With `connect_timeout`, a remote has to answer within it.
    """
    settings = [word for each in _NEUTRAL for word in ("-c", each)]
    command = ["git", *settings, *options, *arguments]
    environment = {**_environment(as_user), **(variables or {})}
    deadline = time.monotonic() + timeout
    while True:
        code, output, errors = _run(command, folder, environment, input, deadline, connect_timeout, most)
        if code == 0:
            return output
        if not _lock_is_gone(folder, errors, deadline):
            raise GitFailed(_reason(arguments[0], code, output, errors), said=errors)


def _run(
    command: list[str],
    folder: Path,
    environment: Mapping[str, str],
    input: bytes | None,
    deadline: float,
    connect_timeout: float | None,
    most: int,
) -> tuple[int, bytes, str]:
    with contextlib.ExitStack() as opened:
        # Files, not pipes: a connection that ssh keeps open for reuse inherits them, and reading a pipe would block.
        output, errors = opened.enter_context(_temporary_file()), opened.enter_context(_temporary_file())
        is_traced = connect_timeout is not None and os.path.exists("/dev/fd")
        trace = opened.enter_context(_temporary_file()) if is_traced else None
        process = _start(command, folder, environment, input, output, errors, trace)
        _running.add(process)
        try:
            _wait(process, input, deadline, trace, connect_timeout)
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise GitFailed("git did not end in time.") from None
            raise
        finally:
            _running.discard(process)
        output.seek(0)
        errors.seek(0)
        return process.returncode, output.read(most), errors.read().decode("utf-8", "replace")


def _start(
    command: list[str],
    folder: Path,
    environment: Mapping[str, str],
    input: bytes | None,
    output: IO[bytes],
    errors: IO[bytes],
    trace: IO[bytes] | None,
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, **_tracing(trace)} if trace else environment,
            pass_fds=(trace.fileno(),) if trace else (),
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=output,
            stderr=errors,
            umask=_PRIVATE if os.name == "posix" else -1,
            start_new_session=True,  # its children (ssh) have no terminal to prompt on, and are killed with it
        )
    except OSError as error:
        if isinstance(error, FileNotFoundError) and folder.is_dir():
            hint = "Install it: it identifies projects and syncs notes."
            raise GitFailed("git is not installed.", hint) from None
        raise GitFailed(f"git cannot be run in {folder}: {error.strerror}.") from None


def _tracing(trace: IO[bytes]) -> dict[str, str]:
    """Variables that make git write to a file what it receives; headers, but no contents."""
    path = f"/dev/fd/{trace.fileno()}"
    return {"GIT_TRACE_PACKET": path, "GIT_TRACE_CURL": path, "GIT_TRACE_CURL_NO_DATA": "1"}


def _wait(
    process: subprocess.Popen[bytes],
    input: bytes | None,
    deadline: float,
    trace: IO[bytes] | None,
    connect_timeout: float | None,
) -> None:
    """Wait for the end of git until the deadline. Where it is traced, an answer has to come within its own timeout."""
    left = max(0.0, deadline - time.monotonic())
    if trace is None or connect_timeout is None:
        if input is None:
            _sleep_until_end(process, left)
        process.communicate(input, timeout=max(0.0, deadline - time.monotonic()))
        return
    first = min(connect_timeout, left)
    try:
        process.communicate(input, timeout=first)
    except subprocess.TimeoutExpired:
        trace.seek(0)
        if not _ANSWER.search(trace.read()):
            raise NoAnswer(connect_timeout) from None
        process.communicate(timeout=left - first)


def _sleep_until_end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Sleep until a process ends, where the system can say so: `Popen` looks again after up to 50 ms."""
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError), open(os.pidfd_open(process.pid), "rb", buffering=0) as end:
            poll = select.poll()
            poll.register(end, select.POLLIN)
            poll.poll(seconds * 1000)


def _temporary_file() -> IO[bytes]:
    """An open file without a name, in memory where the system supports it."""
    with contextlib.suppress(AttributeError, OSError):
        return os.fdopen(os.memfd_create("git"), "w+b")
    import tempfile  # imported here: 4 ms, which hooks need not spend

    return tempfile.TemporaryFile()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill git and its children."""
    _kill(process)
    process.communicate()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


@atexit.register
def _kill_running() -> None:
    for process in list(_running):
        _kill(process)


def _environment(as_user: bool) -> dict[str, str]:
    kept = _FOR_THE_NETWORK if as_user else ()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith(kept)
    }
    environment |= {
        "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
    if not as_user:
        environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
    return environment


def _lock_held(errors: str) -> str:
    """The lock file that another process holds, according to git's error output; "" if it names none."""
    for line in errors.splitlines():
        reason, held, _ = line.partition(": File exists")
        _, created, lock = reason.rpartition("Unable to create '")
        _, locked, config = reason.rpartition("could not lock config file ")
        if held and created and lock.endswith("'"):
            return lock[:-1]
        if held and locked:
            return f"{config}.lock"
    return ""


def _lock_is_gone(folder: Path, errors: str, deadline: float) -> bool:
    """Whether git failed at a lock file of this folder that is gone now: released, or removed as stale."""
    lock = folder / _lock_held(errors)
    if lock == folder or not lock.resolve().is_relative_to(folder.resolve()):
        return False
    while time.monotonic() < deadline:
        try:
            age = time.time() - lock.stat().st_mtime
        except OSError:
            return True
        if not 0 <= age < _STALE_SECONDS:
            lock.unlink(missing_ok=True)
            return True
        time.sleep(0.05)
    return False


def _reason(action: str, code: int, output: bytes, errors: str) -> str:
    """The line of git's output that has the reason of a failure."""
    refusals = [line for line in output.decode("utf-8", "replace").splitlines() if line.startswith("!")]
    lines = [line.strip() for line in (*refusals, *errors.splitlines()) if line.strip() and _VAGUE not in line]
    reasons = [line for line in lines if line.startswith(("!", "fatal:", "error:"))] or lines
    words = reasons[0].removeprefix("fatal: ").removeprefix("error: ") if reasons else _end_of(code)
    return f"git {action}: {' '.join(words.split())}"


def _end_of(code: int) -> str:
    """How git ended, if it has said nothing."""
    return f"it was ended by a signal ({signal.strsignal(-code)})" if code < 0 else "it gave no reason"
