"""Waiting writes are committed together, as if each came alone, and a failing one does not affect the others."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from anamnesis.engram import database, observations, sessions
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.shared import Shared
from anamnesis.web import writer
from anamnesis.web.lanes import Lane, Lanes
from anamnesis.web.message import Request, Response


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "engram.db"
    database.prepare(place)
    return place


@pytest.fixture
def db(path: Path) -> Iterator[sqlite3.Connection]:
    opened = database.connect(path)
    yield opened
    opened.close()


def failed(error: Exception) -> Response:
    return Response(500, str(error).encode())


def save(requests: Sequence[Request], db: sqlite3.Connection) -> list[Response]:
    """Save an observation for each request: its path is the session, its body the title."""
    responses = []
    for request in requests:
        try:
            observations.add(db, NewObservation(request.path, request.body.decode(), "c"))
            responses.append(Response(201))
        except database.Refused as refused:
            responses.append(Response(500, refused.message.encode()))
    return responses


def ask(session: str = "s", title: str = "t") -> Request:
    return Request("POST", session, body=title.encode())


async def held(lanes: Lanes) -> tuple[asyncio.Future[Response], threading.Event]:
    """A transaction that has begun and goes on until the event is set."""
    begun, may_end = threading.Event(), threading.Event()

    def hold(*_: object) -> list[Response]:
        begun.set()
        may_end.wait(30)
        return [Response(200)]

    first = lanes.write(hold, ask(), failed)
    await asyncio.to_thread(begun.wait, 30)
    return first, may_end


def test_requests_during_a_transaction_form_the_next_one(path: Path, db: sqlite3.Connection) -> None:
    sessions.create(db, "s", "p")

    async def write() -> tuple[list[int], int, int]:
        lanes = Lanes(Shared(path))
        try:
            first, may_end = await held(lanes)
            names = ["s" if number % 10 else "nobody" for number in range(100)]
            waiting = [lanes.write(save, ask(name, str(n)), failed) for n, name in enumerate(names)]
            may_end.set()
            replies = await asyncio.gather(first, *waiting)
            return [each.status for each in replies[1:]], lanes.writer.transactions, lanes.writer.changes
        finally:
            lanes.close()

    statuses, transactions, changes = asyncio.run(write())
    assert statuses == [500 if number % 10 == 0 else 201 for number in range(100)]
    assert (transactions, changes) == (2, 101)
    assert len(observations.recent(db, limit=1000)) == 90


def test_nothing_is_answered_before_it_is_committed(path: Path, db: sqlite3.Connection) -> None:
    sessions.create(db, "s", "p")

    async def write() -> None:
        lanes = Lanes(Shared(path))
        try:
            for number in range(50):
                waiting = [lanes.write(save, ask("s", f"{number}-{each}"), failed) for each in range(5)]
                for answered in asyncio.as_completed(waiting):
                    assert (await answered).status == 201
                assert len(observations.recent(db, limit=1000)) == (number + 1) * 5
        finally:
            lanes.close()

    asyncio.run(write())


def test_every_client_of_a_failed_commit_gets_the_error(path: Path, db: sqlite3.Connection) -> None:
    def damage(requests: Sequence[Request], db: sqlite3.Connection) -> list[Response]:
        db.execute("PRAGMA defer_foreign_keys = ON")
        db.execute("INSERT INTO user_prompts (session_id, content) VALUES ('nobody', 'c')")
        return [Response(201) for _ in requests]

    async def write() -> list[int]:
        lanes = Lanes(Shared(path))
        try:
            first, may_end = await held(lanes)
            waiting = [lanes.write(damage, ask(), failed) for _ in range(3)]
            may_end.set()
            return [each.status for each in await asyncio.gather(first, *waiting)]
        finally:
            lanes.close()

    assert asyncio.run(write()) == [200, 500, 500, 500]
    assert db.execute("SELECT count(*) FROM user_prompts").fetchone() == (0,)


def test_a_write_is_answered_before_its_follow_up_and_the_next_write_after_it(
    path: Path, db: sqlite3.Connection
) -> None:
    sessions.create(db, "s", "p")
    may_end = threading.Event()
    done: list[str] = []

    def work(answer: Callable[[], None]) -> None:
        answer()
        may_end.wait(30)
        done.append("work")

    async def write() -> list[int]:
        lanes = Lanes(Shared(path), work)
        try:
            first = await lanes.write(save, ask("s", "first"), failed)
            assert done == []
            waiting = lanes.write(save, ask("s", "second"), failed)
            may_end.set()
            second = await waiting
            assert "work" in done
            return [first.status, second.status]
        finally:
            lanes.close()

    assert asyncio.run(write()) == [201, 201]
    assert done == ["work", "work"]


def test_postponed_work_is_flushed_before_a_call_when_idle_and_at_the_end(path: Path, db: sqlite3.Connection) -> None:
    sessions.create(db, "s", "p")
    done: list[str] = []
    is_flushed = threading.Event()

    def flush() -> None:
        done.append("flush")
        is_flushed.set()

    async def write() -> None:
        lanes = Lanes(Shared(path), lambda _: done.append("write"), flush)
        try:
            await lanes.write(save, ask("s", "first"), failed)
            assert await asyncio.to_thread(is_flushed.wait, 30)
            done.clear()
            changed, called = lanes.write(save, ask("s", "second"), failed), lanes.call(Lane.WRITE, done.copy)
            await changed
            assert (await called)[-1] == "flush"
            done.clear()
            await lanes.write(save, ask("s", "third"), failed)
        finally:
            await asyncio.to_thread(lanes.close)
        assert done[-1] == "flush"

    asyncio.run(write())


def test_clients_that_were_answered_together_are_waited_for(
    path: Path, db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sends its next request a moment after the answer: one transaction for all costs less than two."""
    sessions.create(db, "s", "p")
    monkeypatch.setattr(writer, "_GATHERING_SECONDS", 60.0)
    monkeypatch.setattr(writer, "_QUIET_SECONDS", 60.0)

    async def write() -> int:
        lanes = Lanes(Shared(path))
        try:
            first, may_end = await held(lanes)
            waiting = [lanes.write(save, ask("s", f"before {each}"), failed) for each in range(3)]
            may_end.set()
            await asyncio.gather(first, *waiting)
            begun = lanes.writer.transactions
            after = [lanes.write(save, ask("s", f"after {each}"), failed) for each in range(2)]
            assert not (await asyncio.wait(after, timeout=0.05))[0]
            await asyncio.gather(*after, lanes.write(save, ask("s", "the last"), failed))
            return lanes.writer.transactions - begun
        finally:
            lanes.close()

    assert asyncio.run(write()) == 1
