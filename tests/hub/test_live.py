"""Changes as they happen: each client is told of its own spaces, also after the database was away."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from tests.hub.running import Client, RunningHub, text_of
from tests.waiting import wait_until

from anamnesis.hub import accounts
from anamnesis.hub.database import administrator


@contextmanager
def following(client: Client) -> Iterator[Iterator[tuple[str, Any]]]:
    """The events of a client."""
    parts = urlsplit(client.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    connection.request("GET", "/v1/live", headers={"Authorization": f"Bearer {client.token}"})
    answer = connection.getresponse()
    assert answer.status == 200 and answer.getheader("content-type", "").startswith("text/event-stream")

    def events() -> Iterator[tuple[str, Any]]:
        kind = ""
        while line := answer.readline().decode().rstrip("\n"):
            if line.startswith("event: "):
                kind = line[7:]
            if line.startswith("data: "):
                yield kind, json.loads(line[6:])
            if line.startswith(("data: ", ":")):
                answer.readline()

    try:
        yield events()
    finally:
        answer.close()
        connection.close()


def test_a_client_is_told_of_its_own_spaces_and_of_no_other(running: RunningHub) -> None:
    you, mate = running.user("you", core="writer"), running.user("mate", core="reader")
    with following(mate) as events:
        assert {next(events)[1]["space"], next(events)[1]["space"]} == {"core", "~mate"}
        you.put("~you", "OWN", text_of("OWN"))
        you.put("core", "N1", text_of("N1"))
        assert next(events) == ("change", {"space": "core", "seq": 1})


def test_a_stream_goes_on_after_the_database_was_away(running: RunningHub) -> None:
    you = running.user("you", core="writer")
    with following(you) as events:
        next(events), next(events)
        with administrator(running.database) as db:
            query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            db.execute(query + " AND datname = current_database() AND query LIKE 'LISTEN%'")
        you.put("core", "N1", text_of("N1"))
        assert next(events) == ("change", {"space": "core", "seq": 1})


def test_a_revoked_token_ends_the_stream_and_a_lost_role_is_said(running: RunningHub) -> None:
    you, mate = running.user("you", core="writer"), running.user("mate", core="reader", docs="reader")
    with following(mate) as events:
        for _ in range(3):
            next(events)
        with administrator(running.database) as db:
            accounts.remove_member(db, accounts.find_space(db, "docs"), "mate")
        you.put("core", "N1", text_of("N1"))
        assert {next(events)[0], next(events)[0]} == {"change", "gone"}
        with administrator(running.database) as db:
            for token in accounts.list_tokens(db, accounts.find_user(db, "mate")):
                accounts.revoke_token(db, token["id"])
        you.put("core", "N1", text_of("N1", "Changed."), 1)
        assert next(events)[0] == "end"
    wait_until(lambda: not running.hub.live._clients)
    assert Client(running.url, "anh_" + "x" * 43)("/v1/live").status == 401
