"""Members share a server: none keeps the others waiting, and strangers cannot make it read what it then refuses."""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest
from tests.hub.running import Client, RunningHub, text_of
from tests.hub.test_live import following
from tests.waiting import wait_until

from anamnesis.hub.database import administrator
from anamnesis.hub.refusal import TooMany
from anamnesis.hub.sharing import MOST_BODY_BYTES, SMALL_BYTES, Sharing

MADE_UP = "anh_" + "x" * 43


@contextmanager
def beginning(hub: RunningHub, path: str, token: str, length: str, *headers: str) -> Iterator[socket.socket]:
    """A connection that has sent the head of a request, and nothing of its body."""
    lines = [f"POST {path} HTTP/1.1", "Host: hub", f"Authorization: Bearer {token}", length, *headers]
    with socket.create_connection(hub.address) as connection:
        connection.settimeout(30)
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        yield connection


def status(connection: socket.socket) -> int:
    return int(connection.recv(65536).split()[1])


def test_requests_of_one_member_that_wait_for_a_lock_leave_places_to_the_others(running: RunningHub) -> None:
    writer, other = running.user("writer", core="writer"), running.user("other")
    with ThreadPoolExecutor(12) as pool:
        with administrator(running.database) as db:
            db.execute("SELECT FROM anamnesis.spaces WHERE name = 'core' FOR UPDATE")
            sent = [pool.submit(writer.put, "core", f"N{number}", text_of(f"N{number}")) for number in range(12)]
            wait_until(running.waiting)
            assert [other(path).status for path in ("/v1/me", "/v1/search?q=x", "/ui/notes")] == [200] * 3
            assert other.put("~other", "N1", text_of("N1"))["version"] == 1
            assert running.waiting() == 2  # of four places
        assert sorted(each.result()["version"] for each in sent) == [*range(1, 13)]


@pytest.mark.parametrize("path", ["/v1/sync", "/v1/changes", "/mcp", "/ui/device", "/ui/tokens/1/revoke"])
@pytest.mark.parametrize("length", ["Content-Length: 9000000", "Transfer-Encoding: chunked"])
def test_nothing_of_a_body_is_read_before_the_token_is_known_to_be_valid(
    shared: RunningHub, path: str, length: str
) -> None:
    with beginning(shared, path, MADE_UP, length, "Accept: application/json, text/event-stream") as connection:
        assert status(connection) == 401


@pytest.mark.parametrize("path", ["/v1/device", "/v1/device/token", "/ui/login", "/ui/device"])
@pytest.mark.parametrize("is_chunked", [True, False])
def test_a_login_and_a_form_are_small(shared: RunningHub, path: str, is_chunked: bool) -> None:
    token = shared.user("you").token if path == "/ui/device" else ""
    body = b"x" * (SMALL_BYTES + 1)
    length = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {len(body)}"
    with beginning(shared, path, token, length) as connection:
        connection.sendall(f"{len(body):x}\r\n".encode() + body + b"\r\n" if is_chunked else body)
        assert status(connection) == 413


def test_large_bodies_of_one_member_are_read_one_after_the_other_and_small_ones_meanwhile(running: RunningHub) -> None:
    """As `Expect` shows: the server says that it continues when it begins to read."""
    you, mate = running.user("you"), running.user("mate")
    large = ("Content-Length: 9000000", "Expect: 100-continue")
    with ExitStack() as opened:
        first = opened.enter_context(beginning(running, "/v1/changes", you.token, *large))
        assert status(first) == 100
        second = opened.enter_context(beginning(running, "/v1/changes", you.token, *large))
        theirs = opened.enter_context(beginning(running, "/v1/changes", mate.token, *large))
        assert status(theirs) == 100
        assert you.put("~you", "N1", text_of("N1"))["version"] == 1
        assert not select.select([second], [], [], 0)[0]
        first.close()
        assert status(second) == 100


def test_a_member_has_a_limited_number_of_streams_and_leaves_the_rest_to_others(running: RunningHub) -> None:
    you, mate = running.user("you"), running.user("mate")
    with ExitStack() as opened:
        for _ in range(25):
            next(opened.enter_context(following(you)))
        for path in ("/v1/live", "/ui/live"):
            refused = you(path)
            assert (refused.status, refused.json["error"]) == (429, "Too many of your clients follow changes.")
        assert next(opened.enter_context(following(mate)))[0] == "change"
    wait_until(lambda: not running.hub.live._clients)
    with following(you) as events:
        assert next(events)[0] == "change"


def test_requests_of_a_member_beyond_those_that_may_wait_are_refused_at_once() -> None:
    async def crowd() -> list[str]:
        sharing, go = Sharing(10), asyncio.Event()

        async def ask(member: str) -> str:
            try:
                async with sharing.turn(member):
                    await go.wait()
                    return "done"
            except TooMany as refused:
                return refused.message

        asked = [asyncio.create_task(ask("you")) for _ in range(70)]
        await asyncio.sleep(0)
        other = asyncio.create_task(ask("mate"))
        await asyncio.sleep(0)
        go.set()
        assert await other == "done"
        return [await each for each in asked]

    answers = asyncio.run(crowd())
    assert answers.count("done") == 3 + 64
    assert {*answers} == {"done", "Too many of your requests wait for an answer."}


def test_a_member_of_an_earlier_request_is_not_let_in_with_a_revoked_token(running: RunningHub) -> None:
    you = running.user("you")
    assert you.put("~you", "N1", text_of("N1"))["version"] == 1
    with administrator(running.database) as db:
        db.execute("UPDATE anamnesis.tokens SET revoked = now()")
    assert you("/v1/changes", {"machine": "desk", "changes": []}).status == 401
    assert Client(running.url, you.token)("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}).status == 401


def test_the_bodies_of_all_members_together_take_a_limited_room_and_small_ones_none() -> None:
    async def crowd() -> tuple[list[str], list[str]]:
        sharing, began = Sharing(10), list[str]()
        ends = {f"member {number}": asyncio.Event() for number in range(14)}

        async def send(member: str, size: int) -> None:
            async with sharing.room(member, size):
                began.append(member)
                await ends[member].wait()

        sent = [asyncio.create_task(send(member, MOST_BODY_BYTES)) for member in ends]
        small = asyncio.create_task(send("member 13", SMALL_BYTES))
        await asyncio.sleep(0)
        first = [*began]
        for end in ends.values():
            end.set()
        await asyncio.gather(small, *sent)
        return first, began

    first, began = asyncio.run(crowd())
    assert first == [*(f"member {number}" for number in range(12)), "member 13"]
    assert sorted(began[13:]) == ["member 12", "member 13"]
