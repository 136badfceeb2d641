"""Memories travel through git from Engram's plugin on one machine to Claude Code on another, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.end_to_end.machine import Machine
from tests.web.daemon import Daemon


@pytest.fixture
def daemon(machines: tuple[Machine, Machine]) -> Iterator[Daemon]:
    """The daemon that Engram's plugin on the first machine starts and talks to."""
    desk, _ = machines
    (desk.home / ".engram").mkdir()
    running = Daemon(desk.home / ".anamnesis", **desk.variables)
    yield running
    running.stop()


def ask(daemon: Daemon, method: str, path: str, **body: object) -> Any:
    reply = daemon.ask(method, path, json.dumps(body) if body else None)
    assert reply.status < 300, reply.text
    return json.loads(reply.body)


def test_engrams_plugin_and_claudes_hooks_share_one_memory(machines: tuple[Machine, Machine], daemon: Daemon) -> None:
    desk, lap = machines
    for machine in machines:
        machine.anamnesis("config", "set", "remote", str(machine.remote))
    lap.anamnesis("init", "--agent", "claude-code")

    # A session with Engram's plugin: it names its project by the repository's short name, and its folder.
    folder = str(desk.project)
    ask(daemon, "POST", "/sessions", id="engram-1", project="shop", directory=folder)
    saved = ask(
        daemon,
        "POST",
        "/observations",
        session_id="engram-1",
        type="decision",
        title="Prices are kept in cents",
        content="**What**: integers only. **Why**: floats lost a cent at checkout.",
        project="shop",
        topic_key="decision/prices",
    )["id"]
    learnings = "## Key Learnings:\n\n1. The payment sandbox refuses amounts above 500 euros\n"
    ask(daemon, "POST", "/observations/passive", session_id="engram-1", content=learnings, project="shop")
    desk.anamnesis("sync")

    # Claude Code starts on the other machine, in its own checkout, and receives both.
    lap.anamnesis("sync")
    injected = lap.hooks("SessionStart", source="startup")
    assert "Prices are kept in cents" in injected
    assert "floats lost a cent at checkout" in injected
    assert "The payment sandbox refuses amounts above 500 euros" in injected
    assert "project: example.com/acme/shop | origin: desk" in injected

    # It writes a note of its own, and corrects the other.
    lap.anamnesis("write", "Refunds", "Refunds go through the queue.", "--project", ".")
    (note,) = [each for each in json.loads(lap.anamnesis("list", "--json")) if each["title"].startswith("Prices")]
    lap.edit(note["id"], "integers only", "integers only, never negative")
    lap.anamnesis("sync")
    desk.anamnesis("sync")

    # Engram's clients on the first machine see both, under the ids that they know.
    assert [each["title"] for each in ask(daemon, "GET", "/search?q=refunds&project=shop")] == ["Refunds"]
    assert "never negative" in ask(daemon, "GET", f"/observations/{saved}")["content"]
    context = ask(daemon, "GET", "/context?project=shop")["context"]
    assert "**Refunds**: Refunds go through the queue." in context
    assert "integers only, never negative" in context

    # A revision of the topic there updates the same note here, and a deletion hides it.
    revised = {"title": "Prices are kept in mills", "content": "Cents were too coarse for fuel."}
    again = ask(
        daemon,
        "POST",
        "/observations",
        session_id="engram-1",
        type="decision",
        project="shop",
        topic_key="decision/prices",
        **revised,
    )["id"]
    assert again == saved
    desk.anamnesis("sync")
    lap.anamnesis("sync")
    assert revised["content"] in lap.anamnesis("show", note["id"])
    ask(daemon, "DELETE", f"/observations/{saved}")
    desk.anamnesis("sync")
    lap.anamnesis("sync")
    assert "Prices" not in lap.hooks("SessionStart", source="startup")


def test_a_new_engram_db_contains_all_existing_notes(machines: tuple[Machine, Machine]) -> None:
    """Notes that were written before Engram's first use are in its database."""
    desk, _ = machines
    desk.anamnesis("write", "Lanes", "Keep the fast lane free.", "--project", ".")
    found = desk.run(["anamnesis", "engram", "search", "lane"])
    assert "Lanes" in found
    assert "Lanes" in desk.run(["anamnesis", "engram", "search", "lane", "--project", "shop"])
