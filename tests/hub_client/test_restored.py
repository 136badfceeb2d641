"""What a restored hub gives back, and what it does not: seen by every member's machine and by a new one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.hub.running import Client, RunningHub
from tests.hub.test_commands import Run, refused, run, said
from tests.hub_client.conftest import People, Person
from tests.postgres import Postgres

from anamnesis.hub.database import administrator

__all__ = ["run"]

BODIES = {
    "kept": "kept as it was",
    "deleted": "deleted after the backup",
    "stale": "deleted, and unread by a machine since",
    "edited": "deleted, and edited elsewhere",
    "moved": "moved to a space of one's own",
    "erased": "erased for good",
    "changed": "before the change",
}
Team = Mapping[str, Person]


def synced(*machines: Person) -> None:
    for each in machines:
        done = each("sync")
        assert done.code == 0, done.err


def bodies(machine: Person) -> set[str]:
    return {body_of(file.read_text("utf-8")) for file in (machine.home / "memory").rglob("*.md")}


def body_of(text: str) -> str:
    return text.rsplit("---\n", 1)[1].strip()


def edit(machine: Person, body: str, new: str) -> None:
    (file,) = (each for each in (machine.home / "memory").rglob("*.md") if body in each.read_text("utf-8"))
    file.write_text(file.read_text("utf-8").replace(body, new), "utf-8")


def in_space(client: Client, space: str) -> set[str]:
    notes = client.sync()[space]["changes"]
    return {body_of(each["text"]) for each in notes if each["text"]}


def holds(database: str, text: str) -> bool:
    """Whether any version of any note in the hub's database has a text."""
    with administrator(database) as db:
        return bool(
            db.execute("SELECT FROM anamnesis.versions WHERE text LIKE %(text)s", {"text": f"%{text}%"}).fetchall()
        )


@pytest.mark.parametrize("first", ["you", "mate", "away"])
def test_what_ended_after_a_backup_stays_ended_whoever_syncs_first(
    run: Run, hub_url: str, postgres: Postgres, person: People, tmp_path: Path, first: str
) -> None:
    file, log = tmp_path / "hub.zip", tmp_path / "log.json"
    team: dict[str, Person] = {name: person(name) for name in ("you", "mate", "away")}
    with RunningHub(hub_url) as hub:
        you, mate = hub.user("you", core="writer"), hub.user("mate", core="writer")
        gone, lost = hub.user("gone", core="writer"), hub.user("mate")
        for name, client in {"you": you, "mate": mate, "away": mate}.items():
            team[name].login(hub, client.token)
        ids = {name: team["you"].write(name, body, "--space", "core") for name, body in BODIES.items()}
        synced(*team.values())
        said(run("backup", str(file), "--json"))
        for name in ("deleted", "stale", "edited"):
            assert team["you"]("delete", ids[name]).code == 0
        assert team["you"]("move", ids["moved"], "--space", "~").code == 0
        edit(team["you"], BODIES["changed"], "after the change")
        assert run("erase", "note", "core", ids["erased"], "--yes").exit_code == 0
        team["you"].write("new", "written after the backup", "--space", "core")
        synced(team["you"], team["mate"])
        edit(team["away"], BODIES["edited"], "edited while away")
        revoked = max(each["id"] for each in said(run("token", "list", "--json"))["tokens"])
        said(run("token", "revoke", str(revoked), "--json"))
        said(run("user", "leave", "gone", "--json"))
        log.write_text(run("audit", "--no-notes", "--json", "-n", "1000").stdout)
        port = hub.address[1]

    new = postgres.url(postgres.new_database())
    restored = said(run("restore", str(file), "--log", str(log), "--database", new, "--json"))
    assert [each["action"] for each in restored["repeated"]] == ["note erase", "token revoke", "user leave"]
    assert restored["tokens_ended"] == 0
    assert not holds(new, BODIES["erased"])
    with RunningHub(new, port=port) as hub:
        assert (lost("/v1/me").status, gone("/v1/me").status, you("/v1/me").status) == (401, 401, 200)
        own = set[str]()
        order = [first, *(name for name in team if name != first)]
        for _ in range(2):
            synced(*(team[name] for name in order))
        shared = {"kept as it was", "after the change", "written after the backup"}
        # Its deletion wins where it was known first; then the edit is a note of its editor's own.
        (shared if first == "away" else own).add("edited while away")
        assert in_space(mate, "core") == shared
        assert in_space(mate, "~mate") == own
        assert bodies(team["mate"]) == bodies(team["away"]) == shared | own
        assert bodies(team["you"]) == shared | {BODIES["moved"]}
        assert not holds(new, BODIES["erased"])
        newcomer = person("newcomer")
        newcomer.login(hub, hub.user("newcomer", core="reader").token)
        synced(newcomer)
        assert bodies(newcomer) == shared


def test_without_a_log_every_token_ends_and_a_new_login_goes_on_where_the_machine_was(
    run: Run, hub_url: str, postgres: Postgres, person: People, tmp_path: Path
) -> None:
    file, new = tmp_path / "hub.zip", postgres.url(postgres.new_database())
    desk = person("desk")
    with RunningHub(hub_url) as hub:
        you = hub.user("you", core="writer")
        desk.login(hub, you.token)
        plan = desk.write("Plan", BODIES["deleted"], "--space", "core")
        desk.write("Diary", BODIES["kept"])
        synced(desk)
        said(run("backup", str(file), "--json"))
        assert desk("delete", plan).code == 0
        synced(desk)
        port = hub.address[1]
    (tmp_path / "other.json").write_text('{"entries": []}')
    other = run("restore", str(file), "--log", str(tmp_path / "other.json"), "--database", new)
    assert "does not continue this backup" in refused(other)
    (tmp_path / "other.json").write_text("[]")
    assert "is not the audit log" in refused(
        run("restore", str(file), "--log", str(tmp_path / "other.json"), "--database", new)
    )
    told = run("restore", str(file), "--database", new).stdout
    assert "Ended 1 token: every member logs in again" in told
    assert "Who left and what was erased after the backup is back in the hub." in told
    with RunningHub(new, port=port) as hub:
        assert you("/v1/me").status == 401
        assert "does not accept the token" in desk("sync").err
        again = hub.user("you")
        desk.login(hub, again.token)
        synced(desk)
        assert in_space(again, "core") == set()
        assert in_space(again, "~you") == bodies(desk) == {BODIES["kept"]}
