"""The real command line of several users and machines, against a real hub."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

from tests.cli.command import Done
from tests.hub.running import RunningHub, text_of
from tests.hub.test_ui import Browser
from tests.hub_client.conftest import People
from tests.sync.machine import bare
from tests.waiting import wait_until

from anamnesis.hub import accounts
from anamnesis.hub.database import administrator


def test_a_team_of_two_on_three_machines(running: RunningHub, person: People) -> None:
    you = running.user("you", core="writer")
    mate = running.user("mate", core="reader")
    desk, laptop, other = person("desk"), person("laptop"), person("other")
    desk.login(running, you.token)
    laptop.login(running, you.token)
    other.login(running, mate.token)

    plan = desk.write("Release plan", "first\nsecond\nthird", "--space", "core")
    desk.write("Diary", "private")
    desk.write("Here", "never leaves", "--scope", "machine-local")
    assert desk("sync", "--json").json["hub"]["sent"] == 2
    assert laptop("sync", "--json").json["hub"]["received"] == 2
    assert other("sync", "--json").json["hub"]["received"] == 1
    assert other.titles() == ["Release plan"]
    assert laptop.titles() == ["Diary", "Release plan"]

    other("tag", plan, "wanted")
    assert other("sync", "--json").json["hub"]["waiting"] == 1
    status = other("status", "--json").json["hub"]
    assert {each["name"]: each["role"] for each in status["spaces"]} == {"~mate": "owner", "core": "reader"}
    assert [each["note"] for each in status["waiting"]] == [plan]
    assert "You may only read the space core." in other("space").out

    assert laptop("move", plan, "--space", "~").code == 0
    for each in (laptop, other, desk):
        assert each("sync").code == 0
    assert desk.titles() == ["Diary", "Here", "Release plan"]
    assert other.titles() == ["Release plan"], "an edit that could not be sent is kept"


def test_each_failure_is_one_sentence(running: RunningHub, person: People) -> None:
    desk = person("desk")
    assert "would get the token unencrypted" in desk("login", "http://example.com").err
    assert "does not accept the token" in desk("login", running.url, "--token-stdin", stdin="anh_x").err
    assert "Check the address" in desk("login", "http://127.0.0.1:1", "--token-stdin", stdin="anh_x").err
    assert "not logged in" in desk("space").err
    assert not (desk.home / "hub.json").exists()
    you = running.user("you")
    desk.login(running, you.token)
    assert os.stat(desk.home / "hub.json").st_mode & 0o077 == 0
    desk.write("a", "b", "--space", "core")
    assert desk("sync").code == 0
    assert "You have no space core" in desk("doctor").out
    with administrator(running.database) as db:
        for token in accounts.list_tokens(db):
            accounts.revoke_token(db, token["id"])
    assert _one_sentence(desk("sync"), "does not accept the token")
    assert "does not accept the token" in desk("status", "--json").json["hub"]["failure"]["reason"]
    account = (desk.home / "hub.json").read_text()
    (desk.home / "hub.json").write_text(account.replace(running.url, "http://127.0.0.1:1"))
    assert _one_sentence(desk("sync"), "cannot be reached")
    assert you.token not in (desk.home / "anamnesis.log").read_text()
    desk("logout")
    assert "hub" not in desk("sync", "--json").json


def _one_sentence(done: Done, words: str) -> bool:
    return done.code == 1 and len(done.err.splitlines()) == 1 and words in done.err


def test_a_hub_that_cannot_be_reached_is_told_everywhere_with_the_notes_that_it_lacks(
    running: RunningHub, person: People
) -> None:
    desk, laptop = person("desk"), person("laptop")
    you = running.user("you")
    for each in (desk, laptop):
        each.login(running, you.token)
    known = desk.write("Known", "old")
    assert desk("sync").code == 0
    account = (desk.home / "hub.json").read_text()
    (desk.home / "hub.json").write_text(account.replace(running.url, "http://127.0.0.1:1"))
    desk.write("New", "not sent")
    desk.write("Here", "never sent", "--scope", "machine-local")
    desk("tag", known, "edited")
    assert desk("status", "--json").json["hub"]["unsent"] == 2

    done = desk("sync", "--json")
    assert (done.code, done.json["hub"]["unsent"]) == (1, 2)
    assert "cannot be reached" in done.err and "2 notes are not sent yet." in done.err
    first = desk("space", "--json").json["failure"]
    desk("sync")
    assert desk("space", "--json").json["failure"]["since"] == first["since"] == first["at"]
    assert "2 notes are not sent yet" in desk.on_terminal("status")
    assert "unsent\t2\n" in desk("space").out
    assert "hub\tunsent\t2\n" in desk("status").out
    examined = desk("doctor")
    assert examined.code == 1 and "cannot be reached" in examined.out and "2 notes are not sent yet." in examined.out
    assert laptop.titles() == []

    (desk.home / "hub.json").write_text(account)
    assert desk("sync").code == 0
    assert desk("doctor").code == 0
    facts = desk("space", "--json").json
    assert (facts["failure"], facts["unsent"]) == (None, 0)
    assert laptop("sync").code == 0
    assert laptop.titles() == ["Known", "New"]


def test_a_hub_without_room_is_told_once_and_gets_everything_when_it_has_room(
    running: RunningHub, person: People
) -> None:
    desk = person("desk")
    you = running.user("you")
    desk.login(running, you.token)
    with administrator(running.database) as db:
        db.execute("""
            CREATE FUNCTION anamnesis.no_room() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE disk_full USING MESSAGE = 'could not extend file'; END $$
        """)
        db.execute("CREATE TRIGGER no_room BEFORE INSERT ON anamnesis.versions EXECUTE FUNCTION anamnesis.no_room()")
    for title in ("One", "Two", "Three"):
        desk.write(title, "body")
    done = desk("sync")
    assert _one_sentence(done, "The disk of the hub's database is full"), done.err
    assert "3 notes are not sent yet." in done.err
    assert "The disk of the hub's database is full" in desk("doctor").out
    with administrator(running.database) as db:
        db.execute("DROP TRIGGER no_room ON anamnesis.versions")
    assert desk("sync").code == 0
    assert len(you.sync()["~you"]["changes"]) == 3


def test_a_confirmed_code_logs_in(running: RunningHub, person: People) -> None:
    running.user("you")
    desk = person("desk")
    done: list[str] = []
    waiting = threading.Thread(target=lambda: done.append(desk("login", running.url, "--json").json["user"]))
    waiting.start()

    def codes() -> list[str]:
        with administrator(running.database) as db:
            return [row["user_code"] for row in db.execute("SELECT user_code FROM anamnesis.devices").fetchall()]

    wait_until(lambda: bool(codes()))
    with administrator(running.database) as db:
        db.execute("SELECT anamnesis.enter_user('you', '{read,write}')")
        accounts.approve_device(db, codes()[0], "you")
    waiting.join()
    assert done == ["you"]


def test_an_invitation_is_named_once_listed_and_accepted_or_declined_on_the_machine(
    running: RunningHub, person: People
) -> None:
    boss, you = running.user("boss", "admin", core="owner", spam="owner"), running.user("you")
    owner, desk = Browser(running.url, boss.token), person("desk")
    for id, space in (("N1", "core"), ("N2", "spam")):
        boss.put(space, id, text_of(id, "Theirs.", title=f"In {space}", tags=["pinned"]))
        owner.send(f"spaces/{space}/members", user="you", role="writer")
    owner.send("spaces/core/projects", project="github.com/you/app")
    desk.login(running, you.token)
    desk.write("Mine", "About the app.", "--project", "github.com/you/app")

    subprocess.run(
        [sys.executable, "-m", "anamnesis", "sync"],
        env=desk.variables,
        cwd=desk.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )  # as a hook starts it: nobody reads what it says
    first, second = desk("sync", "--json").json["hub"], desk("sync", "--json").json["hub"]
    assert first["detail"] == "; ".join(
        f"you are invited to the space {name}; see `anamnesis space`" for name in ("core", "spam")
    )
    assert (first["received"], second["detail"], second["invitations"]) == (0, "synced", 2)
    assert boss.sync()["core"]["seq"] == 1, "nothing was sent"
    assert desk("space", "--json").json["invitations"] == [
        {"space": "core", "role": "writer", "inviter": "boss", "projects": ["github.com/you/app"]},
        {"space": "spam", "role": "writer", "inviter": "boss", "projects": []},
    ]
    assert "invitation\tspam\twriter\tboss\t" in desk("space").out
    shown = desk.on_terminal("space")
    assert "invites you to be a writer of" in shown and "anamnesis space accept core" in shown

    assert desk("space", "accept", "core", "--json").json == {"space": "core", "role": "writer", "accepted": True}
    assert desk("space", "decline", "spam").out == "The invitation to spam is declined.\n"
    assert _one_sentence(desk("space", "accept", "spam"), "There is no invitation to a space 'spam' for you.")
    assert desk("status", "--json").json["hub"]["invitations"] == []
    told = "the space core, which others read, gets your new notes of the project github.com/you/app, and 1 earlier one"
    told += " stays your own; see `anamnesis space`"
    assert desk("sync", "--json").json["hub"] == {**second, "received": 1, "invitations": 0, "detail": told}
    assert desk("sync", "--json").json["hub"]["detail"] == "synced"
    assert desk.titles() == ["In core", "Mine"]
    assert [each["author"] for each in boss.sync()["core"]["changes"]] == ["boss"]


def test_a_note_that_the_database_refuses_waits_alone_with_the_reason(running: RunningHub, person: People) -> None:
    with administrator(running.database) as db:
        db.execute("ALTER TABLE anamnesis.notes ADD CONSTRAINT no_curse CHECK (title <> 'Cursed')")
    desk, laptop = person("desk"), person("laptop")
    you = running.user("you")
    for each in (desk, laptop):
        each.login(running, you.token)
    for title in ("One", "Cursed", "Two"):
        desk.write(title, "body")
    assert desk("sync").code == 0
    desk.write("Three", "body")
    assert desk("sync").code == 0
    assert "The hub's database cannot store it: new row for relation" in desk("space").out
    assert laptop("sync").code == 0
    assert laptop.titles() == ["One", "Three", "Two"]


def test_an_edit_that_git_brings_back_stays_out_of_the_space(running: RunningHub, person: People) -> None:
    """One machine of a user takes a note out of a space while another one, with which git connects it, edits it."""
    you, mate = running.user("you", core="writer"), running.user("mate", core="writer")
    desk, laptop, other = person("desk"), person("laptop"), person("other")
    remote = bare(desk.folder / "remote.git")
    for each, client in ((desk, you), (laptop, you), (other, mate)):
        each.login(running, client.token)
    for each in (desk, laptop):
        assert each("config", "set", "remote", str(remote)).code == 0
    note = desk.write("Plan", "first", "--space", "core")
    for each in (desk, laptop, other):
        assert each("sync").code == 0
    assert desk("delete", note).code == 0
    file = laptop.home / "memory" / "semantic" / f"{note}.md"
    file.write_text(file.read_text() + "second\n")
    for each in (desk, laptop, desk, other, laptop):
        assert each("sync").code == 0
    assert other.titles() == []
    shown = laptop("show", note, "--json").json
    assert shown["body"] == "first\nsecond" and "space" not in shown
    assert note in laptop("review").out and "changed on another" in laptop("show", note).err
