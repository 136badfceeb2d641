"""Exchange of notes with a hub: receives the changes after a cursor, and sends local changes with their base version.

Independent of the sync by git, which merges note by note too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
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
from anamnesis.notes.project_names import is_among
from anamnesis.plural import counted, listed
from anamnesis.readonly import is_writable
from anamnesis.store import MemoryStore
from anamnesis.store.spaces import spaces_of_project, unshared
from anamnesis.sync.backend import BOTH_KEPT, Announce
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
    """Exchange the notes with the hub of this machine; None without a login.

    Records a failure. Being offline is normal: an unreachable hub is a result, not an exception. `retries` sends
    refused notes again. `is_compared` skips the rescan, if the files were just compared with the index or are watched.
    `purge` removes notes that were erased at the hub.
    """
    if read_account(store.root) is None:
        return None
    options = Options(announce or (lambda _: None), retries, is_compared, purge or partial(_purge, store))
    options.announce("Waiting for another sync of this machine")
    with locked(store.root / EXCHANGE_LOCK, timeout=2.0 * settings.sync_timeout + 60):
        account = read_account(store.root)
        return _exchange_and_record(store, settings, account, options) if account else None


def _exchange_and_record(store: MemoryStore, settings: Settings, account: Account, options: Options) -> HubResult:
    try:
        result = _exchange(store, settings, account, options)
    except HubUnreachable as error:
        record_failure(store.root, error.message, error.hint, HUB)
        return HubResult(account.url, account.user, NOTHING, NOTHING, False, 0, error.message, False, error.hint)
    except (AnamnesisError, sqlite3.Error, OSError) as error:
        hint = error.hint if isinstance(error, AnamnesisError) else ""
        record_failure(store.root, error.message if isinstance(error, AnamnesisError) else str(error), hint, HUB)
        raise
    clear_failure(store.root, HUB)
    if result.received.total or result.sent.total:  # a daemon exchanges every minute, mostly without changes
        log(store.root, "exchange", **report_hub(result))
    return result


class Options(NamedTuple):
    """The options of `exchange_notes`."""

    announce: Announce
    retries: bool
    is_compared: bool
    purge: Callable[[str], object]


def _purge(store: MemoryStore, note: str) -> None:
    from anamnesis.store.purging import purge  # rarely needed

    purge(store, note)


def _exchange(store: MemoryStore, settings: Settings, account: Account, options: Options) -> HubResult:
    if not is_writable(store.root):
        fault = "the disk is read-only or full, or you may not write to the folder"
        raise Unwritable(f"The notes in {store.root} cannot be synced: {fault}.")
    address = parse_address(account.url, insecure=True)  # `anamnesis login` has checked it
    with (
        closing(HubDatabase(store.root)) as database,
        HubClient(address, account.token, timeout=float(settings.sync_timeout), proxies=settings.proxies) as client,
    ):
        receiver = Receiver(store, HubState(database, account), client, options.purge)
        sender = Sender(receiver, settings.machine_id, options.retries)
        if not options.is_compared:
            compare(receiver)
        cycle = Cycle(receiver, sender, options.announce, account.hub, lambda hub: _save_hub(store, account, hub))
        cycle.run()
        waiting = sum(bool(each.reason) for each in receiver.state.waiting())
        invitations = len(receiver.state.invitations())
        untold = [
            *dict.fromkeys(_of_projects(cycle)),
            *(f"you are invited to the space {name}; see `anamnesis space`" for name in receiver.state.untold()),
        ]
        news = tuple(receiver.state.news())
    return HubResult(
        account.url,
        account.user,
        travelled(receiver.received),
        travelled(sender.sent),
        receiver.conflicted,
        waiting,
        _detail(cycle, waiting, untold),
        decided=tuple(dict.fromkeys(receiver.decided)),
        invitations=invitations,
        sent_to=sender.sent_to,
        has_news=bool(untold or news),
        news=news,
    )


def _save_hub(store: MemoryStore, account: Account, hub: str) -> None:
    write_account(store.root, account._replace(hub=hub))


def _of_projects(cycle: Cycle) -> Iterator[str]:
    """A sentence for each space that the user may write to and that has got projects."""
    told, store = cycle.receiver.state.spaces(), cycle.receiver.store
    for name, space in cycle.receiver.spaces.items():
        if not space.can_write or space.is_personal:
            continue
        untold = sorted({*space.projects}.difference(told[name].projects))
        got = {each: spaces_of_project(store, each) for each in untold}
        for project, spaces in got.items():
            if len(spaces) > 1:
                own = "so your new notes of it stay your own"
                yield f"the project {project} belongs to the spaces {listed(spaces)}, {own}; see `anamnesis space`"
        if new := [each for each, spaces in got.items() if len(spaces) == 1]:
            what = f"{'project' if len(new) == 1 else 'projects'} {listed(new)}"
            old = sum(len(each.notes) for each in unshared(store) if is_among(each.project, new))
            stay = f", and {counted(old, 'earlier one stays', 'earlier ones stay')} your own" if old else ""
            yield f"the space {name}, which others read, gets your new notes of the {what}{stay}; see `anamnesis space`"


def _detail(cycle: Cycle, waiting: int, news: list[str]) -> str:
    """The message of an exchange that reached the hub."""
    parts = []
    if cycle.receiver.conflicted:
        parts.append(BOTH_KEPT)
    if cycle.restored:
        parts.append(f"{counted(cycle.restored, 'note')} missing here were restored from the hub")
    parts += [f"you were removed from the space {name}, and its notes stay here" for name in cycle.removed]
    parts += news
    if waiting:
        parts.append(f"{counted(waiting, 'note was not exchanged', 'notes were not exchanged')}; see `anamnesis space`")
    return "; ".join(parts) or "synced"
