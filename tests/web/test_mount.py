"""Any ASGI application can be mounted: it gets bodies as they arrive, streams answers, and sees disconnects."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.web import answering
from tests.web.answering import Connect

from anamnesis.engram import database
from anamnesis.engram.shared import Shared
from anamnesis.errors import InvalidArgument
from anamnesis.web.app import App
from anamnesis.web.guard import build_guard
from anamnesis.web.http_server import HttpServer
from anamnesis.web.lanes import Lanes
from anamnesis.web.metrics import Metrics
from anamnesis.web.mount import Application, Message, Mount, Receive, Send
from anamnesis.web.route import BodyLimit

Answer = Callable[[Message, Receive, Send], Coroutine[Any, Any, None]]
FOR_EVER = 3600.0


def get(path: str = "/app/x", *headers: str, method: str = "GET", version: str = "1.1") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/{version}", "Host: 127.0.0.1", *headers, "", ""]).encode()


def http_only(answer: Answer) -> Application:
    """An application without a lifespan."""

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await answer(scope, receive, send)

    return application


async def start(send: Send, status: int = 200, *headers: tuple[bytes, bytes]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def body(send: Send, part: bytes, *, more: bool = False) -> None:
    await send({"type": "http.response.body", "body": part, "more_body": more})


@contextlib.asynccontextmanager
async def serving(mount: Mount | Answer) -> AsyncIterator[tuple[HttpServer, Connect]]:
    """A server that gives every request to one application."""
    server = HttpServer()
    mounted = mount if isinstance(mount, Mount) else Mount("/app", lambda: http_only(mount))
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    async with answering.serving(server, mounted, last_seconds=FOR_EVER) as connect:
        yield server, connect
    await mounted.close()


def replies(mount: Mount | Answer, *requests: bytes) -> bytes:
    """All that a client gets that sends these requests and then shuts its side."""

    async def ask() -> bytes:
        async with serving(mount) as (_, connect):
            reader, writer = await connect()
            writer.write(b"".join(requests))
            writer.write_eof()
            received = b""
            with contextlib.suppress(ConnectionResetError):
                while part := await asyncio.wait_for(reader.read(1 << 20), 60):
                    received += part
            return received

    return asyncio.run(ask())


async def stream_two(scope: Message, receive: Receive, send: Send) -> None:
    await start(send)
    await body(send, b"one ", more=True)
    await body(send, b"", more=True)
    await body(send, b"two")


def test_a_body_of_unknown_length_is_chunked_and_the_connection_stays_open() -> None:
    assert replies(stream_two, get() * 2).count(b"\r\n\r\n4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n") == 2


def test_an_http_1_0_client_gets_it_until_the_connection_ends() -> None:
    reply = replies(stream_two, get(version="1.0"))
    assert reply.endswith(b"Connection: close\r\n\r\none two")
    assert b"chunked" not in reply


def test_head_and_answers_without_content_have_no_body() -> None:
    async def nothing(scope: Message, receive: Receive, send: Send) -> None:
        await start(send, 204)
        await body(send, b"")

    head, end, rest = replies(stream_two, get(method="HEAD")).partition(b"\r\n\r\n")
    assert (head[:15], end, rest) == (b"HTTP/1.1 200 OK", b"\r\n\r\n", b"")
    reply = replies(nothing, get() * 2)
    assert reply.count(b"HTTP/1.1 204 No Content\r\n") == 2
    assert b"Transfer-Encoding" not in reply


def test_headers_of_the_application_go_before_ours() -> None:
    async def page(scope: Message, receive: Receive, send: Send) -> None:
        headers = (
            (b"content-length", b"2"),
            (b"content-security-policy", b"default-src 'self'"),
            (b"connection", b"x"),
        )
        await start(send, 200, *headers)
        await body(send, b"hi")

    reply = replies(page, get())
    assert reply.lower().count(b"content-security-policy") == 1
    assert b"default-src 'self'" in reply
    assert b"X-Content-Type-Options: nosniff\r\n" in reply
    assert b"Date: " in reply
    assert reply.endswith(b"\r\n\r\nhi")


def test_the_scope_describes_the_request() -> None:
    async def show(scope: Message, receive: Receive, send: Send) -> None:
        kept = {name: scope[name] for name in ("type", "http_version", "method", "scheme", "path", "root_path")}
        shown = {**kept, "raw": scope["raw_path"].decode(), "query": scope["query_string"].decode()}
        headers = [[name.decode(), value.decode()] for name, value in scope["headers"]]
        assert scope["client"][0] == scope["server"][0] == "127.0.0.1"
        await start(send)
        await body(send, json.dumps({**shown, "headers": headers}).encode())

    reply = replies(show, get("/app/%C3%A9%2Fb?q=%20", "X-One: 1", "x-one: 2", method="PUT"))
    assert json.loads(reply[reply.index(b"{") : reply.rindex(b"}") + 1]) == {
        "type": "http",
        "http_version": "1.1",
        "method": "PUT",
        "scheme": "http",
        "path": "/app/é/b",
        "root_path": "/app",
        "raw": "/app/%C3%A9%2Fb",
        "query": "q=%20",
        "headers": [["host", "127.0.0.1"], ["x-one", "1"], ["x-one", "2"]],
    }


@pytest.mark.parametrize("is_chunked", [False, True])
def test_the_application_gets_a_body_while_it_arrives(is_chunked: bool) -> None:
    """The second part is sent only after the application has answered the first."""

    async def echo(scope: Message, receive: Receive, send: Send) -> None:
        await start(send)
        more = True
        while more:
            message = await receive()
            assert message["type"] == "http.request"
            more = message["more_body"]
            await body(send, message["body"], more=more)

    async def ask() -> bytes:
        async with serving(echo) as (_, connect):
            reader, writer = await connect()
            framing = "Transfer-Encoding: chunked" if is_chunked else "Content-Length: 6"
            writer.write(get("/app", framing, method="POST"))
            received = b""
            for part in (b"abc", b"def"):
                writer.write(b"3\r\n%b\r\n" % part if is_chunked else part)
                received += await asyncio.wait_for(reader.readuntil(part), 60)
            writer.write(b"0\r\n\r\n" if is_chunked else b"")
            return received + await asyncio.wait_for(reader.read(), 60)

    assert asyncio.run(ask()).endswith(b"\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n")


def test_a_client_that_waits_for_leave_gets_it_when_the_application_reads() -> None:
    async def length(scope: Message, receive: Receive, send: Send) -> None:
        message = await receive()
        await start(send, 200, (b"content-length", b"1"))
        await body(send, b"%d" % len(message["body"]))

    async def ask() -> bytes:
        async with serving(length) as (_, connect):
            reader, writer = await connect()
            writer.write(get("/app", "Content-Length: 3", "Expect: 100-continue", method="POST"))
            received = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
            writer.write(b"abc")
            writer.write_eof()
            return received + await asyncio.wait_for(reader.read(), 60)

    reply = asyncio.run(ask())
    assert reply.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert reply.endswith(b"\r\n\r\n3")


@pytest.mark.parametrize("sent", [b"Content-Length: 11\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\nb\r\n"])
def test_a_body_beyond_the_limit_of_the_mount_is_refused(sent: bytes) -> None:
    async def read(scope: Message, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    mount = Mount("/app", lambda: http_only(read), BodyLimit(10))
    reply = replies(mount, b"POST /app HTTP/1.1\r\nHost: x\r\n" + sent)
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert reply.endswith(b'{"error":"the body is too large: at most 10 bytes are accepted here"}\n')


def test_a_body_that_is_not_read_is_not_held() -> None:
    """If the application does not read, neither does the server, so that it buffers little."""

    async def ask() -> int:
        reading = asyncio.Event()

        async def read_late(scope: Message, receive: Receive, send: Send) -> None:
            await reading.wait()
            total, more = 0, True
            while more:
                message = await receive()
                total, more = total + len(message["body"]), message["more_body"]
            await start(send)
            await body(send, b"%d" % total)

        mount = Mount("/app", lambda: http_only(read_late), BodyLimit(64 << 20))
        async with serving(mount) as (server, connect):
            reader, writer = await connect()
            writer.write(get("/app", f"Content-Length: {32 << 20}", method="POST") + b"x" * (32 << 20))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(writer.drain(), 1)
            held = server.held
            reading.set()
            assert str(32 << 20).encode() in await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), 60)
            return held

    assert asyncio.run(ask()) < 4 << 20


def test_sending_waits_for_a_client_that_does_not_read() -> None:
    async def ask() -> tuple[int, int]:
        sent = 0

        async def pour(scope: Message, receive: Receive, send: Send) -> None:
            nonlocal sent
            await start(send)
            for _ in range(64):
                await body(send, b"x" * (1 << 20), more=True)
                sent += 1
            await body(send, b"")

        async with serving(pour) as (_, connect):
            reader, writer = await connect()
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(get())
            await asyncio.sleep(1)
            before = sent
            writer.transport.resume_reading()  # type: ignore[attr-defined]
            received = 0
            while received < 64 << 20:
                received += len(await asyncio.wait_for(reader.read(1 << 20), 60))
            return before, sent

    before, after = asyncio.run(ask())
    assert before < 32
    assert after == 64


@pytest.mark.parametrize("is_started", [False, True])
def test_the_application_learns_that_the_client_has_gone(is_started: bool) -> None:
    async def ask() -> list[str]:
        received: list[str] = []
        begun, ended = asyncio.Event(), asyncio.Event()

        async def listen(scope: Message, receive: Receive, send: Send) -> None:
            if is_started:
                await start(send)
            begun.set()
            while "http.disconnect" not in received:
                received.append((await receive())["type"])
            ended.set()

        async with serving(listen) as (_, connect):
            _, writer = await connect()
            writer.write(get())
            await begun.wait()
            writer.close()
            await asyncio.wait_for(ended.wait(), 60)
        return received

    assert asyncio.run(ask()) == ["http.request", "http.disconnect"]


def test_an_application_that_only_sends_is_ended_when_the_client_has_gone() -> None:
    async def ask() -> BaseException:
        failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

        async def pour(scope: Message, receive: Receive, send: Send) -> None:
            await start(send)
            try:
                while True:
                    await body(send, b"data: x\n\n", more=True)
                    await asyncio.sleep(0.01)
            except OSError as error:
                failed.set_result(error)
                raise

        async with serving(pour) as (_, connect):
            reader, writer = await connect()
            writer.write(get())
            await reader.readuntil(b"data")
            writer.close()
            return await asyncio.wait_for(failed, 60)

    assert "closed" in str(asyncio.run(ask()))


@pytest.mark.parametrize("is_reading", [False, True])
def test_stopping_the_server_ends_streams_at_once(is_reading: bool) -> None:
    """`serving` gives running requests an hour when it stops the server; a stream does not get it."""

    async def ask() -> str:
        ended = "not at all"

        async def pour(scope: Message, receive: Receive, send: Send) -> None:
            nonlocal ended
            await start(send)
            try:
                while True:
                    await body(send, b"x" * 1000, more=True)
                    await asyncio.sleep(0.001 if is_reading else 0)
            except asyncio.CancelledError:
                ended = "cancelled"
                raise

        async with serving(pour) as (server, connect):
            reader, writer = await connect()
            writer.write(get())
            await reader.readuntil(b"xxx")
            if not is_reading:
                writer.transport.pause_reading()  # type: ignore[attr-defined]
                await asyncio.sleep(0.5)
            await asyncio.wait_for(server.stop(FOR_EVER), 60)
        return ended

    assert asyncio.run(ask()) == "cancelled"


def test_stopping_the_server_lets_other_answers_be_finished() -> None:
    async def ask() -> bytes:
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def work(scope: Message, receive: Receive, send: Send) -> None:
            begun.set()
            await may_end.wait()
            await start(send)
            await body(send, b"done")

        async with serving(work) as (server, connect):
            reader, writer = await connect()
            writer.write(get())
            await begun.wait()
            stopping = asyncio.ensure_future(server.stop(FOR_EVER))
            await asyncio.sleep(0.2)
            may_end.set()
            reply = await asyncio.wait_for(reader.read(), 60)
            assert await stopping
            return reply

    assert asyncio.run(ask()).endswith(b"\r\n\r\n4\r\ndone\r\n0\r\n\r\n")


def test_an_application_that_fails_is_answered_for() -> None:
    async def fail(scope: Message, receive: Receive, send: Send) -> None:
        raise ValueError("broken")

    async def fail_late(scope: Message, receive: Receive, send: Send) -> None:
        await start(send)
        await body(send, b"one", more=True)
        raise ValueError("broken")

    async def end_early(scope: Message, receive: Receive, send: Send) -> None:
        await start(send)

    async def be_short(scope: Message, receive: Receive, send: Send) -> None:
        await start(send, 200, (b"content-length", b"5"))
        await body(send, b"one")

    async def inject(scope: Message, receive: Receive, send: Send) -> None:
        await start(send, 200, (b"x", b"a\r\nSet-Cookie: b"))

    assert replies(fail, get()).startswith(b"HTTP/1.1 500 ")
    assert replies(inject, get()).count(b"Set-Cookie") == 0
    for application in (fail_late, end_early):
        assert not replies(application, get()).endswith(b"0\r\n\r\n")
    assert not replies(be_short, get() * 2).endswith(b"one")


def test_the_lifespan_begins_with_the_first_request_and_runs_once() -> None:
    seen: list[str] = []

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            scope["state"]["greeting"] = b"hello"
            for _ in range(2):
                message = await receive()
                seen.append(message["type"])
                await send({"type": message["type"] + ".complete"})
            return
        seen.append("request")
        await start(send)
        await body(send, scope["state"]["greeting"])

    def make() -> Application:
        seen.append("made")
        return application

    async def ask() -> None:
        async with serving(Mount("/app", make)) as (_, connect):
            assert seen == []

            async def one() -> None:
                reader, writer = await connect()
                writer.write(get())
                await asyncio.wait_for(reader.readuntil(b"hello"), 60)

            await asyncio.gather(*(one() for _ in range(3)))

    asyncio.run(ask())
    assert seen == ["made", "lifespan.startup", "request", "request", "request", "lifespan.shutdown"]


def test_an_application_that_cannot_start_says_why_and_is_tried_again() -> None:
    attempts = 0

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        nonlocal attempts
        if scope["type"] == "lifespan":
            attempts += 1
            await receive()
            if attempts == 1:
                await send({"type": "lifespan.startup.failed", "message": "no templates"})
            else:
                await send({"type": "lifespan.startup.complete"})
                await receive()
                await send({"type": "lifespan.shutdown.complete"})
            return
        await start(send)
        await body(send, b"fine")

    async def ask() -> list[bytes]:
        async with serving(Mount("/app", lambda: application)) as (_, connect):
            got = []
            for _ in range(2):
                reader, writer = await connect()
                writer.write(get("/app", "Connection: close"))
                got.append(await asyncio.wait_for(reader.read(), 60))
            return got

    first, second = asyncio.run(ask())
    assert first.startswith(b"HTTP/1.1 503 ")
    assert b"The application at /app did not start: no templates." in first
    assert b"fine" in second


@contextlib.asynccontextmanager
async def daemon_app(folder: Path, mount: Mount, token: str = "") -> AsyncIterator[tuple[str, int]]:
    """The address of a server with the daemon's own application, and this mount in it."""
    path = folder / "engram.db"
    database.prepare(path)
    with contextlib.closing(Shared(path)) as shared, contextlib.closing(Lanes(shared)) as lanes:
        app = App([], [], lanes, build_guard("127.0.0.1", token), Metrics(), pytest.fail, [mount])
        server = HttpServer()
        listening = socket.create_server(("127.0.0.1", 0))
        await server.listen(listening, app)
        yield listening.getsockname()
        await asyncio.wait_for(server.stop(FOR_EVER), 60)
        await app.close()


async def ask_app(address: tuple[str, int], request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request)
    writer.write_eof()
    reply = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    return reply


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (get("/app/x", "Authorization: Bearer " + "t" * 20), 200),
        (get("/app", "Authorization: Bearer " + "t" * 20), 200),
        (get("/app/x"), 401),
        (get("/app/x", "Authorization: Bearer " + "t" * 20, "Origin: https://example.com"), 403),
        (get("/app/x", "Authorization: Bearer " + "t" * 20, "Sec-Fetch-Site: cross-site"), 403),
        (get("/app/x", "Authorization: Bearer " + "t" * 20).replace(b"127.0.0.1", b"example.com"), 403),
        (get("/apple", "Authorization: Bearer " + "t" * 20), 404),
        (get("/app//x", "Authorization: Bearer " + "t" * 20), 307),
    ],
)
def test_the_guard_and_the_path_decide_before_the_application_is_made(
    tmp_path: Path, request_: bytes, status: int
) -> None:
    made: list[bool] = []

    def make() -> Application:
        made.append(True)
        return http_only(stream_two)

    async def ask() -> bytes:
        async with daemon_app(tmp_path, Mount("/app", make), "t" * 20) as address:
            return await ask_app(address, request_)

    reply = asyncio.run(ask())
    assert reply.startswith(b"HTTP/1.1 %d " % status)
    assert bool(made) == (status == 200)


def test_a_prefix_is_a_path_without_a_slash_at_its_end() -> None:
    for prefix in ("", "/", "app", "/app/"):
        with pytest.raises(InvalidArgument):
            Mount(prefix, lambda: http_only(stream_two))


def test_a_starlette_application_works_below_its_prefix(tmp_path: Path) -> None:
    """Imported and started at its first request: pages, forms, events that end with their client, and redirects."""
    ended = asyncio.Event()

    def make() -> Application:
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse, Response, StreamingResponse
        from starlette.routing import Route

        async def page(request: Request) -> Response:
            return PlainTextResponse(f"{request.url.path} {request.query_params['q']}")

        async def post(request: Request) -> Response:
            return PlainTextResponse(str(len(await request.body())))

        async def events(request: Request) -> Response:
            async def forever() -> AsyncIterator[str]:
                try:
                    yield "data: one\n\n"
                    await asyncio.Event().wait()
                finally:
                    ended.set()

            return StreamingResponse(forever(), media_type="text/event-stream")

        routes = [Route("/page", page), Route("/post", post, methods=["POST"]), Route("/events", events)]
        return Starlette(routes=routes)

    async def ask() -> list[bytes]:
        async with daemon_app(tmp_path, Mount("/ui", make)) as address:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(get("/ui/events"))
            await asyncio.wait_for(reader.readuntil(b"data: one\n\n"), 60)
            writer.close()
            await asyncio.wait_for(ended.wait(), 60)
            sent = get("/ui/post", "Content-Length: 300000", method="POST") + b"x" * 300_000
            return [await ask_app(address, each) for each in (get("/ui/page?q=a"), sent, get("/ui/none"))]

    page, post, none = asyncio.run(ask())
    assert page.endswith(b"\r\n\r\n/ui/page a")
    assert post.endswith(b"\r\n\r\n300000")
    assert none.startswith(b"HTTP/1.1 404 ")
