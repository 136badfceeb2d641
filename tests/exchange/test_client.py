"""What the network can answer instead of a hub: each case is one sentence, and the token goes nowhere else."""

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
    """A server that always answers this; its address, and the requests that it got."""
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


def asked(url: str) -> object:
    with HubClient(parse_address(url), TOKEN, timeout=5) as client:
        return client.me()


def test_a_redirect_is_not_followed() -> None:
    with answering(200, b"{}") as (other, seen), answering(302, b"", Location=f"{other}/v1/me") as (url, _):
        with pytest.raises(HubRefused, match="sends on to"):
            asked(url)
        assert seen == []


def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    with answering(200, b"{}", secure=PEM) as (url, seen):
        with pytest.raises(HubRefused, match="certificate of localhost is not valid: self") as refused:
            asked(url)
        assert "SSL_CERT_FILE" in refused.value.hint
        assert seen == []


def test_a_certificate_of_a_known_authority_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
    with answering(200, b'{"user": "you"}', secure=PEM) as (url, _):
        assert asked(url) == {"user": "you"}


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
def test_every_answer_that_is_no_success_is_a_sentence(status: int, body: bytes, kind: type, words: str) -> None:
    with answering(status, body) as (url, _), pytest.raises(kind, match=words):
        asked(url)


def test_an_answer_that_ends_too_early_is_a_connection_that_broke() -> None:
    """It says nothing about what answers there, and the next sync tries again."""
    headers = {"Content-Length": "15", "Connection": "close"}
    with (
        answering(200, b'{"user": "y', None, **headers) as (url, _),
        pytest.raises(HubUnreachable, match="hung up in the middle of its answer"),
    ):
        asked(url)


def test_http_where_https_is_spoken_and_the_other_way_round() -> None:
    with answering(200, b"{}") as (url, _), pytest.raises(HubRefused, match="does not speak TLS"):
        asked(url.replace("http:", "https:"))
    with pytest.raises(HubUnreachable, match="cannot be reached"):
        asked("http://127.0.0.1:1")


@pytest.mark.parametrize(
    "url", ["http://hub.example", "ftp://x", "https://", "https://u:p@x", "https://x/?q", "https://x:99999", "a b"]
)
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_address(url)


def test_addresses_as_people_write_them() -> None:
    assert parse_address("hub.example").url == "https://hub.example"
    assert parse_address("https://hub.example:8437/team/").url == "https://hub.example:8437/team"
    assert parse_address("http://[::1]:8437").url == "http://[::1]:8437"
    assert parse_address("http://hub.example", insecure=True).url == "http://hub.example"


def test_the_token_is_in_no_description() -> None:
    account = Account("https://x", TOKEN, "you", "h")
    client = HubClient(parse_address("https://x"), TOKEN)
    assert TOKEN not in f"{account!r}{account}{client!r}{client}"


def test_a_connection_that_the_hub_has_closed_is_opened_again() -> None:
    with answering(200, b'{"user": "you"}') as (url, seen), HubClient(parse_address(url), TOKEN, timeout=5) as client:
        client.me()
        assert client._connection
        assert client._connection.sock
        client._connection.sock.shutdown(2)
        assert client.me() == {"user": "you"}
        assert len(seen) == 2
