"""hub.json: the login of this machine: the hub, the user and the token. Only the owner may read the file."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from anamnesis.disk import write_atomically
from anamnesis.errors import InvalidArgument, StoreUnavailable
from anamnesis.notes.spaces import PERSONAL

NAME = "hub.json"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_FORM = "Give an address like https://hub.example."


class Address(NamedTuple):
    """The address of a hub; `path` has no trailing slash."""

    is_secure: bool
    host: str
    port: int
    path: str

    @property
    def url(self) -> str:
        scheme, usual = ("https", 443) if self.is_secure else ("http", 80)
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == usual else f":{self.port}"
        return f"{scheme}://{host}{port}{self.path}"


class Account(NamedTuple):
    """A login: the address of the hub, the token, the user and the id of the hub."""

    url: str
    token: str
    user: str
    hub: str

    def __repr__(self) -> str:
        return f"Account({self.user} at {self.url})"  # without the token

    @property
    def identity(self) -> str:
        """The key of the exchange state: each hub and user has its own."""
        return f"{self.hub}/{self.user}"

    @property
    def personal(self) -> str:
        """The name of the user's own space."""
        return f"{PERSONAL}{self.user}"


def parse_address(url: str, *, insecure: bool = False) -> Address:
    """Parse the address of a hub. `insecure` allows http to other hosts than loopback."""
    shown = repr(url if len(url) <= 100 else url[:97] + "...")
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        port = parts.port
    except ValueError as error:
        raise InvalidArgument(f"{shown} is not the address of a hub: {error}.", _FORM) from error
    if parts.scheme not in ("https", "http") or not parts.hostname or not url.isprintable() or " " in url:
        raise InvalidArgument(f"{shown} is not the address of a hub.", _FORM)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidArgument("The address of a hub has no user, password, query or fragment.", _FORM)
    is_secure = parts.scheme == "https"
    if not is_secure and not insecure and parts.hostname not in _LOOPBACK:
        raise InvalidArgument(
            f"{parts.hostname} would get the token unencrypted over http.",
            "Use https, or --insecure-http if you trust the network.",
        )
    return Address(is_secure, parts.hostname, port or (443 if is_secure else 80), parts.path.rstrip("/"))


def read_account(home: Path) -> Account | None:
    """The login of this machine; None without one."""
    path = home / NAME
    try:
        found = json.loads(path.read_bytes())
        return Account(*(str(found[name]) for name in Account._fields))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreUnavailable(f"{path} cannot be read.", "Log in again: anamnesis login ADDRESS.") from error


def write_account(home: Path, account: Account) -> None:
    path = home / NAME
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, json.dumps(account._asdict(), indent=2).encode(), mode=0o600)
    except OSError as error:
        raise StoreUnavailable(f"Cannot write {path}: {error.strerror}.") from error


def forget_account(home: Path) -> None:
    """Remove the login; the notes and the exchange state stay."""
    with contextlib.suppress(FileNotFoundError):
        (home / NAME).unlink()
