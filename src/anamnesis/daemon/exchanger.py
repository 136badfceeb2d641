"""The daemon's threads that exchange notes with the hub, after changes on either side and at intervals."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anamnesis.bridge import FAILURES
from anamnesis.errors import LockHeld
from anamnesis.exchange.account import NAME, Account, read_account
from anamnesis.process import lower_priority

if TYPE_CHECKING:
    from anamnesis.config import Settings
    from anamnesis.exchange.client import HubClient
    from anamnesis.vault import Vault


@dataclass(frozen=True, slots=True)
class Intervals:
    """When to exchange, in seconds."""

    poll: float = 2.0  # between two checks for local changes
    debounce: float = 3.0  # from a local change to its exchange
    idle: float = 60.0  # between two exchanges without a change
    backoff: float = 600.0  # the longest pause after failures
    silence: float = 90.0  # without an event of the hub before reconnecting


class Exchanger:
    """Exchanges the notes of a vault while this machine is logged in to a hub."""

    def __init__(
        self, vault: Vault, settings: Settings, log: Callable[..., None], intervals: Intervals | None = None
    ) -> None:
        self._vault = vault
        self._settings = settings
        self._log = log
        self._intervals = intervals or Intervals()
        self._announced = threading.Event()  # set by a change at the hub, and by `close`
        self._stopping = threading.Event()
        self._fault = ""
        self._listening: HubClient | None = None
        self._threads = [
            threading.Thread(target=work, name=name, daemon=True)
            for name, work in (("exchange", self._run), ("listen", self._listen))
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop, after a running exchange has ended."""
        self._stopping.set()
        self._announced.set()
        if self._listening:
            self._listening.stop_live()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        lower_priority()
        due, wait, seen = 0.0, self._intervals.idle, -1
        login: object = None
        while not self._stopping.is_set():
            if (found := self._login()) != login:
                login, due, wait = found, 0.0, self._intervals.idle
            if login and (last := self._last_change()) != seen:
                due, seen = min(due, time.monotonic() + self._intervals.debounce), last
            is_announced = self._announced.is_set()
            if not self._stopping.is_set():
                self._announced.clear()
            if login and (is_announced or time.monotonic() >= due):
                wait = self._intervals.idle if self._exchange() else min(2 * wait, self._intervals.backoff)
                due, seen = time.monotonic() + wait, self._last_change()
            self._announced.wait(self._intervals.poll)

    def _exchange(self) -> bool:
        """Exchange the notes once; returns whether that worked."""
        from anamnesis.exchange import exchange_notes  # imports TLS and HTTP, which only a login needs

        try:
            done = exchange_notes(self._vault.notes, self._settings, is_compared=True, purge=self._vault.purge)
        except LockHeld:
            return True
        except FAILURES as error:
            fault = str(error)
        except Exception:  # the outermost boundary of the thread
            self._log("exchange failed", trace=traceback.format_exc())
            return False
        else:
            fault = "" if done is None or done.reached else done.detail
        if fault and fault != self._fault:  # log a repeated failure once
            self._log("exchange failed", reason=fault)
        self._fault = fault
        return not fault

    def _listen(self) -> None:
        """Listen for events of the hub; without them, the exchanges at intervals find its changes."""
        pause = self._intervals.poll
        while not self._stopping.wait(pause):
            account = self._account()
            pause = self._intervals.poll if account is None else min(max(2 * pause, 1.0), self._intervals.backoff)
            if account is None:
                continue
            from anamnesis.exchange.account import parse_address
            from anamnesis.exchange.client import HubClient

            address = parse_address(account.url, insecure=True)
            try:
                self._listening = HubClient(address, account.token, proxies=self._settings.proxies)
                with self._listening.live(self._intervals.silence) as events:
                    for space in events:
                        if self._stopping.is_set():
                            return
                        if space:
                            pause = self._intervals.poll
                            self._announced.set()
            except FAILURES:  # the next exchange logs the reason
                continue
            finally:
                self._listening = None

    def _last_change(self) -> int:
        try:
            return self._vault.notes.log.last()
        except FAILURES:
            return -1

    def _login(self) -> object:
        """The identity of the login file, which changes with every login; None without one."""
        try:
            status = (self._settings.home / NAME).stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino

    def _account(self) -> Account | None:
        try:
            return read_account(self._settings.home)
        except FAILURES:
            return None
