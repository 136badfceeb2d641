"""The daemon records the uses by clients of Engram, by session, without delaying their requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.web.daemon import Daemon, running

from anamnesis.daemon.uses import Uses
from anamnesis.store import MemoryStore
from anamnesis.store.usage import Usage


def posted(daemon: Daemon, title: str) -> int:
    daemon.ask("POST", "/sessions", json.dumps({"id": "s1", "project": "demo"}))
    of = {"session_id": "s1", "type": "decision", "project": "demo"}
    new = {**of, "title": title, "content": f"{title} of the zebra"}
    found: int = json.loads(daemon.ask("POST", "/observations", json.dumps(new)).body)["id"]
    return found


def counts(home: Path) -> dict[str, dict[str, int]]:
    """The counts by the titles of notes."""
    with MemoryStore(home) as store, closing(Usage(home)) as usage:
        usage.take_in()
        found = usage.every().items()
        return {store.get(id).title: {str(kind): n for kind, n in totals.counts.items()} for id, totals in found}


def test_routes_and_tools_of_engram_are_counted_once_a_session(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        stripes, hooves = posted(daemon, "Stripes"), posted(daemon, "Hooves")
        for _ in range(50):
            daemon.ask("GET", f"/observations/{stripes}")
        assert daemon.ask("GET", "/observations/999").status == 404
        daemon.ask("GET", "/search?q=zebra")
        daemon.ask("GET", "/context?project=demo")
        daemon.ask("PATCH", f"/observations/{hooves}", json.dumps({"content": "Hooves of the horse"}))
        names = []
        for client in ("claude-code", "codex"):
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client}}
            start = ask_mcp(daemon, "initialize", hello)
            names.append(start)
            ask_mcp(daemon, "tools/call", {"name": "mem_get_observation", "arguments": {"id": stripes}}, start)
            given = {"type": "semantic", "title": f"By {client}", "body": "b"}
            ask_mcp(daemon, "tools/call", {"name": "memory_write", "arguments": given}, start)
        assert [name.partition("/")[0] for name in names] == ["claude-code", "codex"]

    found = counts(tmp_path)
    assert found["Stripes"] == {"injected": 1, "found": 1, "opened": 3}
    assert found["Hooves"] == {"injected": 1, "found": 1, "edited": 1}
    with MemoryStore(tmp_path) as store:
        assert {note.prov_session for note in store.list() if note.title.startswith("By ")} == {*names}


def ask_mcp(daemon: Daemon, method: str, params: object, session: str = "") -> str:
    """Send a message; the name of the session that the answer gives."""
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    reply = daemon.ask("POST", "/mcp", message, content_type="application/json", mcp_session_id=session)
    assert reply.status == 200, reply.text
    assert "error" not in json.loads(reply.body)
    return reply.headers.get("mcp-session-id", "")


class TestUses:
    @pytest.fixture
    def uses(self) -> Iterator[Uses]:
        yield Uses()

    def test_what_is_gathered_is_bounded(self, uses: Uses, tmp_path: Path) -> None:
        for number in range(50_000):
            uses.add("opened", [number])
        asked: list[int] = []
        uses.record(tmp_path, lambda ids: asked.extend(ids) or [])  # type: ignore[func-returns-value]
        assert len(asked) <= 20_001

    def test_what_was_recorded_is_not_recorded_again(self, uses: Uses, tmp_path: Path) -> None:
        uses.add("opened", [1])
        uses.record(tmp_path, lambda ids: [str(id) for id in ids])
        before = (tmp_path / "usage.jsonl").read_bytes()
        uses.record(tmp_path, lambda ids: [str(id) for id in ids])
        assert (tmp_path / "usage.jsonl").read_bytes() == before
