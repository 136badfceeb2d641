"""Hostile and broken clients: the server answers or ignores them, and never dies or hangs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anamnesis.mcp.dispatcher import HANDSHAKE

Answer = Any


class Server:
    """`anamnesis serve`, spoken to line by line."""

    def __init__(self, home: Path, *arguments: str) -> None:
        variables = {"ANAMNESIS_HOME": str(home), "PATH": os.environ["PATH"], "HOME": str(home)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "anamnesis", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables,
        )

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Answer:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def tell(self, method: str, params: object = None, identity: object = 1) -> None:
        message = {"jsonrpc": "2.0", "id": identity, "method": method}
        self.send(json.dumps(message if params is None else {**message, "params": params}).encode())

    def ask(self, method: str, params: object = None, identity: object = 1) -> Answer:
        self.tell(method, params, identity)
        return self.receive()

    def end(self) -> tuple[int, bytes]:
        _, errors = self.process.communicate(timeout=30)
        return self.process.returncode, errors


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path, "serve")
    yield started
    assert started.ask("ping", identity="last") == {"jsonrpc": "2.0", "id": "last", "result": {}}
    assert started.end() == (0, b"")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{broken", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"1", -32600),
        (b'"text"', -32600),
        (b"null", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/frobnicate"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": []}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nothing"}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "server/discover"}', -32602),
    ],
)
def test_a_message_that_makes_no_sense_gets_its_error(server: Server, line: bytes, code: int) -> None:
    server.send(line)
    assert server.receive()["error"]["code"] == code


def test_a_lone_surrogate_is_written_as_a_replacement(server: Server) -> None:
    arguments = b'{"type": "semantic", "title": "a \\ud800 b", "body": "\\udfff"}'
    server.send(
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/call","params":{"name":"memory_write","arguments":'
        + arguments
        + b"}}"
    )
    answer = server.receive()
    assert answer["result"]["structuredContent"]["title"] == "a \ufffd b"


def test_a_batch_is_answered_as_a_batch(server: Server) -> None:
    server.send(
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},'
        b'{"jsonrpc":"2.0","id":2,"method":"nothing"}]'
    )
    answers = server.receive()
    assert [each["id"] for each in answers] == [1, 2]


def test_notifications_answers_and_blank_lines_get_no_answer(server: Server) -> None:
    for line in (
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
        b'{"jsonrpc":"2.0","id":5,"result":{}}',
        b"",
        b"   ",
    ):
        server.send(line)
    assert server.ask("ping", identity=7)["id"] == 7


@pytest.mark.parametrize("version", HANDSHAKE)
def test_each_earlier_version_is_spoken(server: Server, version: str) -> None:
    answer = server.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {}})
    assert answer["result"]["protocolVersion"] == version


def test_an_unknown_version_gets_the_newest_handshake(server: Server) -> None:
    answer = server.ask("initialize", {"protocolVersion": "1999-01-01", "capabilities": {}})
    assert answer["result"]["protocolVersion"] == HANDSHAKE[0]
    meta = {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    error = server.ask("tools/list", {"_meta": meta})["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": ["2026-07-28"], "requested": "2031-01-01"}


def test_no_command_on_a_pipe_is_serve(tmp_path: Path) -> None:
    server = Server(tmp_path)
    assert server.ask("ping")["result"] == {}
    assert server.end()[0] == 0


def test_calls_accepted_before_the_end_of_input_are_answered(tmp_path: Path) -> None:
    server = Server(tmp_path, "serve")
    for number in range(50):
        arguments = {"type": "semantic", "title": f"n{number}", "body": "b"}
        call = {"name": "memory_write", "arguments": arguments}
        server.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}).encode())
    out, _ = server.process.communicate(timeout=30)
    answers = [json.loads(line) for line in out.splitlines()]
    assert {answer["id"] for answer in answers} == set(range(50))
    assert len(list((tmp_path / "memory/semantic").glob("*.md"))) == 50


def test_a_client_that_stops_listening_ends_the_server(tmp_path: Path) -> None:
    server = Server(tmp_path, "serve")
    assert server.process.stdout
    server.process.stdout.close()
    try:
        for number in range(2000):
            server.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/list"}).encode())
    except BrokenPipeError:
        pass
    assert server.process.stdin
    with contextlib.suppress(BrokenPipeError):
        server.process.stdin.close()
    assert server.process.wait(timeout=30) == 0
    assert server.process.stderr
    assert b"Traceback" not in server.process.stderr.read()
    server.process.stderr.close()


def test_a_store_that_cannot_be_opened_is_named_in_the_answers_and_opened_once_it_can(tmp_path: Path) -> None:
    """The tools are listed before the store is opened, so the reason comes with the first call that needs it."""
    home = tmp_path / "home"
    home.write_text("This is not a folder.")
    server = Server(home, "serve")
    search = {"name": "memory_search", "arguments": {"query": "zebra"}}
    assert server.ask("tools/list")["result"]["tools"]
    refused = server.ask("tools/call", search)["result"]
    assert refused["isError"]
    assert str(home) in refused["content"][0]["text"]
    assert str(home) in server.ask("resources/list")["error"]["message"]
    home.unlink()
    assert server.ask("tools/call", search)["result"]["structuredContent"] == {"result": []}
    assert server.end() == (0, b"")


def test_calls_that_come_at_once_share_one_store(tmp_path: Path) -> None:
    """The first calls open it; all of them write, and every note is found."""
    server = Server(tmp_path, "serve")
    for number in range(16):
        arguments = {"type": "semantic", "title": f"Note {number}", "body": "zebra"}
        params = {"name": "memory_write", "arguments": arguments}
        server.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode())
    assert [server.receive()["result"]["isError"] for _ in range(16)] == [False] * 16
    found = server.ask("tools/call", {"name": "memory_search", "arguments": {"query": "zebra", "k": 99}})
    assert len(found["result"]["structuredContent"]["result"]) == 16
    assert server.end() == (0, b"")


def test_an_interrupt_ends_the_server_without_a_traceback(tmp_path: Path) -> None:
    server = Server(tmp_path, "serve")
    assert server.ask("ping")["result"] == {}
    server.process.send_signal(signal.SIGINT)
    assert server.end() == (130, b"")
