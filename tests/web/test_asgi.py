"""Under uvicorn, the daemon's application gives the same answers as under the daemon's own server."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.daemon import Daemon, Reply
from tests.web.test_replay import Step, replay, scenarios

_SCRIPT = """
import socket, uvicorn
listening = socket.create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
uvicorn.run("anamnesis.daemon.asgi:app", fd=listening.fileno(), log_level="error", lifespan="on")
"""
# What the server adds by itself, and what changes from one second to the next.
_OF_THE_SERVER = {"date", "server", "connection"}
TOKEN = "t" * 20


class UnderUvicorn(Daemon):
    """The daemon's application, served by uvicorn."""

    program = ("-c", _SCRIPT)


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Daemon]:
    started = UnderUvicorn(tmp_path, ANAMNESIS_ENGRAM_STRICT="1")
    yield started
    assert started.stop() == (-signal.SIGTERM, "")


@pytest.mark.parametrize(("name", "steps"), scenarios().items(), ids=scenarios())
def test_every_step_of_a_recording_is_answered_alike(strict: Daemon, name: str, steps: list[Step]) -> None:
    replay(strict, name, steps)


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[Daemon, Daemon]]:
    """The daemon as it is, and under uvicorn, each with an empty memory and the same token."""
    homes = tmp_path / "own", tmp_path / "uvicorn"
    for home in homes:
        home.mkdir()
    own, other = Daemon(homes[0], ANAMNESIS_TOKEN=TOKEN), UnderUvicorn(homes[1], ANAMNESIS_TOKEN=TOKEN)
    yield own, other
    assert own.stop() == (0, "")
    assert other.stop() == (-signal.SIGTERM, "")


def test_statuses_headers_and_bodies_are_the_same(both: tuple[Daemon, Daemon]) -> None:
    """For routes and refusals: the guard, limits, redirects, Go's errors, redaction and MCP."""
    secret = "ghp_" + "a1B2" * 9
    rpc = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    with_token = {"authorization": f"Bearer {TOKEN}"}
    asked: list[tuple[str, str, str | None, dict[str, str]]] = [
        ("GET", "/health", None, {}),
        ("HEAD", "/health", None, {}),
        ("GET", "/stats", None, {}),
        ("GET", "/stats", None, with_token),
        ("GET", "/stats", None, {**with_token, "host": "example.com"}),
        ("GET", "/stats", None, {**with_token, "origin": "https://example.com"}),
        ("GET", "//stats?a=%20", None, with_token),
        ("GET", "/%zz", None, with_token),
        ("GET", "/observations/x", None, with_token),
        ("PUT", "/observations", "{}", with_token),
        ("POST", "/sessions", '{"id":"s","project":"p"}', with_token),
        ("POST", "/observations", "{", with_token),
        ("POST", "/prompts", json.dumps({"session_id": "s", "content": f"use {secret}"}), with_token),
        ("POST", "/prompts", "x" * (2 << 20), with_token),
        ("GET", "/prompts/search?q=use", None, with_token),
        ("POST", "/mcp", rpc, {**with_token, "content-type": "application/json"}),
        ("POST", "/mcp", rpc, with_token),
        ("GET", "/nope", None, with_token),
    ]
    for method, path, body, headers in asked:
        own, other = (_comparable(each.ask(method, path, body, **headers)) for each in both)
        assert own == other, (method, path)


def _comparable(reply: Reply) -> tuple[int, dict[str, str], str]:
    headers = {name: value for name, value in reply.headers.items() if name not in _OF_THE_SERVER}
    if "created_at" in reply.text:
        headers.pop("content-length")
        return reply.status, headers, json.loads(reply.body)[0]["content"]
    return reply.status, headers, reply.text


def test_a_memory_that_a_daemon_serves_is_not_served_twice(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    other = UnderUvicorn(tmp_path)
    _, errors = other.process.communicate(timeout=60)
    assert other.process.returncode != 0
    assert f"is already served by the daemon with process id {daemon.process.pid}" in errors
    assert "Traceback" not in errors
    assert daemon.stop() == (0, "")
