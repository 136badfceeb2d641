"""A note that a member takes out of a space is out for all others, also of its history; and its author is told."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.exchange.conftest import Machine
from tests.hub.conftest import postgres, shared
from tests.hub.running import Client, RunningHub
from tests.hub.test_ui import Browser
from tests.hub_client.conftest import People
from tests.hub_client.test_acceptance import call

from anamnesis.config import read_settings
from anamnesis.exchange.account import parse_address
from anamnesis.exchange.login import log_in
from anamnesis.notes.spaces import space_line, with_space
from anamnesis.store import MemoryStore

__all__ = ["postgres", "shared"]

SECRET = "The word is xylophone."
_numbers = itertools.count(1)


class Team(NamedTuple):
    """Two members of a space, each with a machine; `join` makes clients of them and of others."""

    space: str
    ann: Machine
    bob: Machine
    join: Callable[[str], Client]

    def share(self, body: str) -> str:
        note = self.ann.write(body, title="Plan", extra=space_line(self.space))
        self.ann.sync(), self.bob.sync()
        return note

    def move(self, note: str, space: str) -> None:
        self.ann.store.update(note, extra=with_space(self.ann.store.get(note), space).extra)


@pytest.fixture
def team(shared: RunningHub, tmp_path: Path) -> Iterator[Team]:
    number = next(_numbers)
    space = f"core{number}"

    def join(name: str) -> Client:
        return shared.user(f"{name}{number}", **{space: "writer"})

    with ExitStack() as opened:

        def machine(name: str) -> Machine:
            log_in(tmp_path / name, parse_address(shared.url), join(name).token)
            settings = read_settings(
                {"ANAMNESIS_HOME": str(tmp_path / name), "ANAMNESIS_MACHINE_ID": f"{name}s"}, tmp_path
            )
            return Machine(f"{name}{number}", opened.enter_context(MemoryStore(tmp_path / name)), settings)

        yield Team(space, machine("ann"), machine("bob"), join)


@pytest.mark.parametrize("how", ["moved", "deleted", "kept on the machine"])
def test_the_history_of_a_note_that_was_taken_out_is_for_its_author(team: Team, how: str) -> None:
    note = team.share(SECRET)
    path = f"/v1/spaces/{team.space}/notes/{note}/versions"
    bob = team.join("bob")
    assert bob(f"{path}/1").status == 200
    if how == "moved":
        team.move(note, "~")
    elif how == "deleted":
        team.ann.store.delete(note)
    else:
        team.ann.store.move(note, "machine-local")
    team.ann.sync()
    for client in (bob, team.join("late")):
        assert client(f"{path}/1").status == 403
        assert [each["closed"] for each in client(path).json["versions"]] == [False, True]
        page = Browser(client.url, client.token).get(f"notes/{note}/history?space={team.space}")
        assert "only its author can read it" in page.text
        for seen in (page.text, client("/v1/export").body.decode(), json.dumps(client.sync())):
            assert "xylophone" not in seen
        assert "xylophone" not in str(call(client, "memory_get", ids=[note]))
    ann = team.join("ann")
    assert ann(f"{path}/1").status == 200
    assert "xylophone" in Browser(ann.url, ann.token).get(f"notes/{note}/history?space={team.space}").text
    assert "xylophone" in ann("/v1/export").body.decode()


def test_a_note_that_is_shared_again_brings_back_none_of_its_earlier_texts(team: Team) -> None:
    note = team.share(SECRET)
    team.move(note, "~")
    team.ann.sync(), team.bob.sync()
    assert team.bob.bodies() == {}
    team.ann.store.update(note, body="Nothing secret.")
    team.move(note, team.space)
    team.ann.sync(), team.bob.sync()
    assert team.bob.bodies() == {note: "Nothing secret."}
    path = f"/v1/spaces/{team.space}/notes/{note}/versions"
    late = team.join("late")
    assert [each["closed"] for each in late(path).json["versions"]] == [False, False, True]
    assert [late(f"{path}/{version}").status for version in (1, 3)] == [403, 200]


def test_the_hub_lets_nobody_else_bring_it_back(team: Team) -> None:
    note = team.share(SECRET)
    ann, bob = team.join("ann"), team.join("bob")
    text = bob(f"/v1/spaces/{team.space}/notes/{note}").json["text"]
    assert bob.put(team.space, note, text + "More.\n", 1)["version"] == 2
    assert ann.put(team.space, note, None, 2)["version"] == 3
    refused = bob.put(team.space, note, text, 3)
    assert refused["taken_by"] == team.ann.user and "took this note out" in refused["refused"]
    browser = Browser(bob.url, bob.token)
    assert browser.send(f"notes/{note}/restore", space=team.space, version="1").status == 403
    answer = browser.send(f"notes/{note}/restore", space=team.space, version="2")
    assert answer.status == 303, answer.text
    (own,) = bob.sync()[f"~{team.bob.user}"]["changes"]
    assert own["id"] != note and own["id"] in answer.headers["location"] and "More." in own["text"]
    assert [each["text"] for each in team.join("late").sync()[team.space]["changes"]] == [None]
    assert ann.put(team.space, note, text, 3)["version"] == 4, "who took it out may bring it back"


def test_commands_say_what_becomes_of_a_note_of_others_and_a_sync_tells_them_once(
    team: Team, shared: RunningHub, person: People
) -> None:
    desk = person("desk")
    desk.login(shared, team.join("bob").token)
    moved, kept, gone = (team.share(body) for body in ("To move.", "To keep.", "To delete."))
    own = desk.write("Own", "Own.", "--space", team.space)
    assert desk("sync").code == 0
    for note, done in (
        (moved, desk("move", moved, "--space", "~")),
        (kept, desk("move", kept, "--scope", "machine-local")),
    ):
        assert f"{team.ann.user} wrote in {note}." in done.err and f"stays in {team.space}" in done.err
    assert (
        f"takes {own} out of {team.space}. What its members have synced stays" in desk("move", own, "--space", "~").err
    )
    assert f"deletes {gone} for all members of {team.space}." in desk("delete", gone).err
    told = desk("sync", "--json").json["hub"]["news"]
    assert len(told) == 2
    assert all(each.startswith(f"“Plan” is {team.ann.user}'s and stays in the space {team.space}: ") for each in told)
    assert [desk("sync", "--json").json["hub"]["news"], desk("space", "--json").json["news"]] == [[], []]
    ann = team.ann
    ann.sync()  # as a daemon does, whose result nobody reads
    assert ann.bodies() == {moved: "To move.", kept: "To keep."}
    (sentence,) = ann.sync().news
    assert sentence == (
        f"{team.bob.user} took “Plan” out of the space {team.space}, and it is in your trash;"
        f" `anamnesis restore {gone}` makes it a note of your own."
    )
    assert f"taken out of the space {team.space}: the next sync" in desk("restore", gone).err
    desk("sync"), ann.sync()
    assert gone in ann.bodies(), "who deleted it may bring it back"
    laptop = person("laptop")
    laptop.variables["ANAMNESIS_HOME"] = str(ann.store.root)
    assert sentence in laptop("space").out
    assert sentence in laptop("sync").out
    assert "news" not in laptop("sync").out
    ann.store.write(type="semantic", title="Zither", body="Last.", extra=space_line(team.space))
    (last,) = (note for note, body in ann.bodies().items() if body == "Last.")
    ann.sync()
    assert desk("sync").code == 0
    assert desk("delete", last, "--yes").code == desk("sync").code == 0
    assert "Zither" in ann.sync().news[0]
    restored = laptop("restore", last)
    assert (restored.code, "becomes a note of your own" in restored.err) == (0, True)
    (again,) = ann.sync().news[1:]
    assert f"as {team.bob.user} took it out of the space {team.space}. To share it again: anamnesis move" in again
    assert laptop("delete", last, "--purge", "--yes").code == 0
    assert laptop("delete", "Zither", "--purge", "--yes").code == 0
    assert ann.sync().news == ()
    assert all(b"Zither" not in path.read_bytes() for path in ann.store.root.glob("hub.db*"))
