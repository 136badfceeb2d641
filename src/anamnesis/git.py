"""The git program. Nothing of the caller's surroundings reaches it: no repository, no hook, no signing, no prompt.

Its settings are ours too, unless it acts as the user: credentials, proxies and rewritten addresses are in theirs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from anamnesis.errors import AnamnesisError

LOCAL_TIMEOUT = 600.0
# git holds its lock files for moments; one this old was left by a git that was killed.
_STALE_SECONDS = 10.0
_NEUTRAL = (
    f"core.hooksPath={os.devnull}",
    f"core.excludesFile={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.autocrlf=false",
    "core.fileMode=false",
    "core.fsmonitor=false",
    "core.ignoreStat=false",
    "core.quotePath=false",
    "core.safecrlf=false",
    "core.sparseCheckout=false",
    "core.symlinks=false",
    "gc.auto=0",
)
_FOR_THE_NETWORK = ("GIT_SSH", "GIT_SSL", "GIT_PROXY", "GIT_ASKPASS", "GIT_HTTP", "GIT_CONFIG_GLOBAL")
# What git says last, after ssh or the network has said why.
_VAGUE = "Could not read from remote repository"


class GitFailed(AnamnesisError):
    """git ended with an error: the message is the line that says why, `said` all that it said."""

    def __init__(self, message: str, hint: str = "", said: str = "") -> None:
        super().__init__(message, hint)
        self.said = said


def git(
    folder: Path,
    *arguments: str,
    options: Sequence[str] = (),
    input: bytes | None = None,
    variables: Mapping[str, str] | None = None,
    as_user: bool = False,
    timeout: float = LOCAL_TIMEOUT,
) -> bytes:
    """What git prints when it is run in a folder."""
    settings = [word for each in _NEUTRAL for word in ("-c", each)]
    command = ["git", *settings, *options, *arguments]
    environment = {**_environment(as_user), **(variables or {})}
    deadline = time.monotonic() + timeout
    while True:
        code, output, errors = _run(command, folder, environment, input, deadline)
        if code == 0:
            return output
        if not _lock_is_gone(folder, errors, deadline):
            raise GitFailed(_telling_words(arguments[0], output, errors), said=errors)


def _run(
    command: list[str], folder: Path, environment: Mapping[str, str], input: bytes | None, deadline: float
) -> tuple[int, bytes, str]:
    # Files, not pipes: a connection that ssh keeps open for later holds on to them, and a pipe would wait for it.
    with _nameless_file() as output, _nameless_file() as errors:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
                stdout=output,
                stderr=errors,
                start_new_session=True,  # what it starts (ssh) has no terminal to ask on, and ends with it
            )
        except OSError as error:
            if isinstance(error, FileNotFoundError) and folder.is_dir():
                hint = "Install it: projects are known and notes travel by it."
                raise GitFailed("git is not installed.", hint) from None
            raise GitFailed(f"git cannot be run in {folder}: {error.strerror}.") from None
        try:
            process.communicate(input, timeout=max(0.0, deadline - time.monotonic()))
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise GitFailed("git did not end in time.") from None
            raise
        output.seek(0)
        errors.seek(0)
        return process.returncode, output.read(), errors.read().decode("utf-8", "replace")


def _nameless_file() -> IO[bytes]:
    """A file in memory where the system has such, else on disk."""
    with contextlib.suppress(AttributeError, OSError):
        return os.fdopen(os.memfd_create("git"), "w+b")
    import tempfile  # 4 ms that hooks need not spend

    return tempfile.TemporaryFile()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


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
    """The lock file that git says somebody else holds; "" if it says nothing of one."""
    for line in errors.splitlines():
        said, held, _ = line.partition(": File exists")
        _, created, lock = said.rpartition("Unable to create '")
        _, locked, config = said.rpartition("could not lock config file ")
        if held and created and lock.endswith("'"):
            return lock[:-1]
        if held and locked:
            return f"{config}.lock"
    return ""


def _lock_is_gone(folder: Path, errors: str, deadline: float) -> bool:
    """Whether git failed at a lock file of this folder that is there no longer: let go of, or removed as stale."""
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


def _telling_words(action: str, output: bytes, errors: str) -> str:
    """The line with which git says what is wrong."""
    refusals = [line for line in output.decode("utf-8", "replace").splitlines() if line.startswith("!")]
    lines = [line.strip() for line in (*refusals, *errors.splitlines()) if line.strip() and _VAGUE not in line]
    telling = [line for line in lines if line.startswith(("!", "fatal:", "error:"))] or lines
    words = telling[0].removeprefix("fatal: ").removeprefix("error: ") if telling else "it gave no reason"
    return f"git {action}: {' '.join(words.split())}"
