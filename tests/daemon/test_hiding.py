"""What the user has not accepted hides nothing from anybody who asks, on any surface."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.daemon import Daemon, environment

from anamnesis.notes import Memory
from anamnesis.notes.foreign import as_foreign
from anamnesis.notes.marks import HELD, UPDATES, with_mark
from anamnesis.store import MemoryStore

MINE, OLDER, OTHER = "01KDWHZ400000000000000M1NE", "01KDWHZ40000000000000000LD", "01KDWHZ40000000000000TH3RS"


def note(id: str, body: str, moment: str = "2026-01-01T00:00:00+00:00", **fields: Any) -> Memory:
    usual = {"type": "semantic", "project": "acme", "machine_id": "here", "created_at": moment, "updated_at": moment}
    return Memory(id=id, title=f"The {body.split()[0]} way", body=body, **{**usual, **fields})


class Home:
    """A home with two notes of the user's, and one of somebody else's that supersedes both; a daemon serves it."""

    def __init__(self, home: Path, other: Memory) -> None:
        self.home = home
        with MemoryStore(home) as store:
            store.put(note(OLDER, "zebraolder deploys by hand.", supersedes=""))
            store.put(note(MINE, "zebramine deploys with make.", supersedes=OLDER))
            store.put(other)
        self.daemon = Daemon(home, ANAMNESIS_MACHINE_ID="here")
        assert self.get("/stats")["total_observations"] >= 0  # makes engram.db

    def get(self, path: str) -> Any:
        reply = self.daemon.ask("GET", path, Accept="application/json")
        assert reply.status == 200, reply.text
        return json.loads(reply.body)

    def tool(self, name: str, **arguments: Any) -> str:
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        reply = self.daemon.ask("POST", "/mcp", json.dumps(message), Content_Type="application/json")
        return str(reply.text)

    def command(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "anamnesis", *arguments],
            env=environment(self.home, ANAMNESIS_MACHINE_ID="here"),
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def surfaces(self) -> dict[str, str]:
        """What each surface answers of "deploys"."""
        return {
            "memory_search": self.tool("memory_search", query="deploys"),
            "memory_search words": self.tool("memory_search", query="deploys zebramine", mode="words"),
            "search": self.command("search", "deploys", "--json"),
            "search words": self.command("search", "deploys", "--json", "--words"),
            "mem_search": self.tool("mem_search", query="deploys"),
            "/search": json.dumps(self.get("/search?q=deploys")),
            "mem_context": self.tool("mem_context"),
            "/context": json.dumps(self.get("/context")),
            "engram search": self.command("engram", "search", "deploys"),
            "page": self.daemon.ask("GET", "/ui/notes?q=deploys").text,
            "inject": self.command("inject", "--project", "acme"),
            "/ui/told": json.dumps(self.get("/ui/told?project=acme")["start"]),
        }

    def finding(self, word: str) -> set[str]:
        return {name for name, answer in self.surfaces().items() if word in answer}


def theirs(kind: str) -> Memory:
    other = note(OTHER, "zebratheirs deploys with their script.", "2026-02-01T00:00:00+00:00", supersedes=f"{MINE}")
    return as_foreign(other, "alice") if kind == "import" else with_mark(other, HELD, "An agent wrote an order.")


@pytest.fixture(scope="module", params=["import", "held"])
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    found = Home(tmp_path_factory.mktemp("home"), theirs(request.param))
    yield found
    assert found.daemon.stop()[0] == 0


def test_what_is_not_accepted_hides_nothing_on_any_surface_until_it_is(home: Home) -> None:
    everywhere = {*home.surfaces()}
    assert home.finding("zebramine") == everywhere, "a note of the user's that somebody else's claims to replace"
    assert home.finding("zebraolder") == set(), "one that the user replaced"
    assert "would be superseded by" in home.daemon.ask("GET", f"/ui/notes/{MINE}").text
    assert OTHER in home.command("review", OTHER, "--accept")
    assert home.finding("zebramine") == set()
    assert home.finding("zebratheirs") == everywhere
    assert "is superseded by" in home.daemon.ask("GET", f"/ui/notes/{MINE}").text
    with MemoryStore(home.home) as store:
        store.update(OTHER, body="zebratheirs deploys by another script.")
    assert home.finding("zebramine") == everywhere, "a changed text waits again"


def test_what_is_not_accepted_outdates_nothing(tmp_path: Path) -> None:
    """Not by a mark of its own, nor by one in the user's note about a text that was accepted before."""
    with MemoryStore(tmp_path) as store:
        store.put(with_mark(note(MINE, "zebramine deploys with make."), "updated_by", OTHER))
        store.put(with_mark(with_mark(note(OTHER, "zebratheirs deploys."), UPDATES, MINE), HELD, "An order."))
        assert [hit.marks.outdated_by for hit in store.hits("zebramine deploys", mode="words")] == [(), ()]
        assert store.outdated_ids() == set()
        store.decide([store.get(OTHER)], "accepted")
        assert (OTHER,) in [hit.marks.outdated_by for hit in store.hits("zebramine deploys", mode="words")]
        assert store.outdated_ids() == {MINE}
