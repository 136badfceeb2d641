"""One sync of this machine, by git and with its hub. If one fails, the other still runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from anamnesis.config import Settings
from anamnesis.errors import AnamnesisError, InvalidArgument
from anamnesis.exchange import HubResult, exchange_notes, read_account, report_hub
from anamnesis.exchange.result import NOTHING
from anamnesis.exchange.standing import count_unsent
from anamnesis.exchange.state import last_account, read_standing
from anamnesis.plural import listed
from anamnesis.store import MemoryStore
from anamnesis.sync import SyncBackend, SyncResult, report, sync_store
from anamnesis.sync.backend import Announce

_FAILURES = (AnamnesisError, sqlite3.Error, OSError)


@dataclass(frozen=True, slots=True)
class Synced:
    """The results of a sync by git, and with the hub if this machine is logged in."""

    git: SyncResult
    hub: HubResult | None

    @property
    def faults(self) -> list[str]:
        """One sentence for each of the remote and the hub that was not reached."""
        faults = [] if self.git.reached else [self.git.detail]
        if self.hub and not self.hub.reached:
            faults.append(self.hub.fault)
        return faults

    @property
    def decided(self) -> list[str]:
        """One sentence for each field that both sides changed and the newer one decided."""
        return [*self.git.decided, *(self.hub.decided if self.hub else ())]

    def report(self, store: MemoryStore) -> dict[str, Any]:
        """The results as JSON, the same on every surface."""
        return report(store, self.git) | ({"hub": report_hub(self.hub)} if self.hub else {})


def sync_both(
    store: MemoryStore,
    backend: SyncBackend,
    settings: Settings,
    *,
    announce: Announce | None = None,
    retries: bool = False,
    purge: Callable[[str], object] | None = None,
) -> Synced:
    """Sync by git, then exchange with the hub. Raises errors of git only without a login."""
    settings.demand_config()
    is_compared = True
    try:
        _refuse_two_users(store, settings)
        git = sync_store(store, backend)
    except _FAILURES as error:
        if _is_logged_out(store):
            raise
        git, is_compared = SyncResult(False, 0, False, "", str(error), reached=False), False
    exchange = partial(exchange_notes, store, settings, announce=announce, retries=retries, purge=purge)
    hub = _exchange_or_fault(partial(exchange, is_compared=is_compared))
    return Synced(git, hub if hub is None or hub.reached else replace(hub, unsent=_unsent(store)))


def _refuse_two_users(store: MemoryStore, settings: Settings) -> None:
    """Refuse git for a home with the notes of two users: it would carry each one's to the other's repository."""
    account = last_account(store.root) if settings.remote else None  # also after a logout
    others = read_standing(store.root, account).others if account else ()
    if account and (users := sorted({each.user for each in others} - {account.user})):
        raise InvalidArgument(
            f"This home also has notes of {listed(users)}, and git would carry the notes of both.",
            f"Use a home of its own for {account.user} (set ANAMNESIS_HOME), or anamnesis config unset remote.",
        )


def _unsent(store: MemoryStore) -> int:
    try:
        account = read_account(store.root)
        return count_unsent(store, account) if account else 0
    except _FAILURES:
        return 0  # the failure that is reported already


def _is_logged_out(store: MemoryStore) -> bool:
    try:
        return read_account(store.root) is None
    except AnamnesisError:
        return False


def _exchange_or_fault(exchange: Callable[[], HubResult | None]) -> HubResult | None:
    try:
        return exchange()
    except _FAILURES as error:  # `exchange_notes` has recorded it
        message, hint = (error.message, error.hint) if isinstance(error, AnamnesisError) else (str(error), "")
        return HubResult("", "", NOTHING, NOTHING, False, 0, message, reached=False, hint=hint)
