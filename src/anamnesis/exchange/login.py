"""Login to a hub, with a token or with a code that a person confirms in a browser; and the answer to an invitation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from anamnesis.config import Proxies
from anamnesis.disk import locked
from anamnesis.errors import InvalidArgument, LockHeld
from anamnesis.exchange.account import Account, Address, forget_account, parse_address, read_account, write_account
from anamnesis.exchange.client import HubClient, HubRefused, HubUnreachable
from anamnesis.exchange.proxy import NO_PROXIES
from anamnesis.exchange.state import HubDatabase, HubState
from anamnesis.notes.spaces import check_space
from anamnesis.sync.worktree import EXCHANGE_LOCK

_TIMEOUT = 30.0
# Seconds to wait for a running exchange.
_PATIENCE = 10.0
_LEAST_INTERVAL, _MOST_INTERVAL = 1.0, 60.0


class Code(NamedTuple):
    """The code that a person has to confirm, the address to confirm it at, and its lifetime."""

    user_code: str
    address: str
    minutes: int


class LoggedIn(NamedTuple):
    """The login, and the role in each space."""

    account: Account
    spaces: dict[str, str]


def log_in(home: Path, address: Address, token: str, proxies: Proxies = NO_PROXIES) -> LoggedIn:
    """Check a token with its hub and save the login."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidArgument("That is not a token.", "`anamnesis hub token create` prints one: it begins with anh_.")
    try:
        with HubClient(address, token, timeout=_TIMEOUT, proxies=proxies) as client:
            found = client.me()
    except HubUnreachable as error:
        raise HubUnreachable(error.message, "Check the address and the network, and log in again.") from error
    try:
        account = Account(address.url, token, str(found["user"]), str(found["hub"]))
        spaces = {str(each["name"]): str(each["role"]) for each in found["spaces"]}
    except (KeyError, TypeError) as error:
        raise HubRefused(f"The server at {address.url} is not a hub.", "Check the address.") from error
    with _exchange_lock(home):
        write_account(home, account)
    return LoggedIn(account, spaces)


def log_out(home: Path) -> None:
    """Remove the login, after a running exchange unless that takes too long."""
    with _exchange_lock(home):
        forget_account(home)


def answer_invitation(home: Path, account: Account, space: str, *, accepts: bool, proxies: Proxies = NO_PROXIES) -> str:
    """Accept or decline an invitation to a space at the hub; returns the role that it offered."""
    with HubClient(
        parse_address(account.url, insecure=True), account.token, timeout=_TIMEOUT, proxies=proxies
    ) as client:
        role = client.answer_invitation(check_space(space), accepts=accepts)
    with closing(HubDatabase(home)) as database:
        state = HubState(database, account)
        state.save_invitations([each for each in state.invitations() if each.space != space])
    return role


def mark_told(home: Path, news: Iterable[str]) -> None:
    """Record that a person has read the result of a sync, so that the next one does not say the same again."""
    if account := read_account(home):
        with closing(HubDatabase(home)) as database:
            HubState(database, account).mark_told(news)


@contextmanager
def _exchange_lock(home: Path) -> Iterator[None]:
    """Hold the lock of exchanges; gives up waiting for it after a timeout."""
    with ExitStack() as held:
        if home.is_dir():
            with suppress(LockHeld):
                held.enter_context(locked(home / EXCHANGE_LOCK, timeout=_PATIENCE))
        yield


def ask_for_token(
    address: Address,
    machine: str,
    show: Callable[[Code], object],
    wait: Callable[[float], object] = time.sleep,
    proxies: Proxies = NO_PROXIES,
) -> str:
    """Show a code, wait until a person has confirmed it, and return the token from the hub."""
    with HubClient(address, timeout=_TIMEOUT, proxies=proxies) as client:
        asked = client.ask_for_code(machine)
        try:
            seconds = float(asked["expires_in"])
            code = Code(str(asked["user_code"]), str(asked["verification_uri"]), round(seconds / 60))
            interval = min(max(float(asked.get("interval", 5)), _LEAST_INTERVAL), _MOST_INTERVAL)
            device = str(asked["device_code"])
        except (KeyError, TypeError, ValueError) as error:
            raise HubRefused(f"The server at {address.url} offers no login by code.", "Use --token-stdin.") from error
        show(code)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            wait(interval)
            if found := client.ask_for_token(device):
                return str(found.get("token", ""))
    raise InvalidArgument("Nobody confirmed the code in time.", "Log in again for a new code.")
