"""Streamable HTTP: the headers and statuses of the protocol, and the official client through a real socket."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from anamnesis.mcp.dispatcher import HANDSHAKE, INVALID_REQUEST, McpServer, Work
from anamnesis.mcp.http import Reply, respond
from anamnesis.server import build_server
from anamnesis.store import MemoryStore
from mcp import Client

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
META = {VERSION_KEY: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
MODERN = {"MCP-Protocol-Version": "2026-07-28"}


@pytest.fixture
def server(store: MemoryStore) -> McpServer:
    return build_server(store, machine_id="desktop")


def post(server: McpServer, message: object, headers: dict[str, str] | None = None, **more: Any) -> Reply:
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    pairs = [*{**usual, **(headers or {})}.items(), *more.get("also", [])]
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return respond(server, more.get("method", "POST"), pairs, body, fail)


def fail(trace: str) -> None:
    raise AssertionError(trace)


def request(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params})}


def modern(method: str, **params: Any) -> dict[str, Any]:
    return request(method, {**params, "_meta": META})


def code(reply: Reply) -> int:
    found: int = json.loads(reply.body)["error"]["code"]
    return found


@pytest.mark.parametrize("version", HANDSHAKE)
def test_a_handshake_gets_a_name_for_its_session(server: McpServer, version: str) -> None:
    reply = post(server, request("initialize", {"protocolVersion": version, "capabilities": {}}))
    assert reply.status == 200
    assert re.fullmatch("[a-z-]+/[0-9a-f]{8}", reply.headers["mcp-session-id"])
    assert json.loads(reply.body)["result"]["protocolVersion"] == version


def test_a_request_without_a_version_header_is_one_of_an_early_client(server: McpServer) -> None:
    assert json.loads(post(server, request("ping")).body)["result"] == {}


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_there_is_no_stream_to_open_and_no_session_to_end(server: McpServer, method: str) -> None:
    assert post(server, b"", method=method) == Reply(405, {"allow": "POST"})


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        [{"jsonrpc": "2.0", "method": "notifications/initialized"}],
    ],
)
def test_a_message_without_an_answer_is_accepted_with_an_empty_body(server: McpServer, message: object) -> None:
    assert post(server, message) == Reply(202)


def test_a_modern_notification_is_accepted(server: McpServer) -> None:
    assert post(server, {"jsonrpc": "2.0", "method": "notifications/cancelled"}, MODERN) == Reply(202)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{broken", {}, 400),
        (b"[" * 100_000, {}, 400),
        (b"1", {}, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {"Content-Type": ""}, 415),
        (b"{}", {"Accept": "text/html"}, 406),
    ],
)
def test_a_body_that_is_not_a_message_is_refused(
    server: McpServer, body: bytes, headers: dict[str, str], status: int
) -> None:
    assert post(server, body, headers).status == status


def test_a_batch_that_would_be_answered_with_many_times_its_size_is_refused(server: McpServer) -> None:
    reply = post(server, b"[" + b"0," * 1_000 + b"0]")
    assert (reply.status, code(reply)) == (400, INVALID_REQUEST)
    assert len(json.loads(post(server, [request("ping")] * 1_000).body)) == 1_000


@pytest.mark.parametrize("depth", [100, 500, 900, 950, 970])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", b'{"name": %s}'),
        ("prompts/get", b'{"name": %s}'),
        ("tools/call", b'{"name": "memory_search", "arguments": {"query": %s}}'),
        ("tools/call", b'{"name": "memory_search", "arguments": %s}'),
        ("resources/read", b'{"uri": %s}'),
        ("initialize", b'{"protocolVersion": %s}'),
    ],
)
def test_a_nested_value_is_answered_with_a_sentence_however_deep(
    server: McpServer, method: str, params: bytes, depth: int
) -> None:
    given = params % (b"[" * depth + b"]" * depth)
    reply = post(server, b'{"jsonrpc": "2.0", "id": 1, "method": "%s", "params": %s}' % (method.encode(), given))
    assert reply.status in (200, 400)
    assert "Something went wrong" not in reply.body.decode()


def test_a_list_in_a_text_that_is_nested_too_deeply_is_a_text(server: McpServer) -> None:
    arguments = {"title": "t", "body": "b", "type": "semantic", "tags": "[" * 100_000}
    reply = post(server, request("tools/call", {"name": "memory_write", "arguments": arguments}))
    assert "Something went wrong" not in reply.body.decode()


def test_an_error_of_the_handshake_era_is_an_answer(server: McpServer) -> None:
    reply = post(server, request("tools/frobnicate"))
    assert (reply.status, code(reply)) == (200, -32601)


def test_an_unknown_version_is_answered_with_the_supported_ones(server: McpServer) -> None:
    reply = post(server, request("tools/list"), {"MCP-Protocol-Version": "1999-01-01"})
    assert reply.status == 400
    error = json.loads(reply.body)["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": ["2026-07-28", *HANDSHAKE], "requested": "1999-01-01"}


def test_an_unknown_version_in_the_body_is_refused_too(server: McpServer) -> None:
    message = request("tools/list", {"_meta": {**META, VERSION_KEY: "2031-01-01"}})
    reply = post(server, message, {"MCP-Protocol-Version": "2031-01-01", "Mcp-Method": "tools/list"})
    assert (reply.status, code(reply)) == (400, -32022)


def test_a_modern_request_whose_headers_agree_is_served(server: McpServer) -> None:
    reply = post(server, modern("tools/list"), {**MODERN, "Mcp-Method": "tools/list", "Mcp-Session-Id": "ignored"})
    assert reply.status == 200
    assert json.loads(reply.body)["result"]["resultType"] == "complete"


def test_a_name_that_plain_ascii_cannot_carry_comes_as_base64(server: McpServer) -> None:
    name = "mémoire"
    encoded = "=?base64?" + base64.b64encode(name.encode()).decode() + "?="
    headers = {**MODERN, "Mcp-Method": "tools/call", "Mcp-Name": encoded}
    reply = post(server, modern("tools/call", name=name), headers)
    assert (reply.status, code(reply)) == (400, -32602), "the name was read: there is no such tool"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Mcp-Method": "tools/call", "Mcp-Name": "memory_status"},
        {**MODERN, "Mcp-Name": "memory_status"},
        {**MODERN, "Mcp-Method": "tools/call"},
        {**MODERN, "Mcp-Method": "tools/list", "Mcp-Name": "memory_status"},
        {**MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "memory_delete"},
        {**MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?!?="},
        {"MCP-Protocol-Version": "2025-11-25", "Mcp-Method": "tools/call", "Mcp-Name": "memory_status"},
    ],
)
def test_headers_that_contradict_the_body_are_refused(server: McpServer, headers: dict[str, str]) -> None:
    """A gateway may have allowed a request because of its headers."""
    reply = post(server, modern("tools/call", name="memory_status"), headers)
    assert (reply.status, code(reply)) == (400, -32020)


def test_a_header_that_is_there_twice_is_refused(server: McpServer) -> None:
    reply = post(server, modern("tools/list"), {**MODERN, "Mcp-Method": "tools/list"}, also=[("mcp-method", "ping")])
    assert (reply.status, code(reply)) == (400, -32020)


def test_a_modern_header_over_an_older_body_is_refused(server: McpServer) -> None:
    assert code(post(server, request("tools/list"), {**MODERN, "Mcp-Method": "tools/list"})) == -32020
    assert code(post(server, [request("ping")], MODERN)) == -32600


def test_a_method_that_does_not_exist_is_not_found(server: McpServer) -> None:
    reply = post(server, modern("tools/frobnicate"), {**MODERN, "Mcp-Method": "tools/frobnicate"})
    assert (reply.status, code(reply)) == (404, -32601)


def test_a_client_that_takes_only_streams_gets_one_event(server: McpServer) -> None:
    reply = post(server, request("ping"), {"Accept": "text/event-stream"})
    assert reply.headers["content-type"] == "text/event-stream"
    event, data, *_ = reply.body.decode().split("\n")
    assert event == "event: message"
    assert json.loads(data.removeprefix("data: ")) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_an_internal_error_is_reported_and_answered(store: MemoryStore) -> None:
    class Broken:
        name = "broken"
        work = Work.READ

        def declaration(self) -> dict[str, Any]:
            return {}

        def result(self, arguments: object) -> dict[str, Any]:
            raise ZeroDivisionError

    told: list[str] = []
    server = McpServer(name="x", version="1", instructions="", tools=[Broken()])
    body = json.dumps(request("tools/call", {"name": "broken"})).encode()
    reply = respond(server, "POST", [("content-type", "application/json")], body, told.append)
    assert (reply.status, code(reply)) == (500, -32603)
    assert "ZeroDivisionError" in told[0]
    assert b"ZeroDivision" not in reply.body


@pytest.fixture
def address(server: McpServer) -> Iterator[str]:
    """The server behind the plainest of web servers."""

    class Bridge(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = respond(server, self.command, self.headers.items(), body, fail)
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = do_DELETE = _serve

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Bridge) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/mcp"
        listening.shutdown()
        thread.join()


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_official_client_is_served_in_both_eras(address: str, mode: str, version: str) -> None:
    async def main() -> None:
        async with Client(address, mode=mode) as client:
            assert client.protocol_version == version
            arguments = {"type": "semantic", "title": "t", "body": "zebra"}
            written = await client.call_tool("memory_write", arguments)
            note: Any = written.structured_content
            found = await client.call_tool("memory_search", {"query": "zebra"})
            assert found.structured_content
            assert [each["id"] for each in found.structured_content["result"]] == [note["id"]]
            (content,) = (await client.read_resource(f"memory://note/{note['id']}")).contents
            assert "zebra" in content.text  # type: ignore[union-attr]
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool("memory_frobnicate", {})

    asyncio.run(asyncio.wait_for(main(), 60))
