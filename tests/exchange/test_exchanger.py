"""The daemon exchanges notes after changes on either side, without a command."""

from __future__ import annotations

from contextlib import closing

from tests.exchange.conftest import Machines
from tests.exchange.small_hub import SmallHub
from tests.waiting import wait_until

from anamnesis.daemon.exchanger import Exchanger, Intervals
from anamnesis.exchange.login import log_out
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
