"""Codex's trust in our hooks: its app server lists the hooks it trusts, and we make the same edit as its `/hooks`."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anamnesis.errors import AnamnesisError
from anamnesis.onboard.agent import Agent
from anamnesis.onboard.edits import SettingsEdit
from anamnesis.onboard.pieces import OwnValue
from anamnesis.onboard.place import Place
from anamnesis.onboard.program import call_in

_LIST = 2
_SECONDS = 20.0
_TRUSTED = ("trusted", "managed")
# Without these, it downloads its plugins first.
_QUIET = [word for name in ("apps", "plugins", "remote_plugin") for word in ("-c", f"features.{name}=false")]


class CodexUnavailable(AnamnesisError):
    """Codex does not answer: its version lacks the request, or the program is not Codex."""


@dataclass(frozen=True, slots=True)
class CodexHook:
    """A hook of ours as Codex lists it; Codex trusts its hash."""

    key: str
    hash: str
    is_trusted: bool


@dataclass(frozen=True, slots=True)
class UntrustedHooks:
    """Our hooks that Codex does not run yet, maybe none; the file with our hooks, and the one with its trust."""

    agent: Agent
    hooks: list[CodexHook]
    file: Path
    config: Path


def find_untrusted(agents: Sequence[Agent], place: Place) -> UntrustedHooks | None:
    """Our hooks that Codex does not trust; None if it is not set up or does not answer."""
    agent = next((agent for agent in agents if agent.name == "codex"), None)
    program = place.program("codex")
    if agent is None or program is None:
        return None
    file = next(edit.file for edit in agent.edits if "inject" in edit.verbs)
    config = next(edit.file for edit in agent.edits if "serve" in edit.verbs)
    if not file.is_file():
        return None
    try:
        hooks = read_hooks(program, file, place.home, place.variables, _SECONDS)
    except CodexUnavailable:
        return None
    return UntrustedHooks(agent, [hook for hook in hooks if not hook.is_trusted], file, config)


def read_hooks(program: str, file: Path, folder: Path, variables: Mapping[str, str], seconds: float) -> list[CodexHook]:
    """Our hooks in a hooks.json, as Codex lists them for a working folder."""
    answer = _ask(program, folder, variables, seconds)
    try:
        listed = [hook for entry in answer["data"] for hook in entry["hooks"]]
        own = [hook for hook in listed if _is_same(hook["sourcePath"], file) and call_in(hook)]
        return [CodexHook(hook["key"], hook["currentHash"], hook["trustStatus"] in _TRUSTED) for hook in own]
    except (KeyError, TypeError) as error:
        raise CodexUnavailable("Codex lists its hooks in a form that is not known") from error


def trust_in(file: Path, hooks: list[CodexHook]) -> SettingsEdit:
    """The edit of config.toml after which Codex trusts these hooks."""
    values = (OwnValue(("hooks", "state", hook.key, "trusted_hash"), hook.hash) for hook in hooks)
    return SettingsEdit(file, "toml", tuple(values))


def _ask(program: str, folder: Path, variables: Mapping[str, str], seconds: float) -> Any:
    """The answer of the app server to `hooks/list`."""
    messages = (
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "anamnesis", "version": "1"}}},
        {"method": "initialized"},
        {"id": _LIST, "method": "hooks/list", "params": {"cwds": [str(folder)]}},
    )
    try:
        process = subprocess.Popen(
            [program, "app-server", *_QUIET],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=dict(variables),
        )
    except OSError as error:
        raise CodexUnavailable(f"{program} cannot be started: {error.strerror}") from error
    timer = threading.Timer(seconds, process.terminate)
    timer.start()
    answer = None
    try:
        # A program that is not Codex may end before it has read all.
        with contextlib.suppress(BrokenPipeError), process:
            answer = next(_answers(process, "".join(f"{json.dumps(message)}\n" for message in messages)), None)
    finally:
        timer.cancel()
    if answer is None:
        raise CodexUnavailable("Codex does not say which hooks it trusts")
    return answer


def _answers(process: subprocess.Popen[bytes], messages: str) -> Iterator[Any]:
    if process.stdin:
        process.stdin.write(messages.encode())
        process.stdin.flush()
    for line in process.stdout or ():
        with contextlib.suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict) and message.get("id") == _LIST and "result" in message:
                yield message["result"]


def _is_same(path: object, file: Path) -> bool:
    return isinstance(path, str) and os.path.realpath(path) == os.path.realpath(file)
