"""An ASGI application under a path prefix, created at its first request, with one lifespan."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from anamnesis.errors import InvalidArgument, StoreUnavailable
from anamnesis.web.route import BodyLimit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

# In this version of the protocol, `receive` reports a disconnect.
ASGI = {"version": "3.0", "spec_version": "2.3"}
# The timeout of an application's shutdown.
_SHUTDOWN_SECONDS = 5.0


class Mount:
    """The prefix of an application, how to create it, and the longest body of its requests."""

    def __init__(self, prefix: str, make: Callable[[], Application], limit: BodyLimit | None = None) -> None:
        if not prefix.startswith("/") or prefix.endswith("/"):
            raise InvalidArgument(f"{prefix!r} cannot be the prefix of an application.", "Give a path such as /ui.")
        self.prefix = prefix
        self.limit = limit or BodyLimit()
        self._make = make
        self._starting = asyncio.Lock()
        self._lifespan: Lifespan | None = None

    def has(self, path: str) -> bool:
        """Whether an unescaped path is the application's."""
        return path.startswith(self.prefix) and path[len(self.prefix) : len(self.prefix) + 1] in ("", "/")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Let the application answer a request."""
        lifespan = await self._started()
        root = scope.get("root_path", "") + self.prefix
        await lifespan.application({**scope, "root_path": root, "state": lifespan.state.copy()}, receive, send)

    async def close(self) -> None:
        """Shut down the application, if it was created."""
        if self._lifespan:
            await self._lifespan.shut_down()

    async def _started(self) -> Lifespan:
        async with self._starting:
            if self._lifespan is None:
                # In a thread, as importing a framework would block the event loop for a tenth of a second.
                lifespan = Lifespan(await asyncio.to_thread(self._make), self.prefix)
                await lifespan.start_up()
                self._lifespan = lifespan
            return self._lifespan


class Lifespan:
    """The startup and the shutdown of an application. An application without a lifespan just answers requests."""

    def __init__(self, application: Application, name: str) -> None:
        self.application = application
        self.state: dict[str, Any] = {}
        self._name = name
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self._replies: asyncio.Queue[Message] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def start_up(self) -> None:
        self._task = asyncio.create_task(self._run())
        reply = await self._ask("lifespan.startup")
        if reply["type"] == "lifespan.startup.failed":
            reason = reply.get("message", "").strip().rpartition("\n")[2]
            raise StoreUnavailable(f"The application at {self._name} did not start: {reason or 'it gave no reason'}.")

    async def shut_down(self) -> None:
        if self._task is None or self._task.done():
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ask("lifespan.shutdown"), _SHUTDOWN_SECONDS)
        self._task.cancel()
        await asyncio.wait([self._task], timeout=_SHUTDOWN_SECONDS)

    async def _ask(self, type: str) -> Message:
        self._messages.put_nowait({"type": type})
        return await self._replies.get()

    async def _run(self) -> None:
        # An application that raises here, before its startup is complete, has no lifespan.
        with suppress(Exception):
            scope = {"type": "lifespan", "asgi": ASGI, "state": self.state}
            await self.application(scope, self._messages.get, self._replies.put)
        self._replies.put_nowait({"type": "ended"})
