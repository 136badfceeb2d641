"""This machine's settings: the environment, then config.json, then a default. Read once, passed down."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anamnesis.disk import write_atomically
from anamnesis.errors import InvalidArgument, StoreUnavailable

CONFIG_NAME = "config.json"
# Claude Code cuts what a hook prints at 10,000 characters and shows a preview instead.
DEFAULT_BUDGET = 8_000


def _machine_id(text: str) -> str:
    if not re.fullmatch(r"[\w.-]{1,64}", text):
        raise InvalidArgument(
            f"machine_id {text!r} has characters that it cannot have.",
            "Use up to 64 letters, digits, dots, dashes and underscores.",
        )
    return text


def _remote(text: str) -> str:
    """A git remote that git cannot take for an option or a command."""
    if text.startswith("-") or "::" in text or not text.isprintable() or not text.strip():
        raise InvalidArgument(
            f"remote {text!r} is not the address of a git repository.",
            "Use a form like git@host:notes.git, https://host/notes.git or /path/to/notes.git.",
        )
    return text


def _budget(text: str) -> str:
    if not text.isdecimal() or not 500 <= int(text) <= 100_000:
        raise InvalidArgument(f"inject_budget {text!r} is not a number of characters from 500 to 100000.")
    return text


def _whole(text: str) -> str:
    if not text.isdecimal() or not 0 < int(text) <= 1_000_000:
        raise InvalidArgument(f"{text!r} is not a whole number from 1 to 1000000.")
    return text


def _on_or_off(text: str) -> str:
    if text not in ("on", "off"):
        raise InvalidArgument(f"{text!r} is neither on nor off.")
    return text


def _provider(text: str) -> str:
    if text not in ("heuristic", "openai"):
        raise InvalidArgument(f"reflection_provider {text!r} is not one of heuristic, openai.")
    return text


def _url(text: str) -> str:
    if not text.startswith(("https://", "http://")) or not text.isprintable():
        raise InvalidArgument(f"reflection_base_url {text!r} is not an http or https address.")
    return text


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its key in config.json, its variable, what it is for, and how a value is checked."""

    name: str
    variable: str
    purpose: str
    default: str
    check: Callable[[str], str] = str
    is_secret: bool = False


SETTINGS = (
    Setting(
        "machine_id", "ANAMNESIS_MACHINE_ID", "The name of this machine in its notes.", "the host name", _machine_id
    ),
    Setting("remote", "ANAMNESIS_GIT_REMOTE", "The git repository that carries the notes.", "none", _remote),
    Setting(
        "token",
        "ANAMNESIS_TOKEN",
        "What every client has to send the daemon as `Authorization: Bearer`, on this machine too; only `GET /health`"
        " of a daemon on loopback is answered without it. At least 16 characters. Needed beyond loopback.",
        "none",
        is_secret=True,
    ),
    Setting(
        "bridge",
        "ANAMNESIS_BRIDGE",
        "Whether notes and Engram's observations are one memory, where there is an `engram.db`: `on` or `off`.",
        "on",
        _on_or_off,
    ),
    Setting("sync_timeout", "ANAMNESIS_SYNC_TIMEOUT", "Seconds to wait for that repository.", "120", _whole),
    Setting(
        "inject_budget",
        "ANAMNESIS_INJECT_BUDGET",
        "How many characters a starting session is told at the most.",
        str(DEFAULT_BUDGET),
        _budget,
    ),
    Setting(
        "reflection_provider",
        "ANAMNESIS_REFLECTION_PROVIDER",
        "Who summarises sessions: `heuristic`, or `openai` for any endpoint that speaks its dialect.",
        "heuristic",
        _provider,
    ),
    Setting("reflection_model", "ANAMNESIS_REFLECTION_MODEL", "The model that summarises.", "gpt-4o-mini"),
    Setting(
        "reflection_base_url",
        "ANAMNESIS_REFLECTION_BASE_URL",
        "Where the model is served, up to `/v1`.",
        "https://api.openai.com/v1",
        _url,
    ),
    Setting("reflection_api_key", "ANAMNESIS_REFLECTION_API_KEY", "The key for it.", "none", is_secret=True),
    Setting("reflection_timeout", "ANAMNESIS_REFLECTION_TIMEOUT", "Seconds to wait for it.", "30", _whole),
    Setting("reflection_max_tokens", "ANAMNESIS_REFLECTION_MAX_TOKENS", "How long its answer may be.", "1000", _whole),
)
HOME_VARIABLE = "ANAMNESIS_HOME"
STRICT_VARIABLE = "ANAMNESIS_ENGRAM_STRICT"
# Where an Engram is expected to be, and how; read where Engram's dialect starts, and never kept in config.json.
ENGRAM_VARIABLES = {
    "ENGRAM_DATA_DIR": "The folder of `engram.db`, absolute; else `~/.engram` if there is one, else ANAMNESIS_HOME.",
    "ENGRAM_PORT": "The port of the daemon; else 7437.",
    "ENGRAM_PROJECT": "The project of `engram mcp`; else that of its folder.",
    STRICT_VARIABLE: "`1`, `true` or `on`: behave as Engram does where Anamnesis is safer by default. What its clients"
    " send is then stored as it was sent, without redaction, and a hard delete passes over a row that is marked as"
    " deleted.",
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """A setting's value and where it comes from: the environment, config.json or the default."""

    setting: Setting
    value: str | None
    source: str

    @property
    def shown(self) -> str | None:
        """The value as it may be shown: of a secret, its end."""
        return f"...{self.value[-4:]}" if self.value and self.setting.is_secret else self.value


def resolve_home() -> Path:
    """The store's root: ANAMNESIS_HOME, else ~/.anamnesis."""
    home = os.environ.get(HOME_VARIABLE)
    return Path(home).expanduser().absolute() if home else Path.home() / ".anamnesis"


def resolve_claude_home() -> Path:
    """Claude Code's own folder: CLAUDE_CONFIG_DIR, else ~/.claude."""
    home = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(home).expanduser().absolute() if home else Path.home() / ".claude"


def resolve_machine_id() -> str:
    """The name of this machine: ANAMNESIS_MACHINE_ID, else config.json, else the host name."""
    return resolve(setting("machine_id")).value or "unknown"


def resolve_budget() -> int:
    """How many characters are injected at the most."""
    return int(_in_force("inject_budget"))


@dataclass(frozen=True, slots=True)
class Reflection:
    """Who summarises sessions, and how it is reached."""

    provider: str
    model: str
    base_url: str
    api_key: str
    timeout: int
    max_tokens: int


def resolve_reflection() -> Reflection:
    """The settings of reflection."""
    return Reflection(
        provider=_in_force("reflection_provider"),
        model=_in_force("reflection_model"),
        base_url=_in_force("reflection_base_url"),
        api_key=resolve(setting("reflection_api_key")).value or "",
        timeout=int(_in_force("reflection_timeout")),
        max_tokens=int(_in_force("reflection_max_tokens")),
    )


def _in_force(name: str) -> str:
    """A setting's value or default; a value that cannot be is as if it were not there."""
    wanted = setting(name)
    value = resolve(wanted).value
    try:
        return wanted.check(value) if value else wanted.default
    except InvalidArgument:
        return wanted.default


def resolve_remote() -> str | None:
    """The git remote: ANAMNESIS_GIT_REMOTE, else config.json, else none."""
    return resolve(setting("remote")).value


def resolve_token() -> str:
    """What clients have to show the daemon; "" if nothing."""
    return resolve(setting("token")).value or ""


def resolve_bridge() -> bool:
    """Whether notes and observations are kept in step."""
    return _in_force("bridge") == "on"


def resolve_engram_strict() -> bool:
    """Whether engram.db is written exactly as Engram writes it."""
    return os.environ.get(STRICT_VARIABLE, "") in ("1", "true", "on")


def resolve_sync_timeout() -> int:
    """How many seconds a sync waits for the remote, each time it asks it something."""
    return int(_in_force("sync_timeout"))


def setting(name: str) -> Setting:
    """The setting of a name."""
    for each in SETTINGS:
        if each.name == name:
            return each
    names = ", ".join(each.name for each in SETTINGS)
    raise InvalidArgument(f"There is no setting {name!r}.", f"There are: {names}.")


def resolve(wanted: Setting) -> Resolved:
    """A setting's value in force. A broken config.json counts as empty, so that nothing stops at it."""
    if value := os.environ.get(wanted.variable):
        return Resolved(wanted, value, wanted.variable)
    try:
        value = read_config(resolve_home()).get(wanted.name)
    except StoreUnavailable:
        value = None
    if isinstance(value, str) and value:
        return Resolved(wanted, value, CONFIG_NAME)
    return Resolved(wanted, _host_name() if wanted.name == "machine_id" else None, "default")


def _host_name() -> str | None:
    if hasattr(os, "uname"):
        return os.uname().nodename or None
    import socket  # 3 ms, and on Windows alone

    return socket.gethostname() or None


def read_config(home: Path) -> dict[str, Any]:
    """The content of config.json; empty where there is none."""
    path = home / CONFIG_NAME
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise StoreUnavailable(f"{path} cannot be read: {error}.", "Mend or remove it.") from error
    if not isinstance(content, dict):
        raise StoreUnavailable(f"{path} does not hold a JSON object.", "Mend or remove it.")
    return content


def change_config(home: Path, name: str, value: str | None) -> None:
    """Set or, with None, unset a setting in config.json; what else is there stays."""
    wanted = setting(name)
    content = read_config(home)
    if value is None:
        content.pop(wanted.name, None)
    else:
        content[wanted.name] = wanted.check(value)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    path = home / CONFIG_NAME
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path.resolve(), text.encode("utf-8", "replace"), mode=0o600)
    except OSError as error:
        raise StoreUnavailable(f"Cannot write {path}: {error.strerror}.") from error
