"""Every wrong answer of the network is one clear sentence, and the token is sent to the hub only."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from anamnesis.errors import InvalidArgument
from anamnesis.exchange.account import Account, parse_address
from anamnesis.exchange.client import HubClient, HubRefused, HubUnreachable

PEM = Path(__file__).with_name("data") / "localhost.pem"
TOKEN = "anh_secret"


@contextmanager
def answering(status: int, body: bytes, secure: Path | None = None, **headers: str) -> Iterator[tuple[str, list[str]]]:
    """Run a server with one fixed answer; yields its address and the requests that it received."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    if secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(secure)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"{'https' if secure else 'http'}://localhost:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def ask(url: str) -> object:
    with HubClient(parse_address(url), TOKEN, timeout=60) as client:
        return client.me()


def test_a_redirect_is_not_followed() -> None:
    with answering(200, b"{}") as (other, seen), answering(302, b"", Location=f"{other}/v1/me") as (url, _):
        with pytest.raises(HubRefused, match="redirects to"):
            ask(url)
        assert seen == []


def test_a_self_signed_certificate_is_refused() -> None:
    with answering(200, b"{}", secure=PEM) as (url, seen):
        with pytest.raises(HubRefused, match="certificate of localhost is not valid: self") as refused:
            ask(url)
        assert "SSL_CERT_FILE" in refused.value.hint
        assert seen == []


def test_a_certificate_of_a_known_authority_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
    with answering(200, b'{"user": "you"}', secure=PEM) as (url, _):
        assert ask(url) == {"user": "you"}


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (200, b"<html>hello</html>", HubRefused, "is not a hub"),
        (404, b"<html>nothing</html>", HubRefused, "is not a hub"),
        (401, b'{"error": "no"}', HubRefused, "does not accept the token"),
        (403, b'{"error": "Not with this token.", "hint": "Ask."}', HubRefused, "refuses: Not with this token"),
        (503, b"", HubUnreachable, "cannot answer now"),
        (429, b'{"error": "Too many requests."}', HubUnreachable, "Too many requests"),
    ],
)
def test_every_unsuccessful_answer_is_a_sentence(status: int, body: bytes, kind: type, words: str) -> None:
    with answering(status, body) as (url, _), pytest.raises(kind, match=words):
        ask(url)


def test_a_truncated_answer_counts_as_a_broken_connection() -> None:
    """The next sync retries: the server may well be a hub."""
    headers = {"Content-Length": "15", "Connection": "close"}
    with (
        answering(200, b'{"user": "y', None, **headers) as (url, _),
        pytest.raises(HubUnreachable, match="closed the connection during its answer"),
    ):
        ask(url)


def test_a_hub_without_tls_and_a_closed_port_are_told_apart() -> None:
    with answering(200, b"{}") as (url, _), pytest.raises(HubRefused, match="does not speak TLS"):
        ask(url.replace("http:", "https:"))
    with pytest.raises(HubUnreachable, match="cannot be reached"):
        ask("http://127.0.0.1:1")


@pytest.mark.parametrize(
    "url", ["http://hub.example", "ftp://x", "https://", "https://u:p@x", "https://x/?q", "https://x:99999", "a b"]
)
def test_invalid_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_address(url)


def test_addresses_are_normalised() -> None:
    assert parse_address("hub.example").url == "https://hub.example"
    assert parse_address("https://hub.example:8437/team/").url == "https://hub.example:8437/team"
    assert parse_address("http://[::1]:8437").url == "http://[::1]:8437"
    assert parse_address("http://hub.example", insecure=True).url == "http://hub.example"


def test_no_repr_contains_the_token() -> None:
    account = Account("https://x", TOKEN, "you", "h")
    client = HubClient(parse_address("https://x"), TOKEN)
    assert TOKEN not in f"{account!r}{account}{client!r}{client}"


def test_a_connection_that_the_hub_closed_is_reopened() -> None:
    with answering(200, b'{"user": "you"}') as (url, seen), HubClient(parse_address(url), TOKEN, timeout=60) as client:
        client.me()
        assert client._connection
        assert client._connection.sock
        client._connection.sock.shutdown(2)
        assert client.me() == {"user": "you"}
        assert len(seen) == 2
