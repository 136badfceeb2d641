"""A daemon stays small, idle and answering, whatever unfinished requests clients leave with it."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.waiting import wait_until
from tests.web.daemon import Daemon
from tests.web.test_server import HEALTH, read_all

TOKEN = "a-long-and-random-text"
MB = 1 << 20
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows memory and CPU time in files")


class Confined(Daemon):
    """A daemon that may have few files open."""

    files = 256


@contextlib.contextmanager
def clients(daemon: Daemon, count: int) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as opened:
        yield [opened.enter_context(socket.create_connection(("127.0.0.1", daemon.port), 60)) for _ in range(count)]


def head(path: str, length: int, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {length}", *headers, "", ""]
    return "\r\n".join(lines).encode()


def send(connection: socket.socket, size: int) -> None:
    """Send so many bytes, unless the daemon does not want them any more."""
    with contextlib.suppress(ConnectionError, TimeoutError):
        for _ in range(size // MB):
            connection.sendall(b" " * MB)


@only_linux
def test_bodies_without_the_token_are_refused_before_they_are_kept(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, ANAMNESIS_TOKEN=TOKEN)
    before = daemon.memory()
    with clients(daemon, 8) as connections:
        for each in connections:
            each.sendall(head("/import", 51_000_000))
            assert each.recv(12) == b"HTTP/1.1 401"
            send(each, 50 * MB)
        assert daemon.memory() - before < 32 * MB
    assert daemon.stop() == (0, "")


@only_linux
def test_unfinished_imports_do_not_fill_the_memory(daemon: Daemon) -> None:
    before = daemon.memory()
    with clients(daemon, 8) as connections:
        for each in connections:
            each.sendall(head("/import", 50_000_000))
            send(each, 45 * MB)
        assert daemon.memory() - before < 256 * MB
        assert daemon.ask("POST", "/sessions", '{"id":"s","project":"p"}').status == 201
        wait_until(lambda: sum(map(_has_answer, connections)) >= 4)
        answered = [each for each in connections if _has_answer(each)]
        assert len(answered) < 8
        assert all(read_all(each).startswith(b"HTTP/1.1 503 ") for each in answered)
    assert daemon.ask("GET", "/health").body == HEALTH


def _has_answer(connection: socket.socket) -> bool:
    connection.settimeout(0.1)
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except TimeoutError:
        return False
    finally:
        connection.settimeout(60)


def _is_idle(daemon: Daemon) -> bool:
    """Whether it hardly used the processor for a second."""
    spent = daemon.cpu_seconds()
    time.sleep(1)
    return daemon.cpu_seconds() - spent < 0.05


def _is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@only_linux
@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHo"])
def test_half_open_connections_leave_others_served_and_the_processor_idle(tmp_path: Path, sent: bytes) -> None:
    daemon = Confined(tmp_path)
    wait_until(lambda: _is_idle(daemon))
    with clients(daemon, 300) as connections:
        for each in connections:
            with contextlib.suppress(ConnectionError):
                each.sendall(sent)
        for _ in range(5):
            assert daemon.ask("GET", "/health").body == HEALTH
            assert daemon.ask("POST", "/sessions", '{"id":"s","project":"p"}').status == 201
        wait_until(lambda: _is_idle(daemon))
        assert sum(map(_is_open, connections)) > 100, "the daemon was idle while they were open"
    assert daemon.stop() == (0, "")
    assert "error" not in (tmp_path / "anamnesis.log").read_text()


def test_the_limit_on_open_files_is_raised_as_far_as_it_may_be(tmp_path: Path) -> None:
    """Connections get the rest of 256 descriptors, and the files of the memory keep theirs."""
    daemon = Confined(tmp_path)
    with clients(daemon, 300):
        assert daemon.ask("GET", "/stats").status == 200
        metrics = daemon.ask("GET", "/metrics").text
    connections = next(line for line in metrics.splitlines() if line.startswith("anamnesis_connections "))
    assert int(connections.split()[1]) == 128
    assert daemon.stop() == (0, "")


def test_a_body_over_a_megabyte_is_refused_with_a_sentence(shared: Daemon) -> None:
    with clients(shared, 2) as (announced, chunked):
        announced.sendall(head("/observations", MB + 1))
        chunked.sendall(b"POST /prompts HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            for _ in range(17):
                chunked.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        for each in (announced, chunked):
            reply = read_all(each)
            assert reply.startswith(b"HTTP/1.1 413 ")
            assert json.loads(reply.partition(b"\r\n\r\n")[2]) == {
                "error": "the body is too large: at most 1048576 bytes are accepted here"
            }


def test_a_body_of_a_megabyte_is_taken(shared: Daemon) -> None:
    body = json.dumps({"id": "s", "project": "p"})
    assert shared.ask("POST", "/sessions", body + " " * (MB - len(body))).status == 201


def test_a_message_of_mcp_may_have_16_mb(shared: Daemon) -> None:
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    allowed = shared.ask("POST", "/mcp", message + " " * (16 * MB - len(message)), Content_Type="application/json")
    assert (allowed.status, json.loads(allowed.body)["result"]) == (200, {})
    with clients(shared, 1) as (connection,):
        connection.sendall(head("/mcp", 16 * MB + 1))
        assert read_all(connection).startswith(b"HTTP/1.1 413 ")


def test_a_request_refused_by_its_head_gets_no_100_continue(shared: Daemon) -> None:
    with clients(shared, 1) as (connection,):
        connection.sendall(head("/observations", MB + 1, "Expect: 100-continue"))
        assert connection.recv(12) == b"HTTP/1.1 413"
