"""This machine's settings: the environment, then config.json, then a default.

Entry points read them once into `Settings` and pass it, or the one value that is needed, down.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from anamnesis.disk import write_atomically
from anamnesis.errors import InvalidArgument, StoreUnavailable, remedy
from anamnesis.setting import (
    NONE,
    ResolvedSetting,
    Setting,
    git_remote,
    line_of_text,
    machine_name,
    one_of,
    secret_token,
    web_address,
    whole_number,
)

CONFIG_NAME = "config.json"
# The folders of a home that hold its notes, by scope.
TREES = {"portable": "memory", "machine-local": "local"}
# The source of a value that is not set.
DEFAULT = "default"
_ENGRAM_DB = "engram.db"
_CORRECT_IT = "Correct or remove it."
# Claude Code shows only a preview of a hook's output beyond 10,000 characters.
DEFAULT_BUDGET = 8_000
DEFAULT_VERSIONS = 50
_MOST_UNKNOWN = 5
# How like `token` a mistyped one is: tokn, tokne and Tokens are, what a later release may know is not (hub_token).
_MISTYPED = 0.8
SETTINGS = (
    Setting(
        "machine_id", "ANAMNESIS_MACHINE_ID", "The name of this machine in its notes.", "the host name", machine_name
    ),
    Setting("remote", "ANAMNESIS_GIT_REMOTE", "The git repository that carries the notes.", NONE, git_remote),
    Setting(
        "token",
        "ANAMNESIS_TOKEN",
        "The token that every client must send to the daemon as `Authorization: Bearer`, on this machine too; only"
        " `GET /health` of a daemon on loopback needs none. At least 16 characters. Required beyond loopback.",
        NONE,
        secret_token,
        is_secret=True,
    ),
    Setting(
        "bridge",
        "ANAMNESIS_BRIDGE",
        "Whether notes and Engram's observations are one memory, where there is an `engram.db`: `on` or `off`.",
        "on",
        one_of("on", "off"),
    ),
    Setting(
        "versions",
        "ANAMNESIS_VERSIONS",
        "How many earlier versions of each note `history` has besides those in git: 0 to 10000, together at most 20,000"
        " characters for each. They stay on this machine.",
        str(DEFAULT_VERSIONS),
        whole_number(0, 10_000),
    ),
    Setting(
        "sync_timeout",
        "ANAMNESIS_SYNC_TIMEOUT",
        "Seconds to wait for that repository.",
        "120",
        whole_number(1, 1_000_000),
    ),
    Setting(
        "inject_budget",
        "ANAMNESIS_INJECT_BUDGET",
        "The most characters of notes that a new session gets.",
        str(DEFAULT_BUDGET),
        whole_number(500, 100_000),
    ),
    Setting(
        "engram_strength",
        "ANAMNESIS_ENGRAM_STRENGTH",
        "Whether an engram.db without Reverie's columns (strength, stability, ...) gets them: `on` or `off`.",
        "off",
        one_of("on", "off"),
    ),
    Setting(
        "dream",
        "ANAMNESIS_DREAM",
        "Whether the daemon dreams (tidies the memory) when idle: `on` or `off`. `anamnesis dream` does it by hand.",
        "on",
        one_of("on", "off"),
    ),
    Setting(
        "dream_share",
        "ANAMNESIS_DREAM_SHARE",
        "The percentage of a project's notes that one dream may change: 1 to 100.",
        "5",
        whole_number(1, 100),
    ),
    Setting(
        "gate",
        "ANAMNESIS_GATE",
        "Whether the gate checks notes that agents write with `memory_write`, and refuses known ones: `on` or `off`."
        " Notes of people and of other programs are never checked.",
        "on",
        one_of("on", "off"),
    ),
    Setting(
        "reflection_provider",
        "ANAMNESIS_REFLECTION_PROVIDER",
        "Who summarises sessions: `heuristic`, or `openai` for any endpoint that speaks its dialect.",
        "heuristic",
        one_of("heuristic", "openai"),
    ),
    Setting(
        "reflection_model", "ANAMNESIS_REFLECTION_MODEL", "The model that summarises.", "gpt-4o-mini", line_of_text
    ),
    Setting(
        "reflection_base_url",
        "ANAMNESIS_REFLECTION_BASE_URL",
        "The address of the model's API, up to `/v1`.",
        "https://api.openai.com/v1",
        web_address,
    ),
    Setting(
        "reflection_api_key",
        "ANAMNESIS_REFLECTION_API_KEY",
        "The key for that API.",
        NONE,
        line_of_text,
        is_secret=True,
    ),
    Setting(
        "reflection_timeout",
        "ANAMNESIS_REFLECTION_TIMEOUT",
        "Seconds to wait for the model.",
        "30",
        whole_number(1, 1_000_000),
    ),
    Setting(
        "reflection_max_tokens",
        "ANAMNESIS_REFLECTION_MAX_TOKENS",
        "The most tokens of the model's answer.",
        "1000",
        whole_number(1, 1_000_000),
    ),
    Setting(
        "theme",
        "ANAMNESIS_THEME",
        "The colours of `anamnesis tui`: `dark`, `light`, or `auto` for those of the terminal.",
        "auto",
        one_of("auto", "dark", "light"),
    ),
)
# Only hooks use these, and each hook reads the settings: a change needs no restart.
READ_BY_HOOKS = ("inject_budget",)
HOME_VARIABLE = "ANAMNESIS_HOME"
# Where the notes are without that variable, in the user's home folder.
DEFAULT_HOME = ".anamnesis"
STRICT_VARIABLE = "ANAMNESIS_ENGRAM_STRICT"
# Engram's own variables, and ours for its dialect; config.json has none of them.
ENGRAM_VARIABLES = {
    "ENGRAM_DATA_DIR": "The folder of `engram.db`, absolute; else `~/.engram` if there is one, else ANAMNESIS_HOME.",
    "ENGRAM_PORT": "The port of the daemon; else 7437.",
    "ENGRAM_PROJECT": "The project of `engram mcp`; else that of its folder.",
    STRICT_VARIABLE: "`1`, `true` or `on`: behave as Engram was recorded to, where by default its specification holds"
    " or Anamnesis is safer. What its clients send is then stored as it was sent, without redaction and with the names"
    " of projects as they are, a hard delete passes over a row that is marked as deleted, and a search finds only what"
    " has all of its words. The differences are in"
    " [HTTP](http-api.md#where-it-differs-from-engram-on-purpose).",
}

HUB_DATABASE = "ANAMNESIS_HUB_DATABASE"
HUB_SERVER = "ANAMNESIS_HUB_SERVER"
HUB_KEY = "ANAMNESIS_HUB_KEY"
HUB_KEY_FILE = "ANAMNESIS_HUB_KEY_FILE"
# For the commands `anamnesis hub`, on a hub's server; config.json has none of them.
HUB_VARIABLES = {
    HUB_DATABASE: "The hub's database: `postgresql://user:password@host/name`.",
    HUB_SERVER: "The same database with the login that `anamnesis hub init` makes for the server.",
    HUB_KEY: "The key under which the hub hashes tokens, at least 32 characters.",
    HUB_KEY_FILE: "The file with that key; else `hub.key` in ANAMNESIS_HOME.",
}


class Reflection(NamedTuple):
    """The model or the heuristic that summarises sessions, and how to reach the model."""

    provider: str
    model: str
    base_url: str
    api_key: str
    timeout: int
    max_tokens: int

    def __repr__(self) -> str:
        return f"Reflection({self.provider}, {self.model}, {self.base_url})"  # without the key


class Proxies(NamedTuple):
    """The HTTP proxies of this machine for each scheme, and the hosts that are reached without one."""

    https: str = ""
    http: str = ""
    no: str = ""

    def __repr__(self) -> str:
        return "Proxies()"  # an address may hold a password


# A NamedTuple like the others here: declaring a frozen dataclass of this size would cost a hook 2 ms.
class Settings(NamedTuple):
    """This machine's settings when the program read them. An invalid value is replaced by the default.

    `machine_id`, `remote` and `token` are checked where they are used, and `found` has all values as given.
    `unknown` has the keys of config.json that are no settings. `fault` says why config.json, or a value of it, cannot
    be used; else it is None.
    """

    home: Path
    user_home: Path
    claude_home: Path
    machine_id: str
    remote: str | None
    token: str
    bridge: bool
    versions: int
    sync_timeout: int
    inject_budget: int
    engram_strength: bool
    dream: bool
    dream_share: float
    gate: bool
    reflection: Reflection
    engram_strict: bool
    engram_data_dir: str
    engram_port: str
    engram_project: str
    hub_key: str
    proxies: Proxies
    user: str
    found: tuple[ResolvedSetting, ...]
    unknown: tuple[str, ...]
    fault: StoreUnavailable | None

    def __repr__(self) -> str:
        return f"Settings(home={str(self.home)!r})"  # without the token and the given values, which may be secret

    def engram_db(self) -> Path:
        """The path of engram.db: in ENGRAM_DATA_DIR, else in ~/.engram if there is one, else in ANAMNESIS_HOME."""
        if given := self.engram_data_dir:
            if not Path(given).is_absolute():
                raise InvalidArgument(
                    f"ENGRAM_DATA_DIR {given!r} is not an absolute path.", "Set it to one that starts at the root."
                )
            return Path(given) / _ENGRAM_DB
        engram = self.user_home / ".engram"
        return (engram if engram.is_dir() else self.home) / _ENGRAM_DB

    def demand_config(self) -> None:
        """Refuse to work with a broken config.json, whose defaults allow what it may forbid."""
        if self.fault:
            raise self.fault

    @property
    def refused(self) -> list[str]:
        """A sentence for a broken config.json, one for unknown keys, and one for each value that is not used."""
        fault = self.fault
        broken = (
            [f"{fault.message.rstrip('.')}, so what it does not set has its default. {fault.hint}"] if fault else []
        )
        unknown = [_unknown_sentence(self.unknown)] if self.unknown and not fault else []
        return (
            broken
            + unknown
            + [
                f"{each.fault.rstrip('.')}, so {each.setting.default!r} is used. Change {each.source}."
                for each in self.found
                if each.falls_back
            ]
        )

    def resolved(self, name: str) -> ResolvedSetting:
        """A setting as it was given, with its source."""
        wanted = setting(name)
        return next(each for each in self.found if each.setting == wanted)


def read_settings(environ: Mapping[str, str], user_home: Path) -> Settings:
    """Read the environment and config.json; a broken one counts as empty, and `Settings.fault` has the reason."""
    home = _folder(environ.get(HOME_VARIABLE) or f"~/{DEFAULT_HOME}", user_home)
    try:
        config = read_config(home)
        fault = next(config_faults(home, config), None)
    except StoreUnavailable as error:
        config, fault = {}, error
    found = {each.name: _resolved(each, environ, config) for each in SETTINGS}
    return Settings(
        home=home,
        user_home=user_home,
        claude_home=_folder(environ.get("CLAUDE_CONFIG_DIR") or "~/.claude", user_home),
        machine_id=found["machine_id"].value or "unknown",
        remote=found["remote"].value,
        token=found["token"].value or "",
        bridge=found["bridge"].valid == "on",
        versions=int(found["versions"].valid),
        sync_timeout=int(found["sync_timeout"].valid),
        inject_budget=int(found["inject_budget"].valid),
        engram_strength=found["engram_strength"].valid == "on",
        dream=found["dream"].valid == "on",
        dream_share=int(found["dream_share"].valid) / 100,
        gate=found["gate"].valid == "on",
        reflection=Reflection(
            provider=found["reflection_provider"].valid,
            model=found["reflection_model"].valid,
            base_url=found["reflection_base_url"].valid,
            api_key=found["reflection_api_key"].value or "",
            timeout=int(found["reflection_timeout"].valid),
            max_tokens=int(found["reflection_max_tokens"].valid),
        ),
        engram_strict=environ.get(STRICT_VARIABLE, "") in ("1", "true", "on"),
        engram_data_dir=environ.get("ENGRAM_DATA_DIR", ""),
        engram_port=environ.get("ENGRAM_PORT", ""),
        engram_project=environ.get("ENGRAM_PROJECT", ""),
        hub_key=environ.get(HUB_KEY, ""),
        proxies=Proxies(
            *(environ.get(f"{each}_proxy") or environ.get(f"{each}_proxy".upper(), "") for each in Proxies._fields)
        ),
        user=environ.get("USER") or environ.get("USERNAME") or _host_name() or "unknown",
        found=tuple(found.values()),
        unknown=tuple(sorted(config.keys() - found.keys())),
        fault=fault,
    )


def resolve_settings() -> Settings:
    """The settings of this process. Entry points call it once and pass on what it returns."""
    try:
        return read_settings(os.environ, Path.home())
    except RuntimeError as error:
        message = "The home folder of the user is not known."
        raise InvalidArgument(message, "Set HOME, and ANAMNESIS_HOME to an absolute path.") from error


def resolve_home() -> Path:
    """The store's root: ANAMNESIS_HOME, else ~/.anamnesis."""
    return resolve_settings().home


def resolve_machine_id() -> str:
    """The name of this machine: ANAMNESIS_MACHINE_ID, else config.json, else the host name."""
    return resolve_settings().machine_id


def resolve_remote() -> str | None:
    """The git remote: ANAMNESIS_GIT_REMOTE, else config.json, else none."""
    return resolve_settings().remote


def setting(name: str) -> Setting:
    """The setting of a name."""
    for each in SETTINGS:
        if each.name == name:
            return each
    nearest = _nearest(name)
    hint = f"Did you mean {nearest}?" if nearest else f"There are: {', '.join(each.name for each in SETTINGS)}."
    raise InvalidArgument(f"There is no setting {name!r}.", hint)


def _nearest(name: str, least: float = 0.7) -> str:
    """The setting that a mistyped name may mean; "" if none is like it to at least this degree."""
    from difflib import get_close_matches  # 5 ms that only a mistyped name has to spend

    names = [each.name for each in SETTINGS]
    return next(iter(get_close_matches(name.lower().replace("-", "_"), names, 1, least)), "")


def _unknown_sentence(keys: Sequence[str]) -> str:
    """That keys of config.json have no effect; a newer release may know them."""
    shown = [repr(key if len(key) <= 40 else f"{key[:37]}...") for key in keys]
    named = ", ".join(shown[:_MOST_UNKNOWN]) + (" and others" if len(shown) > _MOST_UNKNOWN else "")
    nearest = _nearest(keys[0]) if len(keys) == 1 else ""
    means = f" Did you mean {nearest}?" if nearest else ""
    return f"{CONFIG_NAME} has {named}, which this release does not know and which has no effect.{means}"


def read_anew(settings: Settings, name: str) -> ResolvedSetting:
    """A setting as a program that starts now reads it: the variables of this process, then config.json as it is."""
    found = settings.resolved(name)
    if found.source == found.setting.variable:
        return found
    config: dict[str, Any] = {}
    with suppress(StoreUnavailable):
        config = read_config(settings.home)
    return _resolved(found.setting, {}, config)


def saved_sentence(now: ResolvedSetting, *, is_removed: bool) -> str:
    """What a change of a setting in config.json means, for the user."""
    name, variable = now.setting.name, now.setting.variable
    done = f"{name} is {'removed from config.json' if is_removed else 'saved'}"
    if now.source == variable:
        return f"{done}, but the variable {variable} has a value and comes first."
    if name in READ_BY_HOOKS:
        return f"{done}. The next session uses {'its default' if is_removed else 'it'}."
    return f"{done}. Restart the daemon and running agents to use {'its default' if is_removed else 'it'}."


def _resolved(wanted: Setting, environ: Mapping[str, str], config: Mapping[str, Any]) -> ResolvedSetting:
    if value := environ.get(wanted.variable):
        return ResolvedSetting(wanted, value, wanted.variable)
    if value := setting_text(config.get(wanted.name)):
        return ResolvedSetting(wanted, value, CONFIG_NAME)
    return ResolvedSetting(wanted, _host_name() if wanted.name == "machine_id" else None, DEFAULT)


def _folder(given: str, user_home: Path) -> Path:
    """A folder as a user writes it: `~` is the home folder, `~name` that of somebody else."""
    first, *rest = Path(given).parts or ("",)
    return user_home.joinpath(*rest) if first == "~" else Path(given).expanduser().absolute()


def _host_name() -> str | None:
    if sys.platform != "win32":
        return os.uname().nodename or None
    import socket  # 3 ms that only Windows has to spend

    return socket.gethostname() or None


def read_config(home: Path) -> dict[str, Any]:
    """The content of config.json; empty where there is none."""
    path = home / CONFIG_NAME
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        if isinstance(error, (FileNotFoundError, NotADirectoryError)) and not path.is_symlink():
            return {}
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror}.", remedy(error) or _CORRECT_IT) from error
    except json.JSONDecodeError as error:
        raise StoreUnavailable(f"{path}, line {error.lineno}: {error.msg}.", _CORRECT_IT) from error
    except (ValueError, RecursionError) as error:
        reason = "is nested too deeply" if isinstance(error, RecursionError) else "is not in UTF-8"
        raise StoreUnavailable(f"{path} {reason}.", _CORRECT_IT) from error
    if not isinstance(content, dict):
        raise StoreUnavailable(f"{path} does not hold a JSON object.", _CORRECT_IT)
    return content


def config_faults(home: Path, config: Mapping[str, Any]) -> Iterator[StoreUnavailable]:
    """An error for each setting in config.json that is neither text nor a whole number, and for a mistyped token.

    Without its token, a daemon would let everybody in.
    """
    for each in SETTINGS:
        if setting_text(config.get(each.name)) is None:
            yield StoreUnavailable(f"{home / CONFIG_NAME}: {each.name} is not text.", _CORRECT_IT)
    if not config.get("token"):
        names = {each.name for each in SETTINGS}
        for key in config:
            if key not in names and _nearest(key, _MISTYPED) == "token":
                fault = f"{home / CONFIG_NAME}: there is no setting {key[:40]!r}."
                yield StoreUnavailable(fault, f"Did you mean token? {_CORRECT_IT}")


def setting_text(value: object) -> str | None:
    """A value of config.json as text, "" if it is not set; None if it is neither text nor a whole number."""
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def change_config(home: Path, name: str, value: str | None) -> None:
    """Set or, with None, unset a setting in config.json; other content stays."""
    content = read_config(home)
    if value is None and name in content:  # an unknown one too
        del content[name]
    elif value is None:
        content.pop(setting(name).name, None)
    else:
        wanted = setting(name)
        content[wanted.name] = wanted.check(value)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    path = home / CONFIG_NAME
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path.resolve(), text.encode("utf-8", "replace"), mode=0o600)
    except OSError as error:
        raise StoreUnavailable(f"Cannot write {path}: {error.strerror}.") from error


def take_machine_id(home: Path, restored: Path) -> None:
    """Name the machine in a restored config.json as in that of `home`; without one there, it has no name."""
    name = ""
    with suppress(StoreUnavailable):
        name = setting_text(read_config(home).get("machine_id")) or ""
    with suppress(StoreUnavailable):  # a file that cannot be read is restored as it was saved
        if (read_config(restored).get("machine_id") or "") != name:
            change_config(restored, "machine_id", name or None)
