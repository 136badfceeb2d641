"""The daemon at work: connections, routes and log put together, until a signal comes."""

from __future__ import annotations

import asyncio
import functools
import gc
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anamnesis.config import Settings
from anamnesis.daemon.descriptors import connection_room
from anamnesis.daemon.notes import Notes
from anamnesis.engram import database
from anamnesis.engram.shared import Shared
from anamnesis.log import log
from anamnesis.web import engram, later, mcp, operations
from anamnesis.web.access import Access
from anamnesis.web.app import App, Report
from anamnesis.web.guard import Guard
from anamnesis.web.limits import Limits
from anamnesis.web.metrics import Metrics
from anamnesis.web.server import Server

if TYPE_CHECKING:
    from anamnesis.mcp.dispatcher import Server as Tools

_LAST_SECONDS = 10.0
# A thread that computes lets the event loop in after so long, instead of Python's 5 ms at each of its calls.
_SWITCH_SECONDS = 0.0005


def serve(
    listening: socket.socket, path: Path, guard: Guard, settings: Settings, announce: Callable[[str], None] | None
) -> None:
    """Answer requests on a bound socket, with this engram.db, until told to stop."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    database.prepare(path)
    asyncio.run(_serve(listening, path, guard, settings, announce))


async def _serve(
    listening: socket.socket, path: Path, guard: Guard, settings: Settings, announce: Callable[[str], None] | None
) -> None:
    home = settings.home
    report = functools.partial(_report, home)
    asyncio.get_running_loop().set_exception_handler(lambda _, context: report(_trace(context)))
    server = Server(Limits(connections=connection_room(Limits().connections)))
    with ExitStack() as opened:
        shared = opened.enter_context(closing(Shared(path)))
        notes = opened.enter_context(closing(Notes(settings, shared, functools.partial(log, home))))
        access = opened.enter_context(closing(Access(shared, notes if settings.bridge else None)))
        stopping = _signalled()
        await server.listen(listening, _build_app(server, access, notes, guard, report, settings))
        host, port = listening.getsockname()[:2]
        # What was made until now stays: it need not be looked through for garbage again and again.
        gc.freeze()
        log(home, "daemon started", host=host, port=port, database=path)
        if announce:
            announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        name = await stopping
        is_complete = await server.stop(_LAST_SECONDS)
        log(home, "daemon stopped", signal=name, finished=is_complete)


def _build_app(server: Server, access: Access, notes: Notes, guard: Guard, report: Report, settings: Settings) -> App:
    metrics = Metrics()
    new = later.routes(settings.home)
    added = [*new, *mcp.routes(functools.partial(_both_dialects, access, notes, settings), report)]
    described = [*engram.ROUTES, *new]
    added += operations.routes(described, metrics, access, lambda: len(server.connections), notes.halves)
    return App(engram.ROUTES, added, access, guard, metrics, report, strict=settings.engram_strict)


def _both_dialects(access: Access, notes: Notes, settings: Settings) -> Tools:
    """An MCP server with the tools for notes and those of Engram."""
    from anamnesis.bridge import around
    from anamnesis.mcp.engram.tool import Memory
    from anamnesis.server import build_server

    store = notes.store()
    memory = Memory(lambda: around(store, access.of_this_thread()), strict=settings.engram_strict)
    return build_server(store, engram=memory, settings=settings)


def _report(home: Path, trace: str) -> None:
    log(home, "daemon error", trace=trace)


def _trace(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return "".join(traceback.format_exception(error)) if error else str(context.get("message"))


def _signalled() -> asyncio.Future[str]:
    """What a signal to stop ends."""
    loop = asyncio.get_running_loop()
    stopping: asyncio.Future[str] = loop.create_future()

    def stop(number: int, *_: object) -> None:
        if not stopping.done():
            loop.call_soon_threadsafe(stopping.set_result, signal.Signals(number).name)

    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop, number)
        except NotImplementedError:  # Windows has signals, but its loop does not wake up for them
            signal.signal(number, stop)
    return stopping
