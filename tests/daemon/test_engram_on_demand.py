"""A daemon without an engram.db: none is created before a client of Engram has read or written memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import wait_until
from tests.web.daemon import Daemon, environment

from anamnesis.store import MemoryStore

OBSERVATION = {"session_id": "s1", "title": "Giraffe", "content": "tall", "type": "decision", "project": "shop"}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon with one note and no engram.db."""
    with MemoryStore(tmp_path) as store:
        store.write(type="semantic", title="Zebra", body="Zebras cross at the lights.", project="shop")
    started = Daemon(tmp_path)
    yield started
    assert started.stop() == (0, "")


def call(daemon: Daemon, name: str, **arguments: Any) -> str:
    """Call a tool over MCP; its text."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    reply = daemon.ask("POST", "/mcp", json.dumps(message), Content_Type="application/json", Accept="application/json")
    assert reply.status == 200
    result = json.loads(reply.body)["result"]
    assert not result.get("isError"), result
    return str(result["content"][0]["text"])


def post(daemon: Daemon, path: str, body: dict[str, str]) -> int:
    return daemon.ask("POST", path, json.dumps(body)).status


def databases(daemon: Daemon) -> list[str]:
    return sorted(path.name for path in daemon.home.rglob("engram*"))


def titles(daemon: Daemon, words: str) -> list[str]:
    return [each["title"] for each in daemon.ask("GET", f"/search?q={words}").by_words]


def test_nothing_that_is_not_engrams_makes_one(daemon: Daemon) -> None:
    assert json.loads(daemon.ask("GET", "/health").body)["service"] == "engram"
    for path in ("/ready", "/metrics", "/openapi.json", "/sync/status", f"/project/current?cwd={daemon.home}", "/no"):
        assert daemon.ask("GET", path).status in (200, 404)
    call(daemon, "memory_write", type="semantic", title="Lion", body="roars")
    assert "Lion" in call(daemon, "memory_search", query="roars")
    assert "bservation" not in daemon.ask("GET", "/ready").text + daemon.ask("GET", "/metrics").text
    assert databases(daemon) == []


def test_the_first_read_finds_the_notes(daemon: Daemon) -> None:
    assert titles(daemon, "zebras") == ["Zebra"]
    assert "engram.db" in databases(daemon)
    ready = json.loads(daemon.ask("GET", "/ready").body)
    assert (ready["bridge"], ready["observations"]) == ("on", 1)
    assert "anamnesis_observations 1" in daemon.ask("GET", "/metrics").text
    call(daemon, "memory_write", type="semantic", title="Lion", body="roars", project="shop")
    assert titles(daemon, "roars") == ["Lion"]


def test_the_first_write_becomes_a_note(daemon: Daemon) -> None:
    assert post(daemon, "/sessions", {"id": "s1", "project": "shop"}) == 201
    assert post(daemon, "/observations", OBSERVATION) == 201
    assert "Giraffe" in call(daemon, "memory_search", query="tall")
    assert titles(daemon, "zebras") == ["Zebra"]


def test_a_tool_of_engrams_makes_one_too(daemon: Daemon) -> None:
    assert "Zebra" in call(daemon, "mem_search", query="zebras", project="shop")
    call(daemon, "mem_save", title="Giraffe", content="tall", project="shop")
    assert "Giraffe" in call(daemon, "memory_search", query="tall")
    assert titles(daemon, "tall") == ["Giraffe"]


def test_many_first_requests_at_once_are_all_answered(daemon: Daemon) -> None:
    with ThreadPoolExecutor(16) as pool:
        sessions = [{"id": f"s{number}", "project": "shop"} for number in range(32)]
        assert set(pool.map(lambda body: post(daemon, "/sessions", body), sessions)) == {201}
        bodies = [{**OBSERVATION, "session_id": f"s{n}", "title": f"T{n}", "content": f"x{n}"} for n in range(32)]
        assert set(pool.map(lambda body: post(daemon, "/observations", body), bodies)) == {201}
    assert json.loads(daemon.ask("GET", "/stats").body)["total_observations"] == 33


def test_an_engram_db_that_another_program_creates_is_connected(daemon: Daemon) -> None:
    subprocess.run(
        [sys.executable, "-m", "anamnesis", "engram", "save", "Giraffe", "tall"],
        env=environment(daemon.home),
        check=True,
        capture_output=True,
    )
    wait_until(lambda: json.loads(daemon.ask("GET", "/ready").body)["bridge"] == "on")
    assert "Giraffe" in call(daemon, "memory_search", query="tall")
    call(daemon, "memory_write", type="semantic", title="Lion", body="roars", project="shop")
    assert titles(daemon, "roars") == ["Lion"]


def test_an_unusable_engram_db_is_reported_and_the_notes_are_served(daemon: Daemon) -> None:
    (daemon.home / "engram.db").write_bytes(b"no database " * 100)
    for _ in range(2):
        reply = daemon.ask("GET", "/search?q=x")
        assert reply.status == 503
        assert "file is not a database" in reply.text
    assert "Zebra" in call(daemon, "memory_search", query="zebras")
    (daemon.home / "engram.db").unlink()
    assert titles(daemon, "zebras") == ["Zebra"]


def test_without_the_bridge_engrams_clients_have_a_memory_of_their_own(tmp_path: Path) -> None:
    started = Daemon(tmp_path, ANAMNESIS_BRIDGE="off")
    assert titles(started, "x") == []
    assert post(started, "/sessions", {"id": "s1", "project": "shop"}) == 201
    assert post(started, "/observations", OBSERVATION) == 201
    assert titles(started, "tall") == ["Giraffe"]
    assert started.stop() == (0, "")
    assert not list((tmp_path / "memory").rglob("*.md"))
