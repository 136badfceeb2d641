"""A project that a space is given shows the team only what its owner wrote for it or shared, and everybody is told."""

from __future__ import annotations

import json
from typing import Any

from tests.hub.running import RunningHub
from tests.hub_client.conftest import People, Person
from tests.hub_client.test_acceptance import call, sync, told

from anamnesis.hub import accounts
from anamnesis.hub.database import administrator

FALCON = "acme/falcon"


def give(running: RunningHub, space: str = "core", project: str = FALCON) -> None:
    with administrator(running.database) as db:
        accounts.give_project(db, accounts.find_space(db, space), project)


def titles(machine: Person) -> list[str]:
    sync(machine)
    return machine.titles()


def serve(machine: Person, *calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers of a machine's MCP server to calls of tools."""
    lines = [
        {"method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}},
        *({"method": "tools/call", "params": {"name": name, "arguments": given}} for name, given in calls),
    ]
    sent = "".join(f"{json.dumps({'jsonrpc': '2.0', 'id': id, **line})}\n" for id, line in enumerate(lines))
    answers = sorted(map(json.loads, machine("serve", stdin=sent).out.splitlines()), key=lambda each: int(each["id"]))
    return [each["result"]["structuredContent"] for each in answers[1:]]


def capture(machine: Person, session: str, *, starts: bool) -> str:
    """The start of a session, if its hook runs, and its capture; returns what the session was told."""
    path = machine.folder / f"{session}.jsonl"
    texts = [("user", f"Add a retry to the uploader of {session}."), ("assistant", "The uploader retries thrice.")]
    path.write_text(
        "".join(
            json.dumps(
                {
                    "type": role,
                    "uuid": f"u{number}",
                    "sessionId": session,
                    "cwd": str(machine.folder),
                    "timestamp": f"2026-08-01T10:00:{number:02d}.000Z",
                    "message": {"id": f"m{number}", "role": role, "model": "claude-x", "content": text},
                }
            )
            + "\n"
            for number, (role, text) in enumerate(texts)
        )
    )
    event = {"session_id": session, "transcript_path": str(path), "cwd": str(machine.folder)}
    said = machine("inject", "--project", FALCON, stdin=json.dumps(event)).out if starts else ""
    done = machine("capture", "--project", FALCON, "--no-sync", stdin=json.dumps(event))
    assert (done.code, done.err) == (0, "")
    return said


def test_what_existed_before_stays_private_until_its_owner_answers_for_it(running: RunningHub, person: People) -> None:
    you, mate = running.user("you", core="writer"), running.user("mate", core="reader")
    desk, laptop, other = person("desk"), person("laptop"), person("other")
    for machine, client in ((desk, you), (laptop, you), (other, mate)):
        machine.login(running, client.token)
    desk.write("Salary", "I asked for more.", "--project", FALCON)
    desk.write("Diary", "Dear diary.")
    sync(desk, laptop)
    offline = laptop.write("Offline", "Written before this machine knew.", "--project", FALCON)
    give(running)

    said = desk("sync", "--json").json["hub"]["detail"]
    assert said == (
        f"the space core, which others read, gets your new notes of the project {FALCON}, and 1 earlier one stays your"
        " own; see `anamnesis space`"
    )
    assert desk("sync", "--json").json["hub"]["detail"] == "synced"
    sync(laptop, desk)
    assert titles(other) == [] and mate.sync()["core"]["seq"] == 0
    assert {each["id"] for each in you.sync()["~you"]["changes"]} >= {offline}

    first = desk("write", "Deploy", "Deploy with kubectl.", "--project", FALCON)
    second = desk("write", "Tests", "Run them twice.", "--project", FALCON, "--json")
    assert f"The project {FALCON} belongs to the space core: its members read this note and your later" in first.err
    assert (second.json["space"], second.err) == ("core", "It goes to the space core, whose members read it.\n")
    private = desk("write", "Boss", "Is away.", "--project", FALCON, "--space", "~")
    assert (private.code, private.err) == (0, "")
    assert desk("write", "Here", "Local.", "--project", FALCON, "--scope", "machine-local").err == ""
    assert "belongs to the space core" in desk("show", first.out.strip()).err
    assert "space" not in desk("show", private.out.strip(), "--json").json
    assert "space core" in desk.on_terminal("show", first.out.strip())
    assert f"{FALCON} · space core #later" in desk("tag", first.out.strip(), "later").out
    assert desk("sync", "--json").json["hub"]["sent_to"] == {"core": 2}
    assert titles(other) == ["Deploy", "Tests"]

    for machine in (desk, laptop):
        sync(machine)
        (listed,) = machine("space", "--json").json["unshared"]
        assert sorted(each["title"] for each in listed["notes"]) == ["Offline", "Salary"]
        assert (listed["project"], listed["spaces"]) == (FALCON, ["core"])
    assert f"unshared\t{FALCON}\tcore\t2\n" in desk("space").out
    assert "anamnesis space share" in desk.on_terminal("space")
    refused = desk("space", "share")
    assert refused.code == 1 and "would be read by everybody in core" in refused.err
    assert titles(desk) and titles(other) == ["Deploy", "Tests"]

    assert desk("space", "keep", FALCON, "--json").json[0]["space"] == "~own"
    sync(desk, laptop)
    assert desk("space", "--json").json["unshared"] == laptop("space", "--json").json["unshared"] == []
    assert titles(other) == ["Deploy", "Tests"]


def test_the_owner_shares_all_that_waits_with_one_answer(running: RunningHub, person: People) -> None:
    you, mate = running.user("you", core="writer"), running.user("mate", core="reader")
    desk, other = person("desk"), person("other")
    desk.login(running, you.token)
    other.login(running, mate.token)
    for title in ("One", "Two"):
        desk.write(title, "Of the falcon.", "--project", FALCON)
    give(running)
    sync(desk)
    assert desk("space", "share", "acme/other", "--yes").code == 1
    assert desk("space", "share", "--space", "elsewhere", "--yes").code == 1
    assert titles(other) == []
    assert desk("space", "share", "--yes").out == f"To be shared with core: 2 notes of {FALCON}.\n"
    sync(desk)
    assert titles(other) == ["One", "Two"]
    assert desk("space", "share", "--yes").out == "No note waits for your answer.\n"
    with administrator(running.database) as db:
        accounts.take_project(db, accounts.find_space(db, "core"), FALCON)
    sync(desk)
    assert desk("write", "Three", "Later.", "--project", FALCON).err == ""
    sync(desk)
    assert titles(other) == ["One", "Two"], "what is there stays, and later notes do not follow"


def test_a_project_counts_for_the_login_whose_space_has_it(running: RunningHub, person: People) -> None:
    """A note that is written after a logout, or before the first exchange of another login, is sent to nobody."""
    you, mate = running.user("you", core="writer"), running.user("mate", core="writer")
    desk, other = person("desk"), person("other")
    give(running)
    desk.login(running, you.token)
    other.login(running, mate.token)
    sync(desk)
    assert "core" in desk("write", "Shared", "Text.", "--project", FALCON).err
    sync(desk)
    desk("logout")
    assert desk("write", "Alone", "Text.", "--project", FALCON).err == ""
    desk.login(running, you.token)
    assert "core" in desk("write", "Again", "Text.", "--project", FALCON).err
    sync(desk)
    assert titles(other) == ["Again", "Shared"]
    assert [note["title"] for each in desk("space", "--json").json["unshared"] for note in each["notes"]] == ["Alone"]
    guest = running.user("guest", core="writer")
    desk("login", running.url, "--token-stdin", "--keep-apart", stdin=guest.token)
    assert desk("write", "Early", "Text.", "--project", FALCON).err == ""
    sync(desk)
    assert titles(other) == ["Again", "Shared"]


def test_an_agent_and_a_session_are_told_where_their_notes_go(running: RunningHub, person: People) -> None:
    you, mate = running.user("you", core="writer"), running.user("mate", core="reader")
    desk, other = person("desk"), person("other")
    desk.login(running, you.token)
    other.login(running, mate.token)
    give(running)
    before = capture(desk, "before", starts=True)
    sync(desk)
    untold = capture(desk, "untold", starts=False)
    said = capture(desk, "said", starts=True)
    assert ("core" in before, untold) == (False, "")
    assert "this project belongs to the space core, whose members read" in said
    assert "core" not in told(desk, "acme/other")
    note = {"type": "semantic", "body": "The falcon flies at noon.", "project": FALCON}
    first, later, own, elsewhere = serve(
        desk,
        ("memory_write", {**note, "title": "Noon"}),
        ("memory_write", {**note, "title": "Tower", "body": "The tower is to be called first."}),
        ("memory_write", {**note, "title": "Mine", "body": "I dislike early flights.", "space": "~"}),
        ("memory_write", {**note, "title": "Global", "body": "Prefers tabs over spaces.", "project": "global"}),
    )
    assert (first["space"], later["space"]) == ("core", "core")
    assert "notice" not in first, "the session's note was the first, and the session was told"
    assert "space" not in own and "space" not in elsewhere
    sync(desk)
    assert titles(other) == ["Add a retry to the uploader of said", "Noon", "Tower"]


def test_the_hubs_own_tools_say_who_reads_a_note(running: RunningHub, person: People) -> None:
    you, mate = running.user("you", core="writer", ops="writer"), running.user("mate", core="reader", ops="reader")
    for space, project in (("core", FALCON), ("core", "both"), ("ops", "both")):
        give(running, space, project)

    def write(title: str, **more: str) -> Any:
        note = {"type": "semantic", "title": title, "body": f"About {title}.", **more}
        return call(you, "memory_write", **note)["structuredContent"]

    first, second = write("First", project=FALCON), write("Second", project=FALCON)
    assert (first["space"], second["space"]) == ("core", "core")
    assert f"The project {FALCON} belongs to the space core" in first["notice"] and "notice" not in second
    assert [write("Mine", project=FALCON, space="~")["space"], write("Unclear", project="both")["space"]] == [
        "~you",
        "~you",
    ]
    other = person("other")
    other.login(running, mate.token)
    assert titles(other) == ["First", "Second"]


def test_a_project_of_two_spaces_is_told_as_the_users_own_and_its_notes_are_counted_once(
    running: RunningHub, person: People
) -> None:
    desk = person("desk")
    desk.login(running, running.user("you", core="writer", zed="writer").token)
    note = desk.write("Plan", "Fly.", "--project", FALCON)
    sync(desk)
    give(running)
    give(running, "zed", "Acme/Falcon")
    detail = desk("sync", "--json").json["hub"]["detail"]
    assert "gets your new notes" not in detail
    assert detail.count("belongs to the spaces core and zed, so your new notes of it stay your own") == 2
    (waiting,) = desk("space", "--json").json["unshared"]
    assert [each["id"] for each in waiting["notes"]] == [note]
    for project in (FALCON, "Acme/Falcon"):
        refused = desk("space", "share", project, "--yes")
        assert "belongs to core and zed" in refused.err
    assert desk("space", "share", "ACME/falcon", "--space", "zed", "--yes").out.startswith(
        "To be shared with zed: 1 note"
    )
