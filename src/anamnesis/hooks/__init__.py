"""The hooks that agents run at the start of a session, at a prompt, at a compaction and at the end.

Nothing here may fail the agent: the exit code is always 0, stdout holds the result or nothing, and a failure is one
line on stderr and in the log.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial

from anamnesis.config import HOME_VARIABLE, Settings, resolve_settings
from anamnesis.errors import AnamnesisError, InvalidArgument, explained
from anamnesis.hooks.event import Event, read_event
from anamnesis.hooks.hosts import answer, is_due, normalise, recognise
from anamnesis.hooks.once import is_first
from anamnesis.log import log, log_once, warn

# Set for every program that we start, so that a model called by us does not run our hooks.
GUARD = "ANAMNESIS_INSIDE"


def run(name: str, arguments: Sequence[str]) -> None:
    """Run a hook."""
    if os.environ.get(GUARD):
        return
    text, host, event = "", "", Event()
    settings = None
    try:
        options = _options(arguments)
        if home := options.pop("home", ""):
            os.environ[HOME_VARIABLE] = home  # also for the processes that the hook starts
        settings = resolve_settings()
        if settings.fault:
            warn(settings.refused[0], f"anamnesis {name}")
        for reason in settings.refused:
            log_once(settings.home, "setting refused", reason=reason)
        sent = read_event()
        host = options.pop("host", "") or recognise(sent, os.environ)
        event = normalise(sent, host, os.environ)
        if is_due(event, host, name) and is_first(settings.home, name, event):
            text = _hook(name)(event, options, settings)
    except Exception as error:  # the outermost boundary: a hook never fails its agent
        known = explained(error) if isinstance(error, OSError) else error
        reason = str(known) if isinstance(known, AnamnesisError) else f"{type(error).__name__}: {error}"
        warn(reason, f"anamnesis {name}")
        with contextlib.suppress(AnamnesisError):  # without settings, there is no log either
            log((settings or resolve_settings()).home, "hook failed", hook=name, reason=reason)
    if result := answer(text, host, name, event):
        _print(result)


def _print(result: str) -> None:
    try:
        sys.stdout.buffer.write(result.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the agent has closed the pipe


def _hook(name: str) -> Callable[[Event, dict[str, str], Settings], str]:
    """Import the one hook that is needed."""
    if name == "inject":
        from anamnesis.hooks.start import inject

        return inject
    if name == "capture":
        from anamnesis.hooks.end import capture

        return partial(capture, variables=os.environ)
    from anamnesis.hooks.prompt import recall

    return recall


def _options(arguments: Sequence[str]) -> dict[str, str]:
    """`--name value`, `--name=value`, `--flag` and `-p value` as names and values."""
    options: dict[str, str] = {}
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word.startswith("-p"):
            short = word.removeprefix("-p").removeprefix("=")
            word = f"--project={short}" if short else "--project"
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not name:
            raise InvalidArgument(f"{word!r} is not an option of a hook.")
        if not equals and waiting and not waiting[0].startswith("--"):
            value = waiting.pop(0)
        options[name] = value
    return options
