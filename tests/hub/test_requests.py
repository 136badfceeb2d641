"""What a client may send wrongly: numbers, paths, and too slowly. Each gets an answer, and none holds up the others."""

from __future__ import annotations

import socket
import threading

import pytest
import uvicorn
from tests.hub.running import Client, RunningHub
from tests.waiting import wait_until

from anamnesis.hub.app import build
from anamnesis.hub.serving import Protocol, listen

DIGITS = "9" * 5000  # more than Python makes a number of


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/search?q=x&limit={DIGITS}",
        "/v1/search?q=x&limit=0",
        "/v1/search?q=x&limit=%C2%B2",
        f"/v1/spaces/~you/notes/N1/versions/{DIGITS}",
        f"/ui/notes?page={DIGITS}",
        f"/ui/notes?page={'0' * 5000}1",
        f"/ui/audit?before={DIGITS}",
    ],
)
def test_a_number_that_is_none_is_refused_in_a_sentence(shared: RunningHub, path: str) -> None:
    answer = _you(shared)(path)
    assert (answer.status, answer.json["error"].count(".")) == (400, 1)


def test_a_token_with_a_number_that_is_none_is_not_found(shared: RunningHub) -> None:
    assert _you(shared)(f"/ui/tokens/{DIGITS}/revoke", b"").status == 404


def _you(hub: RunningHub) -> Client:
    return hub.user("you", "admin")


def test_the_address_of_the_hub_leads_a_person_to_the_dashboard(shared: RunningHub) -> None:
    with socket.create_connection(shared.address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n")
        head = b"".join(iter(lambda: connection.recv(65536), b"")).lower()
    assert head.startswith(b"http/1.1 307") and b"\r\nlocation: /ui/\r\n" in head


class Hasty(Protocol):
    head_seconds = 0.05


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /heal"])
def test_a_connection_that_sends_no_whole_request_is_closed(shared: RunningHub, sent: bytes) -> None:
    listener = listen("127.0.0.1", 0)
    config = uvicorn.Config(build(shared.hub), http=Hasty, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        wait_until(lambda: server.started)
        with socket.create_connection(listener.getsockname()) as connection:
            connection.sendall(sent)
            connection.settimeout(30)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert (b"200 OK" in answer) == (sent.count(b"GET") == 2)
    finally:
        server.should_exit = True
        thread.join()
