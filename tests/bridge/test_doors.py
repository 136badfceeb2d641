"""A memory written through any door is found through every other when the call returns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engram_cli.program import Program, Tools
from tests.waiting import wait_until
from tests.web.daemon import Daemon

from anamnesis.notes import Memory
from anamnesis.store import MemoryStore


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon that has opened its notes: before that, no client waits for them."""
    running = Daemon(tmp_path / "home")
    running.ask("GET", "/stats")  # the first request of a client of Engram creates engram.db
    wait_until(lambda: json.loads(running.ask("GET", "/ready").body)["bridge"] == "on")
    yield running
    running.stop()


def anamnesis(home: Path, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "anamnesis", *arguments],
        input=stdin,
        env={"ANAMNESIS_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
        cwd=home,
    )
    return done.stdout


def searched(home: Path, words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(anamnesis(home, "search", words, "--json"))
    return found


def post(daemon: Daemon, path: str, **body: object) -> dict[str, Any]:
    reply = daemon.ask("POST", path, json.dumps(body))
    assert reply.status in (200, 201), reply.text
    answer: dict[str, Any] = json.loads(reply.body)
    return answer


def found(daemon: Daemon, words: str) -> list[str]:
    return [each["title"] for each in daemon.ask("GET", f"/search?q={words}").by_words]


def save(daemon: Daemon, title: str, content: str, **more: object) -> int:
    post(daemon, "/sessions", id="s1", project="shop", directory="/nowhere")
    saved = post(
        daemon, "/observations", session_id="s1", title=title, content=content, type="decision", project="shop", **more
    )
    return int(saved["id"])


def test_what_is_posted_is_a_note_when_the_answer_comes(daemon: Daemon) -> None:
    save(daemon, "Cart totals", "Totals are computed on the server.", topic_key="decision/cart")
    [file] = (daemon.home / "memory" / "semantic").glob("*.md")
    text = file.read_text()
    assert "title: Cart totals\nproject: shop\n" in text
    assert "  type: decision\n  topic_key: decision/cart\n" in text
    with MemoryStore(daemon.home) as store:
        assert [note.title for note in store.search("totals server")] == ["Cart totals"]


def test_every_kind_of_write_over_http_reaches_the_notes(daemon: Daemon) -> None:
    first = save(daemon, "One", "the first text", topic_key="a/b")
    assert save(daemon, "One again", "the second text", topic_key="a/b") == first
    second = save(daemon, "Two", "another thing")
    daemon.ask("PATCH", f"/observations/{second}", json.dumps({"title": "Two, corrected", "type": "bugfix"}))
    post(
        daemon,
        "/observations/passive",
        session_id="s1",
        project="shop",
        content="## Key Learnings:\n\n1. The queue must be drained before the restart\n",
    )
    with MemoryStore(daemon.home) as store:
        titles = {note.title: note for note in store.list()}
        assert titles.keys() == {"One again", "Two, corrected", "The queue must be drained before the restart"}
        assert titles["One again"].body == "the second text"
        assert titles["Two, corrected"].type == "procedural"
        post(daemon, "/projects/migrate", old_project="shop", new_project="store")
        assert {note.project for note in store.list()} == {"store"}
        daemon.ask("DELETE", f"/observations/{first}")
        assert store.search("second", mode="words") == []
        assert store.find(titles["One again"].id)  # hidden, but there
        daemon.ask("DELETE", f"/observations/{second}?hard=true")
        assert store.find(titles["Two, corrected"].id) is None


def test_an_import_over_http_is_in_the_notes(daemon: Daemon) -> None:
    save(daemon, "Exported", "some words to carry")
    exported = json.loads(daemon.ask("GET", "/export").body)
    for each in exported["observations"]:
        each["sync_id"] = "obs-0123456789abcdef"
        each["title"] = "Imported"
    assert post(daemon, "/import", **exported)["observations_imported"] == 1
    for each in exported["observations"]:
        each["title"] = "Never seen"
    reply = daemon.ask("POST", "/import", json.dumps(exported))
    assert (json.loads(reply.body)["observations_imported"], reply.headers["x-anamnesis-skipped"]) == (0, "1")
    with MemoryStore(daemon.home) as store:
        assert {note.title for note in store.search("carry")} == {"Exported", "Imported"}


def test_an_export_over_http_lacks_what_is_machine_local_and_counts_it(daemon: Daemon) -> None:
    anamnesis(daemon.home, "write", "Diary", "about the heron", "--scope", "machine-local")
    save(daemon, "Shared", "about the stork")
    reply = daemon.ask("GET", "/export")
    assert "stork" in reply.text
    assert "heron" not in reply.text
    assert reply.headers["x-anamnesis-left-out"] == "1 observation and 1 session"


def test_a_note_by_the_command_line_and_by_mcp_is_an_observation(daemon: Daemon) -> None:
    anamnesis(daemon.home, "write", "Deploys", "Deploy on Tuesdays only.", "--project", "github.com/o/shop")
    assert found(daemon, "tuesdays") == ["Deploys"]
    listed = json.loads(daemon.ask("GET", "/observations/recent?project=shop").body)
    assert [each["title"] for each in listed] == ["Deploys"]
    arguments = {"type": "semantic", "title": "Over MCP", "body": "Written by an agent."}
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "memory_write", "arguments": arguments},
        },
    ]
    answers = anamnesis(daemon.home, "serve", stdin="".join(json.dumps(each) + "\n" for each in requests))
    assert '"isError": true' not in answers, answers
    assert found(daemon, "agent") == ["Over MCP"]


def test_an_edit_in_any_editor_is_found_through_both_dialects_without_a_command(daemon: Daemon) -> None:
    save(daemon, "Cart totals", "Totals are computed on the server.")
    [file] = (daemon.home / "memory" / "semantic").glob("*.md")
    file.write_text(file.read_text().replace("on the server", "in the browser"))
    wait_until(lambda: found(daemon, "browser") == ["Cart totals"])
    with MemoryStore(daemon.home) as store:
        assert [note.title for note in store.search("browser")] == ["Cart totals"]
    file.unlink()
    wait_until(lambda: found(daemon, "totals") == [])
    new = daemon.home / "memory" / "procedural" / "by-hand.md"
    new.parent.mkdir(exist_ok=True)
    new.write_text("---\nid: by-hand\ntype: procedural\ntitle: By hand\n---\nTyped into a file.\n")
    wait_until(lambda: found(daemon, "typed") == ["By hand"])


def test_what_the_verbs_of_engram_do_reaches_the_notes_and_they_see_what_notes_say(tmp_path: Path) -> None:
    engram = Program(tmp_path)
    home = Path(engram.variables["ANAMNESIS_HOME"])
    engram("save", "Sharding", "Shard by tenant.", "--project", "shop", "--type", "architecture")
    assert [hit["title"] for hit in searched(home, "tenant")] == ["Sharding"]
    with MemoryStore(home) as store:
        [note] = store.search("tenant")
        store.put(Memory(note.id, note.type, note.title, "Shard by region.", note.project, note.machine_id))
    assert "Shard by region." in engram("search", "region").out


def test_what_the_tools_of_engram_save_is_a_note_when_they_answer(tmp_path: Path) -> None:
    engram = Program(tmp_path)
    home = Path(engram.variables["ANAMNESIS_HOME"])
    with engram.mcp() as tools:
        assert isinstance(tools, Tools)
        tools.text("mem_save", title="Retries", content="Retry three times.", type="pattern", project="shop")
        with MemoryStore(home) as store:
            [note] = store.search("retry")
            assert (note.type, note.title, note.project) == ("procedural", "Retries", "shop")
            store.update(note.id, body="Retry five times.")
        assert "five" in tools.text("mem_search", query="retry", project="shop")
        tools.text("mem_session_summary", content="We settled the retries.", project="shop")
        with MemoryStore(home) as store:
            [summary] = store.search("settled")
            assert (summary.type, summary.title) == ("episodic", "Session summary: shop")


def test_without_an_engram_db_nothing_is_made(tmp_path: Path) -> None:
    anamnesis(tmp_path, "write", "Alone", "No Engram here.")
    assert not (tmp_path / "engram.db").exists()
    with MemoryStore(tmp_path) as store:
        [note] = store.list()
        assert note.engram == {}


def test_a_bridge_that_is_off_leaves_both_sides_alone(tmp_path: Path) -> None:
    running = Daemon(tmp_path, ANAMNESIS_BRIDGE="off")
    try:
        save(running, "Only a row", "nothing of it in the notes")
        with MemoryStore(tmp_path) as store:
            assert store.count() == 0
    finally:
        running.stop()


def test_a_damaged_engram_db_is_no_obstacle_to_notes(tmp_path: Path) -> None:
    (tmp_path / "engram.db").write_bytes(b"not a database" * 100)
    anamnesis(tmp_path, "write", "Still", "Notes go on.")
    assert [hit["title"] for hit in searched(tmp_path, "notes")] == ["Still"]
    assert "bridge failed" in (tmp_path / "anamnesis.log").read_text()
    assert (tmp_path / "engram.db").read_bytes() == b"not a database" * 100


@pytest.mark.parametrize(("marked", "project"), [("work", "acme/work"), (".", "work")])
def test_the_project_of_an_observation_is_that_of_its_folder_and_never_the_users_home(
    tmp_path: Path, marked: str, project: str
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    marker = tmp_path / marked / ".anamnesis/project"
    marker.parent.mkdir()
    marker.write_text("acme/work\n")
    running = Daemon(tmp_path / "home", HOME=str(tmp_path))
    try:
        post(running, "/sessions", id="s1", project="work", directory=str(folder))
        post(running, "/observations", session_id="s1", type="pattern", title="Sharding", content="c", project="work")
        with MemoryStore(running.home) as store:
            wait_until(lambda: store.search("sharding"))
            assert [note.project for note in store.list()] == [project]
    finally:
        running.stop()
