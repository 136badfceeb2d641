"""Every answer of the hub says whose a note is: each tool, route and page, for another member's note and an import."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.hub.running import Client, RunningHub, text_of
from tests.postgres import Postgres

from anamnesis.hub import accounts
from anamnesis.hub.database import administrator
from anamnesis.notes import parse, render
from anamnesis.notes.merge import set_aside

MATE, IMPORT, OWN = "01KDWHZ400000000000000MATE", "01KDWHZ4000000000000001MPT", "01KDWHZ4000000000000000WNE"
ORIGINS = {MATE: "mate in the space core", IMPORT: "imported from alice"}
EPISODES = [f"01KDWHZ4000000000000000EP{number}" for number in range(2)]

Ask = Callable[[Client], Any]


@pytest.fixture(scope="module")
def hub(postgres: Postgres) -> Iterator[RunningHub]:
    with RunningHub(postgres.new_hub()) as running:
        you, mate = running.user("you", core="writer"), running.user("mate", core="writer")
        mate.put("core", MATE, text_of(MATE, "zebra of the mate.", "Mate's way"))
        you.put("core", OWN, text_of(OWN, "zebra of mine.", "My way"))
        you.put(
            "~you", IMPORT, text_of(IMPORT, "zebra of alice.", "Alice's way", prov_source="import", machine_id="alice")
        )
        with administrator(running.database) as db:
            accounts.give_project(db, accounts.find_space(db, "core"), "acme")
        for id in EPISODES:
            mate.put("core", id, text_of(id, "We decided to use kubectl.", "Session", type="episodic", project="acme"))
        yield running


def speak(client: Client, method: str, **params: Any) -> Any:
    return client("/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).json["result"]


def tool(client: Client, name: str, **arguments: Any) -> Any:
    result = speak(client, "tools/call", name=name, arguments=arguments)
    assert not result.get("isError"), result
    return result["structuredContent"]


def each(ask: Callable[[Client, str], Any]) -> Ask:
    return lambda client: [ask(client, note) for note in (MATE, IMPORT)]


ASKED: dict[str, Ask] = {
    "memory_search": lambda you: tool(you, "memory_search", query="zebra"),
    "memory_list": lambda you: tool(you, "memory_list"),
    "memory_get": each(lambda you, of: tool(you, "memory_get", id=of, related=True)),
    "memory_update": each(lambda you, of: tool(you, "memory_update", id=of, tags=["seen"])),
    "resources/list": lambda you: speak(you, "resources/list"),
    "resources/read": each(lambda you, of: speak(you, "resources/read", uri=f"memory://note/{of}")),
    "/v1/search": lambda you: you("/v1/search?q=zebra").json,
    "/ui/": lambda you: you("/ui/").json,
    "/ui/notes": lambda you: you("/ui/notes").json,
    "/ui/notes?q=": lambda you: you("/ui/notes?q=zebra").json,
    "/ui/notes/{id}": each(lambda you, of: you(f"/ui/notes/{of}").json),
    "/ui/notes/{id}/history": lambda you: [
        you(f"/ui/notes/{of}/history?space={space}").json for of, space in ((MATE, "core"), (IMPORT, "~you"))
    ],
}


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects_in(inner)


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_says_whose_a_note_is(hub: RunningHub, name: str) -> None:
    answer = ASKED[name](hub.user("you"))
    for origin in ORIGINS.values():
        assert origin in json.dumps(answer)
    for found in objects_in(answer):
        if "title" in found and (id := found.get("id") or found.get("name")) in ORIGINS:
            assert ORIGINS[id] in json.dumps(found)
            assert found.get("unreviewed") or "not reviewed" in json.dumps(found)
        if found.get("title") == "My way":
            assert not {"origin", "unreviewed"} & found.keys()


def test_the_mcp_says_who_wrote_and_not_which_machine_a_note_names(hub: RunningHub) -> None:
    """The machine is a claim of whoever wrote the text."""
    you, mate = hub.user("you"), hub.user("mate")
    mate.put("core", "NAMED", text_of("NAMED", "giraffe", "Named", machine_id="your-laptop"))
    found = tool(you, "memory_search", query="giraffe")["result"] + tool(you, "memory_list")["result"]
    named = [tool(you, "memory_get", id="NAMED"), *(note for note in found if note["id"] == "NAMED")]
    assert [(note["author"], note["machine_id"]) for note in named] == [("mate", "your-laptop")] * 3
    assert tool(you, "memory_update", id="NAMED", tags=["seen"])["author"] == "you"


def test_to_its_author_it_is_the_authors_own(hub: RunningHub) -> None:
    mate = hub.user("mate")
    (found,) = [note for note in tool(mate, "memory_search", query="zebra mate")["result"] if note["id"] == MATE]
    assert "origin" not in found or "you" in found["origin"]  # "you" may have changed its tags by now
    (own,) = [note for note in tool(hub.user("you"), "memory_list")["result"] if note["id"] == OWN]
    assert "origin" not in own


def test_a_copy_of_anothers_version_that_one_sends_is_not_ones_own(hub: RunningHub) -> None:
    you = hub.user("you")
    copy = set_aside(parse(text_of(MATE, "zebra of the mate, before.", "Mate's way")))
    you.put("core", copy.id, render(copy))
    assert tool(you, "memory_get", id=copy.id)["origin"] == ORIGINS[MATE]


def test_a_lesson_of_anothers_episodes_is_not_ones_own(hub: RunningHub) -> None:
    you = hub.user("you")
    text = speak(you, "prompts/get", name="reflect", arguments={})["messages"][0]["content"]["text"]
    assert text.count("foreign: mate in the space core, not reviewed by the user") == len(EPISODES)
    lesson = {"title": "Deploying", "body": "Use kubectl.", "type": "semantic", "sources": EPISODES}
    (written,) = tool(you, "memory_reflect", notes=[lesson], model="m")["written"]
    assert written["origin"] == "imported from mate-in-the-space-core" and written["unreviewed"]


def test_a_note_waits_for_its_review_behind_many_that_need_none(hub: RunningHub) -> None:
    new, old = hub.user("new", crowd="writer"), hub.user("old", crowd="writer")
    with administrator(hub.database) as db:
        accounts.give_project(db, accounts.find_space(db, "crowd"), "busy")
    new.put("~new", "WAITS", text_of("WAITS", prov_source="import", updated_at="2026-01-01T00:00:00+00:00"))
    texts = {
        f"TOLD{number:03}": text_of(f"TOLD{number:03}", project="busy", prov_source="import") for number in range(120)
    }
    changes = [{"space": "crowd", "id": id, "base": 0, "text": text} for id, text in texts.items()]
    assert old("/v1/changes", {"machine": "desk", "changes": changes}).status == 200
    assert [each["id"] for each in new("/ui/review").json["waiting"]] == ["WAITS"]
