"""Runs the hub under uvicorn: address, TLS, signals. Beyond loopback it requires TLS, by files or by a proxy."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from anamnesis.errors import InvalidArgument, StoreUnavailable
from anamnesis.hub.app import build
from anamnesis.hub.passages import Embedder
from anamnesis.hub.routes import Hub

DEFAULT_PORT = 8437
LOOPBACK = "127.0.0.1"
# How long requests that are in progress may take after a signal to stop.
_GRACE_SECONDS = 15
_MOST_CONNECTIONS = 1_000
# The addresses that a proxy may have: a forwarded client address is trusted only if it comes from one of these.
_PROXIES = "127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10,fc00::/7"


class Address(NamedTuple):
    """Where to listen, and how clients are protected on the way."""

    host: str = LOOPBACK
    port: int = DEFAULT_PORT
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False

    def check(self) -> None:
        """Refuse to listen beyond loopback without TLS."""
        if (self.certificate is None) != (self.key is None):
            raise InvalidArgument("TLS needs a certificate and its key.", "Give --tls-certificate and --tls-key.")
        if not self.certificate and not self.behind_proxy and not _is_loopback(self.host):
            raise InvalidArgument(
                f"{self.host} is reached from other machines, and tokens would travel in the clear.",
                "Give --tls-certificate and --tls-key, or --behind-proxy if a proxy in front speaks TLS.",
            )


def serve(hub: Hub, address: Address, announce: Callable[[str], None]) -> None:
    """Serve until a signal; requests in progress are finished. `announce` is called with the URL when it is ready."""
    address.check()
    config = _configured(hub, address)
    embedder = Embedder(hub.database)
    with listen(address.host, address.port) as listener, embedder, hub.live:
        host, port = listener.getsockname()[:2]
        scheme = "https" if address.certificate else "http"
        url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        _Server(config, lambda: announce(url), hub.live.end).run([listener])


def _configured(hub: Hub, address: Address) -> uvicorn.Config:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        build(hub),
        http=Protocol,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        proxy_headers=address.behind_proxy,
        forwarded_allow_ips=_PROXIES if address.behind_proxy else "",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=75,
        ssl_certfile=str(address.certificate) if address.certificate else None,
        ssl_keyfile=str(address.key) if address.key else None,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise InvalidArgument(f"The certificate {address.certificate} or its key cannot be used: {error}.") from error
    return config


class Protocol(H11Protocol):
    """Closes a connection on which no whole head of a request comes in time: idle ones would use up the limit."""

    head_seconds = 20.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.head_seconds, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        has_head = self.conn.their_state is not h11.IDLE
        if has_head and self._timer:
            self._timer.cancel()
            self._timer = None
        elif not has_head and not self._timer:
            self._timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer:
            self._timer.cancel()
        super().connection_lost(exc)


class _Server(uvicorn.Server):
    """uvicorn, which says when it has started."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None], stopping: Callable[[], None]) -> None:
        super().__init__(config)
        self._started = started
        self._stopping = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping()  # ends the streams, which uvicorn would wait for
        await super().shutdown(sockets)
        self._captured_signals.clear()  # uvicorn would raise the signal again, and not exit with 0


def listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        raise StoreUnavailable(f"{host}:{port} cannot be listened on: {error}.", "Choose another --port.") from error
    # asyncio sets it only on sockets that name their protocol. Without it an answer in two parts takes 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
