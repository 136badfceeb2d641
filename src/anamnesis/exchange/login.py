"""Login to a hub, with a token or with a code that a person confirms in a browser; and the answer to an invitation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from anamnesis.config import Proxies
from anamnesis.disk import locked
from anamnesis.errors import InvalidArgument, LockHeld, StoreUnavailable
from anamnesis.exchange.account import Account, Address, forget_account, parse_address, read_account, write_account
from anamnesis.exchange.client import HubClient, HubRefused, HubUnreachable
from anamnesis.exchange.proxy import NO_PROXIES
from anamnesis.exchange.state import HubDatabase, HubState, Waiting, last_account
from anamnesis.notes.spaces import check_space
from anamnesis.store import MemoryStore
from anamnesis.store.ids import utcnow
from anamnesis.store.shared_notes import Shared, SharedNotes
from anamnesis.store.tombstones import is_purged
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
    """The login, the role in each space, and the former login of the home with the number of notes kept apart."""

    account: Account
    spaces: dict[str, str]
    former: Account | None = None
    apart: int = 0


def refuse_another(former: Account, account: Account) -> None:
    """Refuse a login of another user, or at another hub, than the one whose notes are in the home."""
    raise InvalidArgument(
        f"This home exchanges its notes as {former.user} with {former.url}, not as {account.user} with {account.url}.",
        f"Use a home of its own for {account.user} (set ANAMNESIS_HOME), or add --keep-apart: the notes that are here"
        " are then not sent.",
    )


def log_in(
    home: Path,
    address: Address,
    token: str,
    proxies: Proxies = NO_PROXIES,
    ask: Callable[[Account, Account], object] = refuse_another,
) -> LoggedIn:
    """Check a token with its hub and save the login.

    If the home has notes of another login, `ask` gets both and raises unless these notes may be kept apart.
    """
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
    former = _former_login(home, account)
    if former and (former.url, former.user) == (account.url, account.user):
        # The hub was restored. The exchange learns it from the id that is known here, and compares all notes.
        account = account._replace(hub=former.hub)
        former = None
    if former is None:
        with _exchange_lock(home):
            write_account(home, account)
        return LoggedIn(account, spaces)
    ask(former, account)
    with locked(home / EXCHANGE_LOCK, timeout=_PATIENCE):  # no exchange as the former user goes on
        apart = _keep_apart(home, former, account)
        write_account(home, account)
    return LoggedIn(account, spaces, former, apart)


def _former_login(home: Path, account: Account) -> Account | None:
    """The other login that the notes of a home belong to; None if there is none."""
    try:
        known = read_account(home)
    except StoreUnavailable:
        known = None  # hub.db knows the last one
    former = known or last_account(home)
    return former if former and former.identity != account.identity else None


def _keep_apart(home: Path, former: Account, account: Account) -> int:
    """Leave all notes of a home to its former login; returns how many there are.

    To the other user they are foreign: no session is told them, and no dream joins them with the user's own.
    """
    with MemoryStore(home) as store, closing(HubDatabase(home)) as database:
        store.refresh()
        portable = {note.id for note in store.list(scope="portable")}
        state = HubState(database, former)
        here = {*store.hashes()}
        state.queue(Waiting(each.note, each.space, "") for each in state.missing(here))
        state.keep(portable | {each.id for each in store.trashed()})
        store.shared.doubt_all()  # until the first exchange has asked the hub
        store.shared.record(Shared(note, former.personal, former.user) for note in state.own())
        store.shared.forget_space(account.personal)
        store.shared.save_projects({})  # which place notes from the first exchange on
        own = HubState(database, account)
        own.receive_again(each for each in own.missing(here) if not is_purged(home, each.note))
        own.mark("reached_at", utcnow())  # from here on it is the last login, also if it is never used
        store.accepted.change_user(*(home / f"accepted-{each.number}.txt" for each in (state, own)))
        return len(portable & own.elsewhere(portable).keys())


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
    """Record that a person has read the result of a sync: the next one does not name the same invitations, projects and
    news."""
    if account := read_account(home):
        with closing(HubDatabase(home)) as database, closing(SharedNotes(home)) as shared:
            HubState(database, account).mark_told(shared.projects(), news)


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
