"""A hub that serves on loopback, in a thread of the test, and clients of it."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from typing import Any, NamedTuple, Self

import uvicorn
from tests.postgres import KEY
from tests.waiting import wait_until

from anamnesis.hub import accounts
from anamnesis.hub.app import build
from anamnesis.hub.database import Database, administrator
from anamnesis.hub.routes import Hub
from anamnesis.hub.serving import listen
from anamnesis.hub.tenancy import implied
from anamnesis.notes import Memory, render


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Requests with one token."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self.token = token

    def __call__(self, path: str, body: Any = None, method: str = "") -> Answer:
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        headers = {"Accept": "application/json, text/event-stream"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + path, data, headers, method=method or None)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return Answer(answer.status, answer.read(), dict(answer.headers))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.read(), dict(error.headers))

    def sync(self, limit: int = 500, **cursors: int) -> Any:
        """The spaces' changes; the cursor of a personal space is given as `own`."""
        if "own" in cursors:
            cursors[f"~{self('/v1/me').json['user']}"] = cursors.pop("own")
        return self("/v1/sync", {"machine": "desk", "cursors": cursors, "limit": limit}).json["spaces"]

    def put(self, space: str, id: str, text: str | None, base: int = 0) -> dict[str, Any]:
        """What became of one change."""
        change = {"space": space, "id": id, "base": base, "text": text}
        answer = self("/v1/changes", {"machine": "desk", "changes": [change]})
        assert answer.status == 200, answer.body
        (result,) = answer.json["results"]
        return dict(result)


class RunningHub:
    """A hub of its own database, with users that have tokens."""

    def __init__(self, database: str, connections: int = 4, wait: float = 60, port: int = 0) -> None:
        """A request waits for the database for so many seconds, on a busy machine too."""
        self.database = database
        self.hub = Hub(Database(database, connections, wait), KEY)
        listener = listen("127.0.0.1", port)
        self.address: tuple[str, int] = listener.getsockname()
        self.url = f"http://127.0.0.1:{self.address[1]}"
        config = uvicorn.Config(build(self.hub), log_config=None, lifespan="off", timeout_graceful_shutdown=5)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listener],))
        self._thread.start()
        wait_until(lambda: self._server.started)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self.hub.live.end()
        self._thread.join()
        self.hub.live.__exit__()
        self.hub.database.close()

    def waiting(self) -> int:
        """How many transactions wait for a lock."""
        with administrator(self.database) as db:
            query = "SELECT count(*) AS waiting FROM pg_locks WHERE NOT granted"
            return int((db.execute(query).fetchone() or {})["waiting"])

    def user(self, name: str, scope: str = "write", **spaces: str) -> Client:
        """A client of a new or known user with these roles; spaces that are not there are made."""
        with administrator(self.database) as db:
            known = {each["name"] for each in accounts.list_users(db)}
            user = accounts.find_user(db, name) if name in known else accounts.add_user(db, name)
            there = {each["name"] for each in accounts.list_spaces(db)}
            for space, role in spaces.items():
                found = accounts.find_space(db, space) if space in there else accounts.add_space(db, space)
                accounts.set_member(db, found, user, role)
            _, token = accounts.create_token(db, KEY, user, "test", implied(scope))
        return Client(self.url, token)


def text_of(id: str, body: str = "Some words.", title: str = "A note", **fields: Any) -> str:
    """The text of a note."""
    moment = "2026-11-16T09:30:00+00:00"
    usual = {"type": "semantic", "machine_id": "desk", "created_at": moment, "updated_at": moment}
    return render(Memory(id=id, title=title, body=body, **{**usual, **fields}))
