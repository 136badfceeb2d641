"""The exchange: changes by cursor, compare-and-set, and what the hub refuses."""

from __future__ import annotations

from tests.hub.running import RunningHub, text_of


def test_what_one_machine_sends_another_gets_byte_for_byte(running: RunningHub) -> None:
    you = running.user("you", core="writer")
    mate = running.user("mate", core="reader")
    text = text_of("N1", "Ünïcode — and “quotes”.\r\n\ttab").replace("tags: []", "tags: []\naliases: [x]  # mine")
    assert you.put("core", "N1", text) == {"id": "N1", "space": "core", "version": 1}
    (change,) = mate.sync()["core"]["changes"]
    assert change.pop("at").endswith("+00:00")
    assert change == {"id": "N1", "version": 1, "text": text, "author": "you", "machine": "desk"}
