"""Connections: requests are answered in order, none is lost, and no client can hold up another."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.daemon import Daemon

HEALTH = b'{"service":"engram","status":"ok","version":"0.1.0"}\n'


@pytest.fixture
def connection(shared: Daemon) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", shared.port), 30) as opened:
        yield opened


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]).encode()


def post(path: str, body: bytes, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def read_replies(connection: socket.socket, count: int) -> list[tuple[int, bytes]]:
    """So many replies with their lengths, each its status and body."""
    replies: list[tuple[int, bytes]] = []
    data = b""
    while len(replies) < count:
        head, end, rest = data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]) if end else 0
        if end and len(rest) >= length:
            replies.append((int(head[9:12]), rest[:length]))
            data = rest[length:]
        else:
            part = connection.recv(65536)
            assert part, (replies, data)
            data += part
    return replies


def read_all(connection: socket.socket) -> bytes:
    data = b""
    while part := connection.recv(65536):
        data += part
    return data


def test_requests_sent_ahead_are_answered_in_their_order(connection: socket.socket) -> None:
    """Reads of three lanes and a write, whose own times differ, do not overtake each other."""
    session = post("/sessions", b'{"id":"ahead","project":"p"}')
    wanted = [get("/health"), get("/search?q=x"), session, get("/nope"), get("/stats"), get("/sessions/ahead")] * 20
    connection.sendall(b"".join(wanted))
    replies = read_replies(connection, len(wanted))
    assert [status for status, _ in replies] == [200, 200, 201, 404, 200, 200] * 20
    assert all(json.loads(body)["id"] == "ahead" for _, body in replies[5::6])


def test_a_request_may_come_byte_by_byte(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in post("/sessions", b'{"id":"slow","project":"p"}'):
        connection.sendall(bytes([byte]))
    assert read_replies(connection, 1) == [(201, b'{"id":"slow","status":"created"}\n')]


def test_a_chunked_body_is_taken(connection: socket.socket) -> None:
    head = b"POST /sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    connection.sendall(head + b'c\r\n{"id":"chu",\r\n10\r\n"project": "pqr"\r\n1\r\n}\r\n0\r\n\r\n')
    assert read_replies(connection, 1) == [(201, b'{"id":"chu","status":"created"}\n')]


def test_a_client_that_asks_leave_to_send_gets_it(connection: socket.socket) -> None:
    body = b'{"id":"polite","project":"p"}'
    request = post("/sessions", body, "Expect: 100-continue")
    connection.sendall(request[: -len(body)])
    assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.sendall(body)
    assert read_replies(connection, 1)[0][0] == 201


def test_head_is_get_without_a_body(connection: socket.socket) -> None:
    connection.sendall(get("/health").replace(b"GET", b"HEAD") + get("/health", "Connection: close"))
    head, _, rest = read_all(connection).partition(b"\r\n\r\n")
    assert b"Content-Length: 53" in head
    assert rest.startswith(b"HTTP/1.1 200 OK\r\n")
    assert rest.endswith(HEALTH)


def test_a_client_that_shuts_its_side_still_gets_its_answer(connection: socket.socket) -> None:
    connection.sendall(get("/search?q=x"))
    connection.shutdown(socket.SHUT_WR)
    assert read_all(connection).endswith(b"\r\n\r\nnull\n")


def test_http_1_0_is_answered_and_closed(connection: socket.socket) -> None:
    connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
    reply = read_all(connection)
    assert reply.endswith(HEALTH)
    assert b"Connection: close" in reply


def test_a_malformed_request_gets_a_sentence_and_is_closed(connection: socket.socket) -> None:
    connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
    assert read_all(connection).startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_body_beyond_50_mb_is_answered_before_it_has_come(connection: socket.socket) -> None:
    connection.sendall(b"POST /import HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60000000\r\n\r\n" + b"x" * 1000)
    reply = read_all(connection)
    assert reply.startswith(b"HTTP/1.1 400 ")
    assert reply.endswith(b'{"error":"failed to read body: http: request body too large"}\n')


def test_an_import_of_nearly_50_mb_is_taken(shared: Daemon) -> None:
    """A text that does not fit into a row is cut, as in Engram; nothing else is refused."""
    content = "é" * (24 << 20)
    exported = {
        "sessions": [{"id": "big", "project": "p", "started_at": "2026-01-01 00:00:00"}],
        "observations": [{"id": 1, "session_id": "big", "title": "t", "content": content}],
    }
    reply = shared.ask("POST", "/import", json.dumps(exported, ensure_ascii=False))
    assert (reply.status, json.loads(reply.body)["observations_imported"]) == (200, 1)


def test_a_client_that_stops_reading_holds_up_nobody(shared: Daemon) -> None:
    with socket.create_connection(("127.0.0.1", shared.port), 30) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.setblocking(False)
        try:
            for _ in range(10_000):
                deaf.send(get("/openapi.json") * 10)
        except BlockingIOError:
            pass
        assert shared.ask("GET", "/health").body == HEALTH
        assert shared.ask("POST", "/sessions", '{"id":"other","project":"p"}').status == 201


def test_hundreds_of_connections_at_once_are_served(shared: Daemon) -> None:
    opened = [socket.create_connection(("127.0.0.1", shared.port), 60) for _ in range(800)]
    try:
        for each in opened:
            each.sendall(get("/health"))
        assert {read_replies(each, 1)[0] for each in opened} == {(200, HEALTH)}
    finally:
        for each in opened:
            each.close()


def test_accepted_requests_are_answered_before_the_daemon_stops(tmp_path: Path) -> None:
    """A signal arrives during writes: each of them is answered, and every answered write is stored."""
    daemon = Daemon(tmp_path)
    assert daemon.ask("POST", "/sessions", '{"id":"s","project":"p"}').status == 201
    answered: list[int] = []
    started = threading.Barrier(9)

    def write(writer: int) -> None:
        with socket.create_connection(("127.0.0.1", daemon.port), 60) as connection:
            bodies = [json.dumps({"session_id": "s", "title": f"{writer}-{n}", "content": "c"}) for n in range(40)]
            connection.sendall(b"".join(post("/observations", body.encode()) for body in bodies[:20]))
            started.wait()
            replies = read_all(connection)
            answered.append(replies.count(b"HTTP/1.1 201 "))
            assert replies.count(b"HTTP/1.1 ") == answered[-1]
            assert replies.endswith(b'"status":"saved"}\n')

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for each in writers:
        each.start()
    started.wait()
    assert daemon.stop() == (0, "")
    for each in writers:
        each.join()
    again = Daemon(tmp_path)
    kept = json.loads(again.ask("GET", "/stats").body)["total_observations"]
    assert kept == sum(answered) > 0
    assert again.stop() == (0, "")


def test_a_client_that_never_reads_makes_the_daemon_keep_little(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    with socket.create_connection(("127.0.0.1", daemon.port), 30) as deaf:
        deaf.settimeout(1)
        sent = 0
        try:
            while sent < 100_000_000:
                sent += deaf.send(get("/health") * 1000)
        except TimeoutError:
            pass
        assert sent < 50_000_000
        assert daemon.ask("GET", "/health").body == HEALTH
    assert daemon.stop() == (0, "")


def test_all_requests_sent_before_the_client_shut_its_side_are_answered(connection: socket.socket) -> None:
    connection.sendall((get("/search?q=x&project=none") + get("/health")) * 100)
    connection.shutdown(socket.SHUT_WR)
    assert read_all(connection).count(b"HTTP/1.1 200 OK\r\n") == 200
