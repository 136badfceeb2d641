"""Calls that wait for a network or for git delay neither searches nor writes, over HTTP and MCP."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.sync.machine import is_running
from tests.waiting import wait_until
from tests.web.daemon import Daemon, Reply

HANGING_CALLS = 6


class Gate:
    """An ssh that hangs until the gate is opened, and reports in a folder that it was started."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.started = folder / "started"
        self.opened = folder / "opened"
        self.ssh = folder / "ssh"
        self.ssh.write_text(
            f"#!/bin/sh\necho $$ > '{self.started}.new'\nmv '{self.started}.new' '{self.started}'\n"
            f"while [ ! -e '{self.opened}' ]; do sleep 0.05; done\nexit 1\n"
        )
        self.ssh.chmod(self.ssh.stat().st_mode | stat.S_IXUSR)

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a daemon whose remote is behind the gate."""
        ssh = {"GIT_SSH_COMMAND": str(self.ssh), "GIT_SSH_VARIANT": "simple"}
        return {"ANAMNESIS_GIT_REMOTE": "ssh://localhost/nothing.git", **ssh}

    def open(self) -> None:
        self.opened.touch()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    made = Gate(tmp_path / "gate")
    yield made
    made.open()


@pytest.fixture
def daemon(tmp_path: Path, gate: Gate) -> Iterator[Daemon]:
    """A daemon whose git remote hangs while the gate is shut."""
    started = Daemon(_home(tmp_path), **gate.variables)
    yield started
    gate.open()
    assert started.stop() == (0, "")


def _home(folder: Path) -> Path:
    home = folder / "home"
    home.mkdir()
    return home


def call(daemon: Daemon, tool: str, **arguments: object) -> Any:
    """The text that a tool answers over HTTP."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    reply = daemon.ask("POST", "/mcp", json.dumps(message), content_type="application/json")
    assert reply.status == 200, reply.text
    result = json.loads(reply.body)["result"]
    assert result.get("isError") is not True, result
    return result["content"][0]["text"]


@pytest.fixture
def hanging(daemon: Daemon, gate: Gate) -> Iterator[list[Future[Reply]]]:
    """Calls of memory_sync that hang: more than there are threads for any kind of work."""
    message = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_sync","arguments":{}}}'

    def sync() -> Reply:
        return daemon.ask("POST", "/mcp", message, content_type="application/json")

    assert daemon.ask("POST", "/sessions", '{"id":"s","project":"p"}').status == 201
    with ThreadPoolExecutor(HANGING_CALLS) as clients:
        calls = [clients.submit(sync) for _ in range(HANGING_CALLS)]
        wait_until(gate.started.exists)
        yield calls
        gate.open()


def test_searches_and_writes_are_answered_while_syncs_hang(daemon: Daemon, hanging: list[Future[Reply]]) -> None:
    body = '{"session_id":"s","title":"Zebra","content":"stripes"}'
    assert daemon.ask("POST", "/observations", body).status == 201
    assert "Zebra" in daemon.ask("GET", "/search?q=stripes").text
    assert "Giraffe" in call(daemon, "memory_write", type="semantic", title="Giraffe", body="a long neck")
    assert "Giraffe" in call(daemon, "memory_search", query="neck")
    call(daemon, "mem_save", title="Okapi", content="a shy animal", project="p")
    assert "Okapi" in call(daemon, "mem_search", query="shy")
    assert "Giraffe" in daemon.ask("GET", "/search?q=neck").text
    assert not any(each.done() for each in hanging)


def test_the_project_of_a_folder_is_answered_while_syncs_hang(
    daemon: Daemon, hanging: list[Future[Reply]], tmp_path: Path
) -> None:
    found = json.loads(daemon.ask("GET", f"/project/current?cwd={tmp_path}").body)
    assert found["project"] == tmp_path.name.lower()
    assert not any(each.done() for each in hanging)


def test_a_hanging_sync_is_answered_once_its_remote_is(
    daemon: Daemon, hanging: list[Future[Reply]], gate: Gate
) -> None:
    gate.open()
    assert {each.result(60).status for each in hanging} == {200}


def test_writes_over_mcp_and_over_http_are_made_by_one_thread(daemon: Daemon) -> None:
    """The daemon counts a write for each of them."""
    assert daemon.ask("POST", "/sessions", '{"id":"s","project":"p"}').status == 201
    before = writes(daemon)
    clients = [
        threading.Thread(target=call, args=(daemon, "memory_write"), kwargs={**NOTE, "title": f"note {number}"})
        for number in range(4)
    ]
    clients += [
        threading.Thread(target=call, args=(daemon, "mem_save"), kwargs={"title": f"t{number}", "content": f"{number}"})
        for number in range(4)
    ]
    for each in clients:
        each.start()
    for number in range(4):
        body = json.dumps({"session_id": "s", "title": f"o{number}", "content": f"o{number}"})
        assert daemon.ask("POST", "/observations", body).status == 201
    for each in clients:
        each.join()
    assert writes(daemon) - before == 12
    assert json.loads(daemon.ask("GET", "/stats").body)["total_observations"] == 12


NOTE: dict[str, object] = {"type": "semantic", "body": "text"}


def writes(daemon: Daemon) -> int:
    page = daemon.ask("GET", "/metrics").text
    (line,) = (each for each in page.splitlines() if each.startswith("anamnesis_writes_total "))
    return int(line.split()[1])


def test_a_batch_of_reads_and_writes_is_answered_in_its_order(daemon: Daemon) -> None:
    def message(id: int, tool: str, **arguments: object) -> dict[str, object]:
        return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}

    batch = [
        message(1, "memory_write", **NOTE, title="Lynx"),
        message(2, "memory_search", query="Lynx"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        message(3, "mem_search", query="Lynx"),
        {"jsonrpc": "2.0", "id": 4, "method": "ping"},
    ]
    reply = daemon.ask("POST", "/mcp", json.dumps(batch), content_type="application/json")
    answers = json.loads(reply.body)
    assert [each["id"] for each in answers] == [1, 2, 3, 4]
    assert all("Lynx" in each["result"]["content"][0]["text"] for each in answers[:3])


def test_the_daemon_ends_while_a_sync_hangs(tmp_path: Path, gate: Gate) -> None:
    """A remote that never answers cannot keep the daemon alive, and the processes of the sync end with it."""
    daemon = Daemon(_home(tmp_path), **gate.variables)
    with ThreadPoolExecutor(1) as client:
        client.submit(call, daemon, "memory_sync")
        wait_until(gate.started.exists)
        assert daemon.stop()[0] == 0
        assert not os.path.exists(gate.opened)
    wait_until(lambda: not is_running(int(gate.started.read_text())))
