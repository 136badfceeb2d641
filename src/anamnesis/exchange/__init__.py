"""Exchange of notes with a hub: what changed there since a cursor, and what changed here on the version that both had.

Like a sync by git, and beside it: both bring changes of notes, and both merge them note by note.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import NamedTuple

from anamnesis.config import Settings
from anamnesis.disk import locked
from anamnesis.errors import AnamnesisError, Unwritable
from anamnesis.exchange.account import Account, parse_address, read_account, write_account
from anamnesis.exchange.client import HubClient, HubUnreachable
from anamnesis.exchange.cycle import Cycle, compare
from anamnesis.exchange.receiving import Receiver
from anamnesis.exchange.result import NOTHING, HubResult, report_hub, travelled
from anamnesis.exchange.sending import Sender
from anamnesis.exchange.state import HubDatabase, HubState
from anamnesis.log import log
from anamnesis.plural import counted
from anamnesis.readonly import is_writable
from anamnesis.store import MemoryStore
from anamnesis.sync.backend import Announce
from anamnesis.sync.failure import HUB, clear_failure, record_failure
from anamnesis.sync.worktree import EXCHANGE_LOCK

__all__ = ["HubResult", "exchange_notes", "read_account", "report_hub"]


def exchange_notes(
    store: MemoryStore,
    settings: Settings,
    *,
    announce: Announce | None = None,
    retries: bool = False,
    is_compared: bool = False,
    purge: Callable[[str], object] | None = None,
) -> HubResult | None:
    """Exchange the notes with the hub of this machine; None if it is logged in to none.

    Records whether that failed. To be offline is normal: a hub that cannot be reached is a result. `retries` offers
    again what it refused. `is_compared` says that the files were just compared with the index, or are watched. Notes
    that were erased at the hub are removed with `purge`.
    """
    if read_account(store.root) is None:
        return None
    how = Sharing(announce or (lambda _: None), retries, is_compared, purge or partial(_purge, store))
    how.announce("Waiting for another sync of this machine")
    with locked(store.root / EXCHANGE_LOCK, timeout=2.0 * settings.sync_timeout + 60):
        account = read_account(store.root)
        return _recorded(store, settings, account, how) if account else None


def _recorded(store: MemoryStore, settings: Settings, account: Account, how: Sharing) -> HubResult:
    try:
        result = _exchange(store, settings, account, how)
    except HubUnreachable as error:
        return HubResult(account.url, account.user, NOTHING, NOTHING, False, 0, error.message, False, error.hint)
    except (AnamnesisError, sqlite3.Error, OSError) as error:
        hint = error.hint if isinstance(error, AnamnesisError) else ""
        record_failure(store.root, error.message if isinstance(error, AnamnesisError) else str(error), hint, HUB)
        raise
    clear_failure(store.root, HUB)
    if result.received.total or result.sent.total:  # a daemon exchanges every minute
        log(store.root, "exchange", **report_hub(result))
    return result


class Sharing(NamedTuple):
    """How an exchange is made; see `exchange_notes`."""

    announce: Announce
    retries: bool
    is_compared: bool
    purge: Callable[[str], object]


def _purge(store: MemoryStore, note: str) -> None:
    from anamnesis.store.purging import purge  # hardly ever

    purge(store, note)


def _exchange(store: MemoryStore, settings: Settings, account: Account, how: Sharing) -> HubResult:
    if not is_writable(store.root):
        fault = "the disk is read-only or full, or the folder is closed to you"
        raise Unwritable(f"The notes in {store.root} cannot be synced: {fault}.")
    address = parse_address(account.url, insecure=True)  # the login has decided about that
    with (
        closing(HubDatabase(store.root)) as database,
        HubClient(address, account.token, timeout=float(settings.sync_timeout), proxies=settings.proxies) as client,
    ):
        receiver = Receiver(store, HubState(database, account), client, how.purge)
        sender = Sender(receiver, settings.machine_id, how.retries)
        if not how.is_compared:
            compare(receiver)
        cycle = Cycle(receiver, sender, how.announce, account.hub, lambda hub: _rename(store, account, hub))
        cycle.run()
        waiting = sum(bool(each.reason) for each in receiver.state.waiting())
    return HubResult(
        account.url,
        account.user,
        travelled(receiver.received),
        travelled(sender.sent),
        receiver.conflicted,
        waiting,
        _detail(cycle, waiting),
    )


def _rename(store: MemoryStore, account: Account, hub: str) -> None:
    write_account(store.root, account._replace(hub=hub))


def _detail(cycle: Cycle, waiting: int) -> str:
    """What there is to say of an exchange that reached the hub."""
    said = []
    if cycle.receiver.conflicted:
        said.append("both versions of a note are kept; see `anamnesis conflicts`")
    if cycle.restored:
        said.append(f"{counted(cycle.restored, 'note')} missing here came back from the hub")
    said += [f"you were removed from the space {name}, and its notes stay here" for name in cycle.removed]
    if waiting:
        said.append(f"{counted(waiting, 'note waits', 'notes wait')}; see `anamnesis space`")
    return "; ".join(said) or "synced"
