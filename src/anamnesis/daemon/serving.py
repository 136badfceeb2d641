"""Puts the daemon together: memory, application and server, until a signal arrives."""

from __future__ import annotations

import asyncio
import functools
import gc
import signal
import socket
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anamnesis.config import Settings
from anamnesis.daemon.descriptors import connection_room
from anamnesis.daemon.keeper import Keeper
from anamnesis.engram.shared import Shared
from anamnesis.log import log
from anamnesis.web import (
    daemon_routes,
    dream_routes,
    engram_read_routes,
    engram_write_routes,
    mcp_route,
    plugin_routes,
    recall_route,
)
from anamnesis.web.app import App, Report
from anamnesis.web.engram_request import bound
from anamnesis.web.guard import Guard
from anamnesis.web.http_server import ConnectionLimits, HttpServer
from anamnesis.web.lanes import Lanes
from anamnesis.web.metrics import Metrics
from anamnesis.web.mount import Mount
from anamnesis.web.ui.mounted import dashboard

if TYPE_CHECKING:
    from anamnesis.daemon.dreamer import Times
    from anamnesis.mcp.dispatcher import McpServer
    from anamnesis.store.strength import Kind

_LAST_SECONDS = 10.0
# Seconds after which a computing thread yields to the event loop; Python's default is 5 ms.
_SWITCH_SECONDS = 0.0005
# Bytes that SQLite may use for all connections of the process. Each connection has a smaller limit: at this one, a
# connection can only reuse its own pages, and one that reads much would leave a writer too few for one transaction.
_MOST_CACHED = 10_000_000


def serve(
    listening: socket.socket,
    path: Path,
    guard: Guard,
    settings: Settings,
    announce: Callable[[str], None] | None,
    times: Times | None = None,
) -> None:
    """Answer requests on a bound socket, with this engram.db, until a signal stops it. `times` says when it dreams."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(f"PRAGMA soft_heap_limit = {_MOST_CACHED:d}")  # of the process, not of the connection
    asyncio.run(_serve(listening, path, guard, settings, announce, times))


async def _serve(
    listening: socket.socket,
    path: Path,
    guard: Guard,
    settings: Settings,
    announce: Callable[[str], None] | None,
    times: Times | None,
) -> None:
    home = settings.home
    report = functools.partial(log_error, home)
    asyncio.get_running_loop().set_exception_handler(lambda _, context: report(_trace(context)))
    server = HttpServer(ConnectionLimits(connections=connection_room(ConnectionLimits().connections)))
    with opened_app(path, settings, guard, report, lambda: len(server.connections), times=times) as app:
        stopping = _signalled()
        await server.listen(listening, app)
        host, port = listening.getsockname()[:2]
        # The objects created until now live as long as the process, so the garbage collector can skip them.
        gc.freeze()
        log(home, "daemon started", host=host, port=port, database=path)
        if announce:
            announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        name = await stopping
        is_complete = await server.stop(_LAST_SECONDS)
        await app.close()
        log(home, "daemon stopped", signal=name, finished=is_complete)


@contextmanager
def opened_app(
    path: Path,
    settings: Settings,
    guard: Guard,
    report: Report,
    connections: Callable[[], int],
    mounts: Sequence[Mount] = (),
    times: Times | None = None,
) -> Iterator[App]:
    """The application of a daemon, with its memory open; `times` says when it dreams."""
    with ExitStack() as opened:
        shared = opened.enter_context(closing(Shared(path)))
        if exists := path.exists():
            _ = shared.db  # raises if it cannot be used; if there is none, the first client of Engram creates it
        keeper = opened.enter_context(closing(Keeper(settings, shared, functools.partial(log, settings.home))))
        follow = (keeper.after_write, keeper.flush) if settings.bridge else ()
        lanes = opened.enter_context(closing(Lanes(shared, *follow)))
        metrics = Metrics()
        keeper.dream_while_idle(metrics, times)
        strict = settings.engram_strict
        routes = (*engram_read_routes.ROUTES, *engram_write_routes.ROUTES)
        engram = bound(routes, strict=strict, recall=keeper.recall, used=keeper.uses.add, marked=keeper.marked)
        plugins = bound(plugin_routes.routes(settings.home), strict=strict, marked=keeper.marked)
        mcp = mcp_route.routes(functools.partial(_both_dialects, lanes, keeper, settings), lanes, report)
        added = [*plugins, *recall_route.routes(keeper.notes), *dream_routes.routes(keeper.notes)]
        own = daemon_routes.routes([*engram, *added], metrics, lanes, connections, keeper.status, keeper.gauges)
        open_engram = None if exists else keeper.open_engram
        pages = [dashboard(keeper.vault, lanes, settings), *mounts]
        yield App(engram, [*added, *mcp, *own], lanes, guard, metrics, report, pages, open_engram)


def _both_dialects(lanes: Lanes, keeper: Keeper, settings: Settings) -> McpServer:
    """An MCP server with the tools for notes and those of Engram."""
    from anamnesis.mcp.engram.tool import EngramMemory
    from anamnesis.mcp.session import current
    from anamnesis.server import build_server

    vault = keeper.vault()

    def database() -> AbstractContextManager[sqlite3.Connection]:
        keeper.open_engram()
        return vault.around(lanes.connection())

    def used(kind: Kind, ids: Iterable[int]) -> None:
        keeper.uses.add(kind, ids, current())

    strict = settings.engram_strict
    memory = EngramMemory(database, strict=strict, recall=keeper.recall, used=used, marked=vault.marked)
    return build_server(vault.notes, engram=memory, settings=settings)


def log_error(home: Path, trace: str) -> None:
    """Log an unexpected error."""
    log(home, "daemon error", trace=trace)


def _trace(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return "".join(traceback.format_exception(error)) if error else str(context.get("message"))


def _signalled() -> asyncio.Future[str]:
    """A future that gets the name of the signal that stops the daemon."""
    loop = asyncio.get_running_loop()
    stopping: asyncio.Future[str] = loop.create_future()

    def stop(number: int, *_: object) -> None:
        if not stopping.done():
            loop.call_soon_threadsafe(stopping.set_result, signal.Signals(number).name)

    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop, number)
        except NotImplementedError:  # on Windows, the event loop does not support signal handlers
            signal.signal(number, stop)
    return stopping
