"""Batched changes are answered as if each had come alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engram.rows import assert_sound
from tests.web.daemon import Daemon, Reply

from anamnesis.engram import database, sessions
from anamnesis.engram.shared import Shared
from anamnesis.web import engram_read_routes, engram_write_routes
from anamnesis.web.app import App
from anamnesis.web.engram_request import bound
from anamnesis.web.guard import build_guard
from anamnesis.web.lanes import Lanes
from anamnesis.web.message import Headers, Request, Response
from anamnesis.web.metrics import Metrics
from anamnesis.web.mount import Mount

Answers = list[tuple[int, object]]

ROUTES = (*engram_read_routes.ROUTES, *engram_write_routes.ROUTES)
_HEADERS = Headers([("host", "127.0.0.1")])
FOREIGN_KEY = "constraint failed: FOREIGN KEY constraint failed (787)"


def post(path: str, **body: str) -> Request:
    return Request("POST", path, headers=_HEADERS, body=json.dumps(body).encode())


# A content is of one topic at the most: among several equal ones the second in which they were written would decide.
posts = st.one_of(
    st.builds(
        lambda session, title, topic: post(
            "/observations", session_id=session, title=title, content=f"about {topic}", topic_key=topic
        ),
        st.sampled_from(["s", "s", "s", "s", "nobody"]),
        st.sampled_from(["one", "two", "three", "", "<private>x</private>"]) | st.text(min_size=1, max_size=3),
        st.sampled_from(["", "", "", "a", "b"]),
    ),
    st.builds(lambda number: post("/sessions/s/end", summary=str(number)), st.integers(0, 3)),
    st.sampled_from([b"", b"{", b"null", b'{"title": 5}', b'{"session_id": "s"}']).map(
        lambda body: Request("POST", "/observations", headers=_HEADERS, body=body)
    ),
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "engram.db"
    database.prepare(path)
    with contextlib.closing(database.connect(path)) as db:
        sessions.create(db, "s", "p")
    return path


def answers(template: Path, requests: Sequence[Request], *, are_together: bool) -> tuple[Answers, list[object]]:
    """What the daemon's app answers, and what is in engram.db afterwards, without times and random identities."""
    with TemporaryDirectory() as folder:
        path = Path(shutil.copy(template, folder))
        replies = asyncio.run(_answer(path, requests, are_together=are_together))
        with contextlib.closing(database.connect(path)) as db:
            assert_sound(db)
            return [(each.status, each.body) for each in replies], _rows(db)


def _rows(db: sqlite3.Connection) -> list[object]:
    return [
        *db.execute("SELECT id, title, content, topic_key, revision_count, duplicate_count FROM observations"),
        *db.execute("SELECT seq, entity, op, json_remove(payload, '$.sync_id', '$.ended_at') FROM sync_mutations"),
        *db.execute("SELECT target_key, lifecycle, last_enqueued_seq FROM sync_state"),
        *db.execute("SELECT * FROM sqlite_sequence ORDER BY name"),
    ]


async def _answer(path: Path, requests: Sequence[Request], *, are_together: bool) -> list[Response]:
    lanes = Lanes(Shared(path))
    app = App(bound(ROUTES), [], lanes, build_guard("127.0.0.1", ""), Metrics(), pytest.fail)

    async def ask(request: Request) -> Response:
        route = app.admit(request)
        assert not isinstance(route, Mount)
        found = route if isinstance(route, Response) else app.respond(request, route)
        return found if isinstance(found, Response) else await found

    try:
        if not are_together:
            return [await ask(request) for request in requests]
        with _held(lanes):
            waiting = [asyncio.ensure_future(ask(request)) for request in requests]
            await asyncio.sleep(0)  # each is asked
        return await asyncio.gather(*waiting)
    finally:
        lanes.close()


@contextlib.contextmanager
def _held(lanes: Lanes) -> Iterator[None]:
    """Let the writer be busy meanwhile, so that what comes gathers."""
    may_end = threading.Event()

    def hold(*_: object) -> list[Response]:
        may_end.wait(60)
        return [Response(200)]

    lanes.write(hold, Request("POST", "/"), lambda _: Response(500))
    try:
        yield
    finally:
        may_end.set()


@settings(max_examples=60)
@given(st.lists(posts, max_size=12))
def test_batched_requests_are_answered_and_saved_as_if_sent_one_by_one(template: Path, requests: list[Request]) -> None:
    together = answers(template, requests, are_together=True)
    assert together == answers(template, requests, are_together=False)


def test_concurrent_posts_each_get_their_own_answer(daemon: Daemon) -> None:
    daemon.ask("POST", "/sessions", json.dumps({"id": "s", "project": "p"}))
    begin = threading.Barrier(32)

    def save(number: int) -> list[Reply]:
        session = "nobody" if number % 8 == 0 else "s"
        begin.wait(60)
        bodies = ({"session_id": session, "title": f"{number}-{each}", "content": "c"} for each in range(10))
        return [daemon.ask("POST", "/observations", json.dumps(body)) for body in bodies]

    with ThreadPoolExecutor(32) as threads:
        replies = list(threads.map(save, range(32)))
    for number, row in enumerate(replies):
        for each, reply in enumerate(row):
            if number % 8 == 0:
                assert (reply.status, json.loads(reply.body)) == (500, {"error": FOREIGN_KEY})
            else:
                assert reply.status == 201
                saved = daemon.ask("GET", f"/observations/{json.loads(reply.body)['id']}")
                assert json.loads(saved.body)["title"] == f"{number}-{each}"
    assert json.loads(daemon.ask("GET", "/stats").body)["total_observations"] == 28 * 10
