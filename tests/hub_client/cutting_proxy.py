"""A TCP proxy between machines and hubs: one address per machine, and random connection failures."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Coroutine, Iterable
from typing import Any, Self
from urllib.parse import urlsplit

_CHUNK = 65536


class CuttingProxy:
    """Forwards the connections of each machine to one of the running hubs.

    `cut` is the probability that a connection fails at each piece of a request: before the hub receives it, before the
    answer, or in the middle of the answer. `offline` machines cannot connect. `busy` counts the unanswered requests of
    each hub and each machine.
    """

    def __init__(self, machines: Iterable[str], seed: int) -> None:
        self.hubs: list[str] = []
        self.offline: set[str] = set()
        self.cut = 0.0
        self.cuts: Counter[str] = Counter()
        self.busy: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.urls = {name: self._run(self._listen(name)) for name in machines}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def wait_for_request(self, name: str) -> None:
        """Wait until a hub or a machine has an unanswered request, for at most 5 s: there may be none."""
        deadline = time.monotonic() + 5
        while not self.busy[name] and time.monotonic() < deadline:
            time.sleep(0.001)

    def _run(self, work: Coroutine[Any, Any, str]) -> str:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _end(self) -> str:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        return ""

    async def _listen(self, machine: str) -> str:
        server = await asyncio.start_server(lambda *ends: self._serve(machine, *ends), "127.0.0.1", 0)
        task = asyncio.ensure_future(server.serve_forever())
        task.add_done_callback(lambda _: server.close())
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _serve(self, machine: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError), contextlib.closing(writer):
            if machine in self.offline or not self.hubs:
                return
            hub = self._chance.choice(self.hubs)
            there, to_hub = await asyncio.open_connection(urlsplit(hub).hostname, urlsplit(hub).port)
            with contextlib.closing(to_hub):
                await self._forward(machine, hub, reader, writer, there, to_hub)

    async def _forward(
        self,
        machine: str,
        hub: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there: asyncio.StreamReader,
        to_hub: asyncio.StreamWriter,
    ) -> None:
        """Forward one request at a time: the client does not pipeline."""
        asked = asyncio.ensure_future(reader.read(_CHUNK))
        answered = asyncio.ensure_future(there.read(_CHUNK))
        fate, waits = "", False
        try:
            while machine not in self.offline:
                await asyncio.wait({asked, answered}, return_when=asyncio.FIRST_COMPLETED)
                if asked.done():
                    data = asked.result()
                    fate = self._fate()
                    if not data or fate == "before":
                        return
                    to_hub.write(data)
                    self.busy.update([] if waits else [hub, machine])
                    waits = True
                    asked = asyncio.ensure_future(reader.read(_CHUNK))
                if answered.done():
                    data = answered.result()
                    self.busy.subtract([hub, machine] if waits else [])
                    waits = False
                    if fate == "middle":
                        writer.write(data[: len(data) // 2])
                        await writer.drain()
                    if not data or fate:
                        return
                    writer.write(data)
                    answered = asyncio.ensure_future(there.read(_CHUNK))
        finally:
            self.busy.subtract([hub, machine] if waits else [])
            asked.cancel()
            answered.cancel()

    def _fate(self) -> str:
        fate = self._chance.choice(("before", "after", "middle")) if self._chance.random() < self.cut else ""
        self.cuts[fate] += bool(fate)
        return fate
