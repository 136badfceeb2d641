"""Chunked bodies are read as by Go's own server, whose answers are in `golden/chunks.jsonl`."""

from __future__ import annotations

import ast
import asyncio
import json
import socket
from http.client import HTTPResponse
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytest
from tests.web.answering import Answering

from anamnesis.web.http_server import HttpServer
from anamnesis.web.message import TEXT, Response

GO = [json.loads(line) for line in (Path(__file__).parent / "golden/chunks.jsonl").read_bytes().splitlines()]
# Refused here and taken by Go, each a place where two readers could disagree: a bare LF or blanks in trailers, a folded
# trailer, both ways to tell a body's length, and chunks in a protocol that has none.
STRICTER = (
    b"0\r\n\nGET ",
    b"\r\nT : v\r\n",
    b"\r\nT v: w\r\n",
    b"\r\nT: v\r\n more\r\n",
    b"Content-Length: 5\r\nTransfer-Encoding: chunked",
    b"POST / HTTP/1.0\r\n",
)


@pytest.fixture(scope="module")
def ours() -> list[bytes]:
    return asyncio.run(_send([_sent(line) for line in GO]))


@pytest.mark.parametrize("number", range(len(GO)), ids=lambda number: GO[number]["line"][-80:])
def test_a_chunked_body_is_taken_or_refused_as_by_go(ours: list[bytes], number: int) -> None:
    sent, given = _sent(GO[number]), _replies(ours[number])
    if any(each in sent for each in STRICTER):
        assert [status // 100 for status, _ in given] in ([4], [5])
        return
    wanted = [(answer["status"], answer.get("body", "")) for answer in GO[number]["answers"]]
    assert [(status, body if status == 200 else "") for status, body in given] == wanted


def _sent(line: dict[str, Any]) -> bytes:
    return cast(bytes, ast.literal_eval("b" + line["line"]))


async def _send(requests: list[bytes]) -> list[bytes]:
    """What a server that answers with the bodies it got says to each, on a connection of its own."""
    server = HttpServer()
    listening = socket.create_server(("127.0.0.1", 0))
    await server.listen(listening, Answering(lambda request: Response(200, request.body.hex().encode(), TEXT)))
    replies = []
    for request in requests:
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(request)
        writer.write_eof()
        replies.append(await reader.read())
        writer.close()
    await server.stop(1)
    return replies


def _replies(data: bytes) -> list[tuple[int, str]]:
    found = []
    while data:
        response = HTTPResponse(cast(socket.socket, _Received(data)))
        response.begin()
        body = response.read()
        found.append((response.status, body.decode()))
        data = data[data.index(b"\r\n\r\n") + 4 + len(body) :]
    return found


class _Received:
    """What `HTTPResponse` asks of a socket."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_: object) -> BytesIO:
        return BytesIO(self._data)
