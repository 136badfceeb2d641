"""Connections to a hub through an HTTP proxy: a tunnel for https, and the exceptions of NO_PROXY."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.exchange.test_client import TOKEN, answering

from anamnesis.config import Proxies, read_settings
from anamnesis.errors import InvalidArgument
from anamnesis.exchange.account import parse_address
from anamnesis.exchange.client import HubClient, HubRefused, HubUnreachable
from anamnesis.exchange.proxy import Proxy, proxy_for

PEM = Path(__file__).with_name("data") / "hub.example.pem"
_ANSWER = b'{"user": "you"}'


class Seen:
    """The requests and the last headers that a proxy received."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.headers = ""


@contextmanager
def proxying(port: int, password: str = "") -> Iterator[tuple[str, Seen]]:
    """Run a proxy that connects every host name to this local port; yields its host and port, and what it received."""
    seen = Seen()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def is_let_in(self) -> bool:
            seen.requests.append(f"{self.command} {self.path}")
            seen.headers = str(self.headers)
            if password and self.headers.get("Proxy-Authorization") != password:
                self.send_error(407)
                return False
            return True

        def do_GET(self) -> None:
            if self.is_let_in():
                self.send_response(200)
                self.send_header("Content-Length", str(len(_ANSWER)))
                self.end_headers()
                self.wfile.write(_ANSWER)

        def do_CONNECT(self) -> None:
            if not self.is_let_in():
                return
            self.close_connection = True
            self.send_response(200)
            self.end_headers()
            with closing(socket.create_connection(("127.0.0.1", port))) as there:
                back = threading.Thread(target=_copy, args=(there, self.connection))
                back.start()
                _copy(self.connection, there)
                back.join()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def ask(url: str, proxies: Proxies) -> object:
    with HubClient(parse_address(url, insecure=True), TOKEN, timeout=5, proxies=proxies) as client:
        return client.me()


def test_https_goes_through_a_tunnel_and_the_proxy_sees_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
    with (
        answering(200, _ANSWER, secure=PEM) as (url, got),
        proxying(int(url.rpartition(":")[2]), "Basic bWU6c2VjcmV0IQ==") as (proxy, seen),
    ):
        assert ask("https://hub.example", Proxies(https=f"http://me:secret%21@{proxy}")) == {"user": "you"}
        assert got == ["/v1/me"]
        assert seen.requests == ["CONNECT hub.example:443"]
        assert TOKEN not in seen.headers
        with pytest.raises(HubUnreachable, match=f"through the proxy {proxy}: .*407"):
            ask("https://hub.example", Proxies(https=f"http://{proxy}"))


def test_an_http_request_through_a_proxy_has_the_full_url() -> None:
    with proxying(0) as (proxy, seen):
        assert ask("http://hub.example:8437/team", Proxies(http=proxy)) == {"user": "you"}
        assert seen.requests == ["GET http://hub.example:8437/team/v1/me"]
        assert "Host: hub.example:8437" in seen.headers
    with proxying(0, "Basic no") as (proxy, _), pytest.raises(HubRefused, match="requires a user and a password"):
        ask("http://hub.example", Proxies(http=proxy))


def test_an_unreachable_proxy_is_named() -> None:
    with pytest.raises(HubUnreachable, match=r"hub\.example cannot be reached through the proxy 127\.0\.0\.1:1:"):
        ask("https://hub.example", Proxies(https="http://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("url", "no_proxy", "is_direct"),
    [
        ("https://hub.example", "", False),
        ("https://hub.example", "other.example, hub.example", True),
        ("https://hub.example", ".example", True),
        ("https://hub.example", "*.example", True),
        ("https://hub.example", "*", True),
        ("https://hub.example", "ub.example", False),
        ("https://hub.example", "hub.example:443", True),
        ("https://hub.example", "hub.example:8443", False),
        ("https://10.1.2.3", "10.0.0.0/8", True),
        ("https://10.1.2.3", "11.0.0.0/8", False),
        ("https://[fd00::1]:8437", "fd00::/8", True),
        ("https://localhost", "", True),
        ("https://127.0.0.2", "", True),
        ("http://[::1]:8437", "", True),
    ],
)
def test_no_proxy_and_loopback_are_reached_directly(url: str, no_proxy: str, is_direct: bool) -> None:
    found = proxy_for(parse_address(url, insecure=True), Proxies("proxy:3128", "proxy:3128", no_proxy))
    assert found == (None if is_direct else Proxy("proxy", 3128, {}))


@pytest.mark.parametrize("given", ["socks5://proxy:1080", "https://proxy", "http://", "http://proxy:99999"])
def test_an_unusable_proxy_is_a_sentence(given: str) -> None:
    with pytest.raises(InvalidArgument, match="HTTPS_PROXY cannot be used"):
        proxy_for(parse_address("https://hub.example"), Proxies(https=given))


def test_the_proxies_are_read_with_the_other_settings(tmp_path: Path) -> None:
    given = {"HTTPS_PROXY": "upper:1", "https_proxy": "lower:1", "HTTP_PROXY": "http:2", "no_proxy": "a,b"}
    settings = read_settings({"ANAMNESIS_HOME": str(tmp_path), **given}, tmp_path)
    assert tuple(settings.proxies) == ("lower:1", "http:2", "a,b")
