"""No client can hold a connection, memory or the event loop beyond the limits; running requests are never cut."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from asyncio import Future, StreamReader
from collections.abc import Callable

import pytest
from tests.web.answering import serving

from anamnesis.web.http_server import ConnectionLimits, HttpServer
from anamnesis.web.message import TEXT, Request, Response
from anamnesis.web.mount import Message, Mount, Receive, Send

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
# No time runs out but the one that a test sets.
LONG = ConnectionLimits(head=600, body=600, whole_body=600, idle=600, unread=600, linger=600, sweep=0.05)


def limits(**changed: float) -> ConnectionLimits:
    return ConnectionLimits(**{name: getattr(LONG, name) for name in LONG.__slots__} | changed)


async def first_reply(reader: StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.partition(b"Content-Length: ")[2].partition(b"\r")[0])
    return head + await reader.readexactly(length)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("allowed", "sent", "answer"),
    [
        ({"head": 0.2}, b"", b""),
        ({"head": 0.2}, b"GET / HT", b"408 Request Timeout"),
        ({"head": 0.2}, GET + b"GET / HT", b"408 Request Timeout"),
        ({"body": 0.2}, HEAD + b"Content-Length: 5\r\n\r\nhel", b"408 Request Timeout"),
        ({"body": 0.2}, HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", b"408 Request Timeout"),
        ({"whole_body": 0.2}, HEAD + b"Content-Length: 5\r\n\r\nhel", b"408 Request Timeout"),
        ({"idle": 0.2}, GET, b"200 OK"),
    ],
)
def test_a_client_that_stops_in_the_middle_is_let_go(allowed: dict[str, float], sent: bytes, answer: bytes) -> None:
    async def stop_sending() -> bytes:
        async with serving(HttpServer(limits(**allowed))) as connect:
            reader, writer = await connect()
            writer.write(sent)
            # The end is that of the server's side: the client does not shut its own.
            return await asyncio.wait_for(reader.read(), 60)

    reply = asyncio.run(stop_sending())
    assert reply.rpartition(b"HTTP/1.1 ")[2].startswith(answer)
    assert b"408" not in reply or (b'{"error":"' in reply and b"seconds" in reply)


def test_a_body_that_makes_progress_is_not_cut() -> None:
    """The whole body takes longer than the timeout between two bytes."""

    async def send_slowly() -> bytes:
        async with serving(HttpServer(limits(body=2.0))) as connect:
            reader, writer = await connect()
            writer.write(HEAD + b"Content-Length: 12\r\n\r\n")
            for _ in range(12):
                await asyncio.sleep(0.25)
                writer.write(b"x")
            return await first_reply(reader)

    assert asyncio.run(send_slowly()).endswith(b"\r\n\r\n12")


def test_neither_work_nor_a_stream_is_cut_by_a_timeout() -> None:
    async def application(scope: Message, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await asyncio.sleep(0.5)
        await send({"type": "http.response.start", "status": 200})
        for part in (b"one", b"two", b""):
            await asyncio.sleep(0.5)
            await send({"type": "http.response.body", "body": part, "more_body": bool(part)})

    async def wait() -> bytes:
        hasty = limits(head=0.1, body=0.1, whole_body=0.1, idle=0.1, unread=0.1)
        async with serving(HttpServer(hasty), Mount("/app", lambda: application)) as connect:
            reader, writer = await connect()
            writer.write(HEAD + b"Content-Length: 1\r\n\r\nx")
            return await asyncio.wait_for(reader.read(), 60)

    assert asyncio.run(wait()).endswith(b"\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")


def test_a_client_that_never_reads_its_answer_is_let_go() -> None:
    async def never_read() -> None:
        server = HttpServer(limits(unread=0.2))
        async with serving(server, lambda _: Response(200, b"x" * (32 << 20), TEXT)) as connect:
            _, writer = await connect()
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(GET)
            await until(lambda: bool(server.connections))
            await asyncio.wait_for(until(lambda: not server.connections), 60)

    asyncio.run(never_read())


def test_the_oldest_idle_connection_makes_room_for_a_new_one() -> None:
    async def connect_often() -> list[bytes]:
        async with serving(HttpServer(limits(connections=3))) as connect:
            clients = []
            for _ in range(5):
                reader, writer = await connect()
                writer.write(GET)
                await first_reply(reader)
                clients.append((reader, writer))
            for _, writer in clients[2:]:
                writer.write(GET)
            closed = [await reader.read() for reader, _ in clients[:2]]
            return closed + [await first_reply(reader) for reader, _ in clients[2:]]

    replies = asyncio.run(connect_often())
    assert replies[:2] == [b"", b""]
    assert all(reply.startswith(b"HTTP/1.1 200 OK\r\n") for reply in replies[2:])


def test_without_an_idle_connection_the_oldest_head_is_closed_and_no_running_request() -> None:
    async def connect_all() -> tuple[bytes, bytes, bytes]:
        done: list[Future[Response]] = []

        def answer(request: Request) -> Future[Response]:
            done.append(asyncio.get_running_loop().create_future())
            return done[-1]

        server = HttpServer(limits(connections=2))
        async with serving(server, answer) as connect:
            working, writer = await connect()
            writer.write(GET)
            await until(lambda: len(done) == 1)
            half, writer = await connect()
            writer.write(b"GET / HT")
            second, writer = await connect()
            writer.write(GET)
            await until(lambda: len(done) == 2)
            refused, _ = await connect()
            told = await refused.read()
            for each in done:
                each.set_result(Response(200, b"done", TEXT))
            with contextlib.suppress(ConnectionError):
                assert await half.read() == b""
            return told, await first_reply(working), await first_reply(second)

    told, *answered = asyncio.run(connect_all())
    assert told.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"\r\nRetry-After: 1\r\n" in told
    assert all(reply.endswith(b"\r\n\r\ndone") for reply in answered)


def test_unfinished_bodies_together_are_bounded_and_the_largest_goes_first() -> None:
    async def fill() -> tuple[bytes, bytes, bytes, int]:
        server = HttpServer(limits(held=1 << 20))
        async with serving(server, most=50 << 20) as connect:
            head = HEAD + b"Content-Length: 50000000\r\n\r\n"
            large, writer = await connect()
            writer.write(head + b"x" * 700_000)
            await until(lambda: server.held >= 700_000)
            small, small_writer = await connect()
            small_writer.write(HEAD + b"Content-Length: 500000\r\n\r\n" + b"x" * 499_000)
            refused = await large.read()
            whole, writer = await connect()
            writer.write(HEAD + b"Content-Length: 5\r\n\r\nhello")
            answered = await first_reply(whole)
            small_writer.write(b"x" * 1000)
            finished = await first_reply(small)
            return refused, answered, finished, server.held

    refused, answered, finished, held = asyncio.run(fill())
    assert refused.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"\r\nRetry-After: 1\r\n" in refused
    assert refused.endswith(b'{"error":"too many requests are unfinished; send this one again in a moment"}\n')
    assert answered.endswith(b"\r\n\r\n5")
    assert finished.endswith(b"\r\n\r\n500000")
    assert held == 0


def test_a_running_request_counts_even_after_its_client_has_gone() -> None:
    """Otherwise bodies of clients that disconnect could pile up in the writer's queue."""

    async def send_and_leave() -> tuple[int, int]:
        done: Future[Response] = asyncio.get_running_loop().create_future()
        server = HttpServer(LONG)
        async with serving(server, lambda _: done) as connect:
            _, writer = await connect()
            writer.write(HEAD + b"Content-Length: 100000\r\n\r\n" + b"x" * 100_000)
            await until(lambda: server.held == 100_000)
            reset = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            writer.close()
            await until(lambda: not server.connections)
            held = server.held
            done.set_result(Response(200))
            await until(lambda: server.held == 0)
            return held, server.held

    assert asyncio.run(send_and_leave()) == (100_000, 0)
