"""The answers of tools: notes with the specified keys, within a budget, and how to get the rest."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anamnesis.config import read_settings
from anamnesis.mcp.answer import BUDGET
from anamnesis.mcp.dispatcher import McpServer
from anamnesis.notes import Memory, render
from anamnesis.server import build_server, search_memories
from anamnesis.store import MemoryStore

KEYS = ["id", "type", "title", "project", "machine_id", "scope", "tags", "created_at", "updated_at"]
# A note as a tool returned it; the marker at the end of a body that was cut.
Note = dict[str, Any]
CUT = re.compile(r"\n\n\[cut: ([\d,]+) characters are left; memory_get with id (\S+) and offset (\d+) returns them\]\Z")


class Agent:
    """Calls the tools on a store, and checks of every answer what holds for all."""

    def __init__(self, store: MemoryStore) -> None:
        self._server: McpServer = build_server(store, settings=read_settings({}, store.root))

    def result(self, tool: str, **arguments: Any) -> Any:
        params = {"name": tool, "arguments": arguments}
        answer: Any = self._server.answer({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        assert len(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) <= BUDGET
        return answer["result"]

    def __call__(self, tool: str, **arguments: Any) -> Any:
        result = self.result(tool, **arguments)
        assert not result["isError"], result
        shown = json.loads(result["content"][0]["text"])
        structure = result["structuredContent"]
        assert shown == (structure["result"] if isinstance(shown, list) else structure)
        return shown

    def read(self, id: str) -> str:
        """The whole body of a note, however many calls it takes."""
        body, offset = "", 0
        while True:
            part: str = self("memory_get", id=id, offset=offset)["body"]
            cut = CUT.search(part)
            body += part[: cut.start()] if cut else part
            if not cut:
                return body
            assert cut[2] == id
            offset = int(cut[3])
            assert offset == len(body)


@pytest.fixture
def agent(store: MemoryStore) -> Agent:
    return Agent(store)


def fill(store: MemoryStore, count: int, body: str = "zebra") -> None:
    stamps = [
        f"2026-01-01T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}+00:00" for number in range(count)
    ]
    store.put_all(
        Memory(f"n{number:04d}", "semantic", f"A title of the usual length {number}", body, "github.com/acme/web",
               created_at=stamp, updated_at=stamp)
        for number, stamp in enumerate(stamps)
    )  # fmt: skip


def test_a_note_has_exactly_the_specified_keys(store: MemoryStore, agent: Agent) -> None:
    written = agent("memory_write", type="semantic", title="t", body="zebra")
    assert list(written) == [*KEYS, "body"]
    assert agent("memory_search", query="zebra") == [written]
    assert agent("memory_get", id=written["id"]) == written
    assert agent("memory_list") == [{key: written[key] for key in KEYS}]
    assert list(agent("memory_update", id=written["id"], title="u")) == [*KEYS, "body"]
    assert list(agent("memory_delete", id=written["id"])["deleted"]) == KEYS


def test_provenance_and_scores_come_only_where_they_are_asked_for_and_not_default(
    store: MemoryStore, agent: Agent
) -> None:
    store.write(type="semantic", title="plain", body="zebra zebra")
    told = {"prov_source": "reflection", "prov_model": "m", "prov_session": "s", "confidence": 0.5, "supersedes": "old"}
    store.write(type="semantic", title="made", body="a zebra among others", **told)  # type: ignore[arg-type]
    for tool, more in (("memory_list", {}), ("memory_search", {"query": "zebra"})):
        assert all(not {*told, "score"} & note.keys() for note in agent(tool, **more))
        notes = {note["title"]: note for note in agent(tool, explain=True, **more)}
        assert told.items() <= notes["made"].items()
        assert not told.keys() & notes["plain"].keys()
        assert [key for note in notes.values() for key in note if key == "score"] == ["score"] * (2 if more else 0)
        explained = agent("memory_get", id=notes["made"]["id"], explain=True)
        assert told.items() <= explained.items()


def test_ten_megabytes_are_answered_with_their_beginning_and_read_by_offset(store: MemoryStore, agent: Agent) -> None:
    body = "".join(f"zebra {number}\n" for number in range(800_000))
    id, path = "big", store.memory_dir / "semantic/big.md"
    path.parent.mkdir()
    path.write_text(render(Memory(id, "semantic", "big", body)))
    small = agent("memory_write", type="semantic", title="small", body="zebra in short")
    for note in (*agent("memory_search", query="zebra"), agent("memory_get", id=id)):
        if note["id"] == id:
            cut = CUT.search(note["body"])
            assert cut
            assert note["body"][: cut.start()] == body[: int(cut[3])]
            assert int(cut[1].replace(",", "")) == len(body) - int(cut[3])
            assert int(cut[3]) > 5_000
        else:
            assert note == small, "a long note does not cut a short one"
    middle = agent("memory_get", id=id, offset=5_000_000)["body"]
    assert body[5_000_000:].startswith(middle[:5_000])
    assert body.endswith(agent("memory_get", id=id, offset=len(body) - 10)["body"])


@pytest.mark.parametrize(
    "text", ["plain words ", 'quo"tes \\ and\nlines ', "日本語 ", "\u202e\U000e0041hidden", "\x00"]
)
def test_every_character_of_a_long_note_can_be_read(store: MemoryStore, agent: Agent, text: str) -> None:
    body = text * (60_000 // len(text)) + "end"
    note = store.write(type="semantic", title="long", body=body)
    assert agent.read(note.id) == body


def test_an_offset_beyond_the_body_is_refused_in_a_sentence(store: MemoryStore, agent: Agent) -> None:
    note = store.write(type="semantic", title="t", body="short")
    refused = agent.result("memory_get", id=note.id, offset=6)
    assert refused["isError"]
    assert refused["content"][0]["text"] == "offset is 6, but the body has 5 characters."
    assert agent("memory_get", id=note.id, offset=5)["body"] == ""


def test_a_cut_body_is_not_written_back_over_the_whole_one(store: MemoryStore, agent: Agent) -> None:
    """An agent that edits a cut body would delete the rest of the note."""
    body = "zebra " * 50_000
    note = store.write(type="semantic", title="t", body=body)
    (shown,) = agent("memory_search", query="zebra")
    refused = agent.result("memory_update", id=note.id, body=shown["body"].replace("zebra", "yak"))
    assert refused["isError"]
    assert "saving it would lose the rest of the note" in refused["content"][0]["text"]
    assert store.get(note.id).body == body


def test_a_cut_list_gives_the_total_and_the_next_offset(store: MemoryStore, agent: Agent) -> None:
    fill(store, 200)
    seen: list[str] = []
    while True:
        result = agent.result("memory_list", limit=1_000, offset=len(seen))
        structure = result["structuredContent"]
        seen += [note["id"] for note in structure["result"]]
        if "next_offset" not in structure:
            break
        first, last = len(seen) - len(structure["result"]) + 1, len(seen)
        assert (structure["total"], structure["next_offset"]) == (200, last)
        assert result["content"][1:] == [
            {"type": "text", "text": f"{first} to {last} of 200 notes. The next: memory_list with offset={last}."}
        ]
        assert len(structure["result"]) >= 25
    assert seen == [note.id for note in store.list()]


def test_a_list_cut_by_its_limit_gives_the_next_offset(store: MemoryStore, agent: Agent) -> None:
    fill(store, 5)
    assert agent.result("memory_list", limit=2, offset=1)["structuredContent"].keys() == {
        "result",
        "total",
        "next_offset",
    }
    assert agent.result("memory_list", limit=2, offset=3)["structuredContent"].keys() == {"result"}
    assert agent.result("memory_list")["structuredContent"].keys() == {"result"}
    assert agent.result("memory_list", project="nothing")["structuredContent"] == {"result": []}


def test_a_search_for_many_notes_is_answered_in_parts(store: MemoryStore, agent: Agent) -> None:
    fill(store, 120, "zebra " + "word " * 300)
    seen: list[str] = []
    for _ in range(20):
        result = agent.result("memory_search", query="zebra", k=100 - len(seen), offset=len(seen))["structuredContent"]
        seen += [note["id"] for note in result["result"]]
        assert all(len(note["body"]) > 150 for note in result["result"])
        if "next_offset" not in result:
            break
        assert (result["total"], result["next_offset"]) == (100, len(seen))
    assert seen == [note.id for note in store.search("zebra", k=100)]


def test_the_best_hit_is_shown_with_as_much_of_its_body_as_fits(store: MemoryStore, agent: Agent) -> None:
    fill(store, 8, "zebra " + "word " * 2_000)
    found = agent("memory_search", query="zebra")
    assert len(found) == 8
    assert all(CUT.search(note["body"]) for note in found)
    assert sum(len(note["body"]) for note in found) > 7_000


def test_titles_tags_and_projects_of_any_length_are_bounded(store: MemoryStore, agent: Agent) -> None:
    long = "\U000e0041é" * 500
    note = Memory("n1", "semantic", long, "zebra", long, long, tags=[f"{number}{long}" for number in range(50)])
    store.put(note)
    store.put(replace(note, id="n2", tags=[str(number) for number in range(2_000)]))
    for tool, more in (("memory_list", {}), ("memory_search", {"query": "zebra"}), ("memory_get", {"id": "n1"})):
        agent(tool, **more)
        agent(tool, explain=True, **more)
    agent("memory_status")
    agent("memory_delete", id="n1")


def test_a_status_names_the_projects_with_most_notes(store: MemoryStore, agent: Agent) -> None:
    store.put_all(
        Memory(f"n{number}", "semantic", "t", "b", f"github.com/somebody/project-{number}") for number in range(150)
    )
    store.put(Memory("more", "semantic", "t", "b", "github.com/somebody/project-7"))
    status = agent("memory_status")
    assert (status["total"], status["projects"]) == (151, 150)
    assert next(iter(status["by_project"].items())) == ("github.com/somebody/project-7", 2)
    assert len(status["by_project"]) == 100


TAGS = st.lists(st.text(max_size=30), max_size=5)
NOTES = st.lists(st.tuples(st.text(max_size=80), st.text(max_size=40), st.integers(0, 700), TAGS), max_size=12)


@given(NOTES)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_the_budget_holds_whatever_the_notes_say(tmp_path_factory: pytest.TempPathFactory, notes: list[Any]) -> None:
    with MemoryStore(tmp_path_factory.mktemp("store")) as store:
        store.put_all(
            Memory(f"n{number}", "semantic", f"t {title}", f"zebra {part * count}", tags=tags)
            for number, (title, part, count, tags) in enumerate(notes)
        )
        agent = Agent(store)
        agent("memory_search", query="zebra", k=30)
        agent("memory_list", explain=True)
        for note in store.list():
            assert agent.read(note.id) == store.get(note.id).body


def test_search_memories_is_the_search_without_a_server(store: MemoryStore, agent: Agent) -> None:
    """For scripts, in the specified shape, and not cut."""
    body = "zebra " * 20_000
    store.write(type="semantic", title="t", body=body, project="acme")
    (found,) = search_memories(store, "zebra", project="acme", type="semantic", scope="portable", k=3)
    assert list(found) == [*KEYS, "body"]
    assert found["body"] == body
    assert search_memories(store, "zebra", project="other") == []


def test_a_note_is_read_with_the_ids_and_titles_of_related_ones(store: MemoryStore, agent: Agent) -> None:
    written = [
        store.write(type="semantic", title=title, body="kubectl rollout restart deployment web")
        for title in ("Pods", "Restart the pods", "Restarting pods in the cluster")
    ]
    store.write(type="semantic", title="Pancakes", body="Two eggs.")
    note, *others = written
    assert "related" not in agent("memory_get", id=note.id)
    named = {(each.id, each.title) for each in others}
    assert {(each["id"], each["title"]) for each in agent("memory_get", id=note.id, related=True)["related"]} == named
    assert len(agent("memory_get", id=note.id, related=1)["related"]) == 1
    assert len(agent("memory_get", id=note.id, related="1")["related"]) == 1
    assert "related" not in agent("memory_get", id=note.id, related=False)
    refused = agent.result("memory_get", id=note.id, related="many")
    assert refused["content"][0]["text"] == 'related is "many", but must be a whole number, true or false.'


def test_a_write_returns_the_notes_that_say_nearly_the_same(store: MemoryStore, agent: Agent) -> None:
    old = store.write(type="semantic", title="Restart pods", body="kubectl rollout restart deployment web")
    store.embed()
    text = {"title": "RESTART pods", "body": "Kubectl rollout restart deployment web."}
    new = agent("memory_write", type="semantic", **text)
    assert new["resembles"] == [{"id": old.id, "title": "Restart pods"}]
    assert "resembles" not in agent("memory_update", id=new["id"], tags=["k8s"])
    assert "resembles" not in agent("memory_update", id=new["id"], title="Pancakes", body="Two eggs, flour.")
    assert agent("memory_update", id=new["id"], **text)["resembles"] == [{"id": old.id, "title": "Restart pods"}]
