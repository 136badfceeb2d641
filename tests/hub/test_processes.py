"""Real server processes: two on one database, one killed in the middle, the database away and back, a graceful end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.hub.running import Client, RunningHub, text_of
from tests.postgres import Postgres, binaries
from tests.waiting import wait_until

from anamnesis.hub.database import administrator


@contextmanager
def served(database: str, folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server in a process of its own: its address, and the process."""
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "ANAMNESIS_HOME": str(folder),
        "ANAMNESIS_HUB_DATABASE": database,
        "ANAMNESIS_HUB_KEY": "tests" * 8,
        "PYTHONWARNINGS": "error",
    }
    command = [sys.executable, "-m", "anamnesis", "hub", "serve", "--port", "0", "--json", *options]
    process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    with process.stdout:
        try:
            yield json.loads(process.stdout.readline())["url"], process
        finally:
            process.kill()
            process.wait()


def test_two_processes_serve_one_database_and_one_of_them_dies(running: RunningHub, tmp_path: Path) -> None:
    """What was acknowledged by either is there; what the killed one was doing is not half done, and holds no lock."""
    you = running.user("you", core="writer")
    with ExitStack() as stack:
        (first, killed), (second, _) = (stack.enter_context(served(running.database, tmp_path)) for _ in range(2))
        here, there = Client(first, you.token), Client(second, you.token)
        assert here.put("core", "N1", text_of("N1"))["version"] == 1
        assert there.put("core", "N1", text_of("N1", "Changed."), base=1)["version"] == 2
        assert here.sync()["core"]["changes"] == there.sync()["core"]["changes"]

        with administrator(running.database) as db, ThreadPoolExecutor() as pool:
            db.execute("SELECT FROM anamnesis.spaces WHERE name = 'core' FOR UPDATE")
            lost = pool.submit(here.put, "core", "N2", text_of("N2"))
            wait_until(running.waiting)
            killed.send_signal(signal.SIGKILL)  # in the middle of the request
            with pytest.raises(OSError):
                lost.result()
        assert there.put("core", "N3", text_of("N3"))["version"] in (3, 4)
        ids = {each["id"] for each in there.sync()["core"]["changes"]}
        assert {"N1", "N3"} <= ids <= {"N1", "N2", "N3"}
        with administrator(running.database) as db:
            torn = """
                SELECT FROM anamnesis.versions v FULL JOIN anamnesis.notes n USING (space, id)
                WHERE v.id IS NULL OR n.id IS NULL
            """
            assert db.execute(torn.encode()).fetchall() == []


def test_a_signal_ends_the_server_when_its_requests_are_answered(running: RunningHub, tmp_path: Path) -> None:
    you = running.user("you", core="writer")
    with served(running.database, tmp_path) as (url, process):
        client = Client(url, you.token)
        with administrator(running.database) as db, ThreadPoolExecutor() as pool:
            db.execute("SELECT FROM anamnesis.spaces WHERE name = 'core' FOR UPDATE")
            slow = pool.submit(client.put, "core", "N1", text_of("N1"))
            wait_until(running.waiting)
            process.send_signal(signal.SIGTERM)
            host, port = url.removeprefix("http://").split(":")
            wait_until(lambda: not _accepts(host, int(port)))
            db.rollback()
            assert slow.result()["version"] == 1
        assert process.wait(60) == 0


def _accepts(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port)).close()
    except OSError:
        return False
    return True


def test_a_database_that_is_away_is_a_sentence_and_when_it_is_back_the_server_goes_on() -> None:
    own = Postgres(binaries())  # one that may be stopped
    try:
        with RunningHub(own.new_hub(), wait=2) as hub:
            you = hub.user("you")
            assert you.put("~you", "N1", text_of("N1"))["version"] == 1
            own.stop()
            away = you("/v1/me")
            assert (away.status, away.json["hint"]) == (503, "Try again in a moment; nothing was changed.")
            assert (you("/healthz").status, you("/readyz").status) == (200, 503)
            own.start()
            wait_until(lambda: you("/readyz").status == 200)
            assert you.put("~you", "N2", text_of("N2"))["version"] == 2
            own.stop(signal.SIGQUIT)  # a crash
            own.start()
            wait_until(lambda: you("/readyz").status == 200)
            assert len(you.sync()["~you"]["changes"]) == 2
    finally:
        own.remove()


def test_revocation_holds_at_once_on_connections_that_are_open(running: RunningHub) -> None:
    you = running.user("you")
    assert you("/v1/me").status == 200
    with administrator(running.database) as db:
        db.execute("UPDATE anamnesis.tokens SET revoked = now()")
    assert you("/v1/me").status == 401
    other = running.user("you")
    with administrator(running.database) as db:
        db.execute("UPDATE anamnesis.tokens SET expires = now() - interval '1 second' WHERE revoked IS NULL")
    assert other("/v1/me").status == 401


def test_a_client_that_hangs_up_does_not_stop_its_change(running: RunningHub) -> None:
    you = running.user("you", core="writer")
    body = json.dumps({"machine": "desk", "changes": [{"space": "core", "id": "N1", "base": 0, "text": text_of("N1")}]})
    host, port = running.url.removeprefix("http://").split(":")
    head = f"POST /v1/changes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {you.token}\r\nContent-Length: {len(body)}"
    with administrator(running.database) as db:
        db.execute("SELECT FROM anamnesis.spaces WHERE name = 'core' FOR UPDATE")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f"{head}\r\n\r\n{body}".encode())
            wait_until(running.waiting)
    wait_until(lambda: you.sync()["core"]["changes"])


def test_the_last_use_of_a_token_is_noted_to_the_minute_and_many_at_once_do_not_wait(running: RunningHub) -> None:
    you = running.user("you")
    with ThreadPoolExecutor() as pool:
        assert {*pool.map(lambda _: you("/v1/me").status, range(8))} == {200}
    with administrator(running.database) as db:
        used = db.execute("SELECT extract(second FROM used) AS seconds FROM anamnesis.tokens").fetchall()
    assert used == [{"seconds": 0}]


def test_requests_beyond_the_limit_are_refused_with_the_time_to_wait(running: RunningHub) -> None:
    running.hub.limits.token.burst, running.hub.limits.token.rate = 1, 0.001
    you = running.user("you")
    statuses = [you("/v1/me") for _ in range(3)]
    refused = [each for each in statuses if each.status == 429]
    assert refused[0].json["error"] == "Too many requests."
    assert [each.status for each in statuses] == [200, 429, 429]
    assert 900 < int(refused[0].headers["retry-after"]) <= 1000
