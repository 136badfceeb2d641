"""A small hub and machines that are logged in to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.exchange.small_hub import SmallHub

from anamnesis.config import Settings, read_settings
from anamnesis.exchange import HubResult, exchange_notes
from anamnesis.exchange.account import Account, read_account, write_account
from anamnesis.exchange.state import Standing, read_standing
from anamnesis.notes import Memory, parse
from anamnesis.store import MemoryStore


@dataclass(frozen=True)
class Machine:
    """One machine of a user: a store, and a login."""

    user: str
    store: MemoryStore
    settings: Settings

    def sync(self, **how: Any) -> HubResult:
        done = exchange_notes(self.store, self.settings, **how)
        assert done
        return done

    def write(self, body: str, title: str = "T", **more: Any) -> str:
        return self.store.write(type="semantic", title=title, body=body, machine_id=self.settings.machine_id, **more).id

    def text(self, note: str) -> str:
        file = self.store.file(note)
        assert file
        return (self.store.root / file.path).read_text("utf-8")

    def bodies(self) -> dict[str, str]:
        return {note.id: note.body for note in self.notes()}

    def notes(self) -> list[Memory]:
        self.store.refresh()
        return sorted(self.store.list(), key=lambda note: note.id)

    def trashed(self) -> list[Memory]:
        return [parse((self.store.root / each.path).read_text("utf-8")) for each in self.store.trashed()]

    def standing(self) -> Standing:
        account = read_account(self.store.root)
        assert account
        return read_standing(self.store.root, account)

    def reasons(self) -> list[str]:
        return [each.reason for each in self.standing().waiting]


@pytest.fixture
def hub() -> Iterator[SmallHub]:
    hub = SmallHub()
    for name in ("you", "mate"):
        hub.add_user(name)
    yield hub
    hub.close()


Machines = Callable[..., Machine]


@pytest.fixture
def machine(hub: SmallHub, tmp_path: Path) -> Iterator[Machines]:
    with ExitStack() as opened:

        def make(name: str, user: str = "you", at: SmallHub = hub) -> Machine:
            home = tmp_path / name
            settings = read_settings({"ANAMNESIS_HOME": str(home), "ANAMNESIS_MACHINE_ID": name}, tmp_path)
            store = opened.enter_context(MemoryStore(home))
            write_account(home, Account(at.url, user, user, at.id))
            return Machine(user, store, settings)

        yield make
