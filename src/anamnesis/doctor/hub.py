"""Checks the login to a hub, and lists the notes that could not be exchanged. Does not connect to the hub."""

from __future__ import annotations

from collections.abc import Iterator

from anamnesis.age import age
from anamnesis.doctor.finding import Finding
from anamnesis.errors import StoreUnavailable
from anamnesis.exchange.account import NAME, read_account
from anamnesis.exchange.result import not_sent
from anamnesis.exchange.standing import count_unsent
from anamnesis.exchange.state import Waiting, read_standing
from anamnesis.plural import counted
from anamnesis.store import MemoryStore
from anamnesis.sync.failure import HUB, last_failure

_MOST_NAMED = 20


def examine_hub(store: MemoryStore) -> Iterator[Finding]:
    """The faults of the exchange with the hub, as of the last one."""
    home = store.root
    try:
        account = read_account(home)
    except StoreUnavailable as error:
        yield Finding(str(home / NAME), error.message, error.hint)
        return
    if account is None:
        return
    if failure := last_failure(home, HUB):
        unsent = count_unsent(store, account)
        fault = f"Exchanges with the hub fail, first {age(failure.since)}: {failure.reason}"
        yield Finding(account.url, f"{fault} {not_sent(unsent)}" if unsent else fault, failure.hint or "anamnesis sync")
    waiting = read_standing(home, account).waiting
    for each in waiting[:_MOST_NAMED]:
        yield Finding(each.note, f"It is not exchanged with {account.url}. {each.reason}", _fix(each))
    if (more := len(waiting) - _MOST_NAMED) > 0:
        yield Finding(account.url, f"{counted(more, 'more note')} could not be exchanged.", "anamnesis space")


def _fix(waiting: Waiting) -> str:
    other = f"anamnesis move {waiting.note} --space NAME"
    return (
        f"Change it, ask a keeper of {waiting.space}, or: {other}" if waiting.space else "Change it, then sync again."
    )
