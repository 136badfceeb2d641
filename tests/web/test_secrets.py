"""No route lets a secret into engram.db, and none lets one out with an export."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.daemon import Daemon, Reply

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HIDDEN = "[REDACTED:github-token]"
SESSION = f"session {TOKEN}"
PROJECT = f"https://someone:{TOKEN}@example.org/p"


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Daemon]:
    started = Daemon(tmp_path, ANAMNESIS_ENGRAM_STRICT="1", ANAMNESIS_BRIDGE="off")
    yield started
    assert started.stop() == (0, "")


def post(daemon: Daemon, path: str, method: str = "POST", **body: object) -> Reply:
    reply = daemon.ask(method, path, json.dumps(body))
    assert reply.status in (200, 201), reply.text
    return reply


def told(reply: Reply) -> str | None:
    return reply.headers.get("x-anamnesis-redacted")


def stored(home: Path) -> str:
    """Every text of every table, in lower case, as project names are."""
    with contextlib.closing(sqlite3.connect(home / "engram.db")) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return repr([db.execute(f"SELECT * FROM {name}").fetchall() for name in names]).lower()


def write_everywhere(daemon: Daemon) -> list[Reply]:
    """Write the token through every route that stores a text."""
    text = f"use {TOKEN} here"
    row: dict[str, Any] = {
        "id": 7, "sync_id": "obs-00000000000000aa", "session_id": f"other {TOKEN}", "type": text, "title": text,
        "content": text, "tool_name": text, "project": text, "scope": "project", "topic_key": text,
        "revision_count": 1, "duplicate_count": 1, "created_at": "2026-01-01 00:00:00",
        "updated_at": "2026-01-01 00:00:00",
    }  # fmt: skip
    session = {"id": f"other {TOKEN}", "project": text, "directory": text, "started_at": "2026-01-01", "summary": text}
    prompt = {
        "id": 1, "sync_id": "prompt-00aa", "session_id": f"other {TOKEN}", "content": text, "project": text,
        "created_at": "2026-01-01 00:00:00",
    }  # fmt: skip
    observation = {"session_id": SESSION, "title": text, "content": text, "type": text, "tool_name": text}
    return [
        post(daemon, "/sessions", id=SESSION, project=PROJECT, directory=f"/work/{TOKEN}"),
        post(daemon, "/observations", **observation, project=PROJECT, topic_key=text),
        post(daemon, "/observations/1", "PATCH", title=f"new {text}", content=f"new {text}", project=PROJECT),
        post(
            daemon,
            "/observations/passive",
            session_id=SESSION,
            content=f"## Key Learnings:\n\n1. The deployment has to use {TOKEN} for now\n",
            source=text,
        ),
        post(daemon, "/prompts", session_id=SESSION, content=text, project=PROJECT),
        post(daemon, f"/sessions/session%20{TOKEN}/end", summary=text),
        post(daemon, "/import", version="0.1.0", sessions=[session], observations=[row], prompts=[prompt]),
        post(daemon, "/projects/migrate", old_project=f"use {HIDDEN} here".lower(), new_project=f"p {TOKEN}"),
    ]


def test_no_route_stores_a_secret_and_each_names_its_kind(daemon: Daemon) -> None:
    replies = write_everywhere(daemon)
    kinds = [told(reply) for reply in replies]
    assert all(kind and "github-token" in kind.split(", ") for kind in kinds), kinds
    assert TOKEN.lower() not in stored(daemon.home)
    assert json.loads(replies[1].body) == {"id": 1, "status": "saved"}


def test_a_session_is_the_same_one_wherever_its_id_is_given(daemon: Daemon) -> None:
    write_everywhere(daemon)
    with contextlib.closing(sqlite3.connect(daemon.home / "engram.db")) as db:
        rows = db.execute(
            "SELECT session_id FROM observations WHERE id < 3 UNION ALL SELECT session_id FROM user_prompts"
        )
        assert {id for (id,) in rows} == {f"session {HIDDEN}", f"other {HIDDEN}"}
        ended = db.execute("SELECT ended_at FROM sessions WHERE id = ?", (f"session {HIDDEN}",)).fetchone()
    assert ended
    assert ended[0]
    found = daemon.ask("GET", f"/sessions/session%20{TOKEN}")
    assert json.loads(found.body)["id"] == f"session {HIDDEN}"
    listed = daemon.ask("GET", "/observations/recent?project=https://someone:" + TOKEN + "@example.org/p")
    assert [each["id"] for each in json.loads(listed.body)] == [1]


def test_the_secret_of_a_text_that_is_cut_does_not_survive_in_half(daemon: Daemon) -> None:
    post(daemon, "/sessions", id="s", project="p")
    content = "x " * 24_990 + TOKEN + " end"
    assert told(post(daemon, "/observations", session_id="s", title="t", content=content)) == "github-token"
    assert TOKEN[:12].lower() not in stored(daemon.home)


def test_a_request_without_a_secret_is_answered_as_before(daemon: Daemon) -> None:
    post(daemon, "/sessions", id="s", project="p")
    reply = post(daemon, "/observations", session_id="s", title="t", content="The token is read from the keyring.")
    assert (told(reply), reply.body) == (None, b'{"id":1,"status":"saved"}\n')


def test_many_writes_at_once_name_their_own_secrets_only(daemon: Daemon) -> None:
    post(daemon, "/sessions", id="s", project="p")
    connections = [daemon.connect() for _ in range(16)]
    for number, connection in enumerate(connections):
        content = f"use {TOKEN}" if number % 2 else "plain"
        body = json.dumps({"session_id": "s", "title": f"t{number}", "content": content})
        connection.request("POST", "/observations", body)
    replies = [connection.getresponse() for connection in connections]
    kinds = [reply.getheader("X-Anamnesis-Redacted") for reply in replies]
    assert kinds == [None, "github-token"] * 8
    for connection in connections:
        connection.close()


def test_if_strict_rows_are_stored_as_sent_and_exports_hold_no_secret_all_the_same(strict: Daemon) -> None:
    replies = write_everywhere(strict)
    assert [told(reply) for reply in replies] == [None] * len(replies)
    assert stored(strict.home).count(TOKEN.lower()) > 20
    exported = strict.ask("GET", "/export").text
    assert TOKEN.lower() not in exported.lower()
    rows = json.loads(exported)
    assert {each["session_id"] for each in rows["observations"]} == {each["id"] for each in rows["sessions"]}


def test_a_row_that_engram_wrote_stays_and_its_export_holds_no_secret(daemon: Daemon) -> None:
    post(daemon, "/sessions", id="s", project="p")
    post(daemon, "/observations", session_id="s", title="t", content="c")
    with contextlib.closing(sqlite3.connect(daemon.home / "engram.db")) as db, db:
        db.execute("UPDATE observations SET content = ?", (f"Engram kept {TOKEN}",))
    assert TOKEN in daemon.ask("GET", "/observations/1").text
    assert TOKEN not in daemon.ask("GET", "/export").text
