"""The daemon exchanges notes after changes on either side, without a command."""

from __future__ import annotations

from contextlib import closing

from tests.exchange.conftest import Machines
from tests.exchange.small_hub import SmallHub
from tests.waiting import wait_until

from anamnesis.daemon.exchanger import Exchanger, Intervals
from anamnesis.exchange.login import log_out
from anamnesis.sync.failure import HUB, last_failure
from anamnesis.vault import Vault

_QUICK = Intervals(poll=0.05, debounce=0.05, idle=600, backoff=1)


def test_a_change_on_either_side_is_exchanged_without_a_command(machine: Machines, hub: SmallHub) -> None:
    one, two = machine("one"), machine("two")
    with Vault(one.store.root) as vault, closing(Exchanger(vault, one.settings, lambda *_, **__: None, _QUICK)):
        first = vault.write(type="semantic", title="T", body="here").id
        wait_until(lambda: hub.text("~you", first) is not None)
        second = two.write("there")
        two.sync()
        wait_until(lambda: vault.notes.find(second) is not None)
        log_out(one.store.root)
        third = vault.write(type="semantic", title="T", body="after the logout").id
    assert hub.text("~you", third) is None


def test_a_hub_that_cannot_be_reached_is_logged_and_recorded(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    hub.cut = lambda _path, _when: True
    logged: list[str] = []
    with (
        Vault(one.store.root) as vault,
        closing(Exchanger(vault, one.settings, lambda *_, **facts: logged.append(facts["reason"]), _QUICK)),
    ):
        wait_until(lambda: bool(logged))
        failure = last_failure(one.store.root, HUB)
        assert failure and logged == [failure.reason] and "127.0.0.1" in failure.reason
        hub.cut = lambda _path, _when: False
        wait_until(lambda: last_failure(one.store.root, HUB) is None)
