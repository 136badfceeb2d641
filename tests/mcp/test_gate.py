"""The gate over MCP, with the official SDK's client: its answers to an agent, and the writes it does not affect."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.mcp.test_official_client import call, connected, run
from tests.web.daemon import Daemon, running

from anamnesis.mcp.answer import KEYS
from anamnesis.store import MemoryStore
from mcp import Client

TEXT: dict[str, Any] = {
    "type": "semantic",
    "title": "Retry policy",
    "body": "The client retries 3 times.",
    "project": "shop",
}
LOG = "1a2b3c4 Fix the parser\n2b3c4d5 Add a cache\n3c4d5e6 Remove the queue"


def test_the_answer_names_the_gates_decision_and_the_note(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        first = await call(client, "memory_write", **TEXT)
        assert list(first) == [*KEYS, "body"]
        again = await call(client, "memory_write", **TEXT)
        gate = again.pop("gate")
        assert again == {}
        assert (gate["decision"], gate["note"]) == ("reject", {"id": first["id"], "title": "Retry policy"})
        assert first["id"] in gate["reason"]
        derived = await call(client, "memory_write", type="semantic", title="git log", body=LOG)
        assert (derived["gate"]["decision"], derived["gate"].get("note")) == ("reject", None)
        other = await call(client, "memory_write", **{**TEXT, "body": "The client retries 4 times."})
        assert list(other) == [*KEYS, "body"]
        elsewhere = await call(client, "memory_write", **{**TEXT, "project": "other"})
        assert "gate" not in elsewhere

    run(tmp_path, work)
    with MemoryStore(tmp_path) as store:
        assert store.count() == 3
        refused = [each.draft.title for each in store.decisions.listed() if each.draft]
    assert refused == ["git log", "Retry policy"]


def test_a_text_that_says_more_is_answered_with_the_note_that_has_it_now(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        old = store.write(**TEXT, prov_session="another")

    async def work(client: Client) -> None:
        longer = f"{TEXT['body']}\nThen it answers 503."
        changed = await call(client, "memory_write", **{**TEXT, "body": longer})
        assert changed["gate"]["decision"] == "upsert"
        assert (changed["id"], changed["body"]) == (old.id, longer)
        assert (await call(client, "memory_get", id=old.id))["body"] == longer

    run(tmp_path, work)


def test_the_setting_turns_the_gate_off(tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path, ANAMNESIS_GATE="off") as client:
            for _ in range(2):
                assert list(await call(client, "memory_write", **TEXT)) == [*KEYS, "body"]

    asyncio.run(asyncio.wait_for(main(), 60))
    assert not (tmp_path / "gate.db").exists()


def test_engrams_doors_have_no_gate_and_the_daemons_mcp_has_it(tmp_path: Path) -> None:
    """Engram's clients get Engram's recorded answers, however often they send a text."""
    with running(tmp_path) as daemon:
        daemon.ask("POST", "/sessions", '{"id":"s","project":"p","directory":"/w"}')
        for title in ("one", "two"):
            body = {"session_id": "s", "type": "decision", "project": "p", "title": title, "content": LOG}
            assert daemon.ask("POST", "/observations", json.dumps(body)).status == 201
        assert _call(daemon, "mem_save", title="git log", content=LOG, project="p")["content"]
        assert "gate" not in _call(daemon, "memory_write", **TEXT)["structuredContent"]
        assert _call(daemon, "memory_write", **TEXT)["structuredContent"]["gate"]["decision"] == "reject"
    with MemoryStore(tmp_path) as store:
        assert [each.decision for each in store.decisions.listed()] == ["reject", "allow"]


def _call(daemon: Daemon, name: str, **arguments: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    reply = daemon.ask("POST", "/mcp", json.dumps(message), Content_Type="application/json", Accept="application/json")
    return json.loads(reply.body)["result"]
