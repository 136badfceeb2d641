"""`anamnesis hub`: what an administrator does, on a real database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.cli.command import Command
from tests.hub.running import Client, RunningHub, text_of
from tests.hub.test_migrations import DATA
from tests.hub.test_processes import served
from tests.hub_client.conftest import People, person
from tests.postgres import KEY, Postgres

from anamnesis import __version__
from anamnesis.cli import anamnesis
from anamnesis.errors import AnamnesisError
from anamnesis.hub import accounts, backup
from anamnesis.hub.database import administrator
from anamnesis.hub.migrations import migrate
from anamnesis.hub.passages import prepare

__all__ = ["person"]

Run = Callable[..., Result]
KEY_TEXT = "tests" * 8


@pytest.fixture
def run(tmp_path: Path, hub_url: str) -> Run:
    """`anamnesis hub …` in this process, on a new hub."""
    variables = {"ANAMNESIS_HOME": str(tmp_path), "ANAMNESIS_HUB_DATABASE": hub_url, "ANAMNESIS_HUB_KEY": KEY_TEXT}

    def run(*words: str, **more: str) -> Result:
        return CliRunner(env={**variables, **more}).invoke(anamnesis, ["hub", *words])

    return run


def said(result: Result) -> Any:
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def refused(result: Result) -> str:
    """The sentence of a command that failed."""
    assert isinstance(result.exception, AnamnesisError), (result.output, result.exception)
    return str(result.exception)


def test_the_first_steps_of_an_administrator(postgres: Postgres, tmp_path: Path) -> None:
    """Each as a process of its own, as one types it, with the key in a file that `init` makes."""
    command = Command(tmp_path)
    command.variables["ANAMNESIS_HUB_DATABASE"] = database = postgres.url(postgres.new_database())
    hub, key_file = command("hub", "init").out.strip().split("\t")
    assert Path(key_file) == command.home / "hub.key"
    assert Path(key_file).stat().st_mode & 0o777 == 0o600
    assert command("hub", "user", "add", "you").code == 0
    added = command("hub", "space", "add", "core", "--member", "you:writer", "--member", "mate:reader")
    assert (added.code, added.err) == (0, "")
    created = command("hub", "token", "create", "you")
    assert created.out.startswith("anh_")
    assert len(created.out.strip()) == 47
    with served(database, command.home, "--key-file", key_file) as (url, _):
        me = Client(url, created.out.strip())("/v1/me").json
    assert (me["user"], me["hub"], me["personal"]) == ("you", hub, "~you")
    assert [(each["name"], each["role"]) for each in me["spaces"]] == [("core", "writer"), ("~you", "owner")]


def test_init_may_be_run_again_and_never_makes_a_second_key(run: Run, tmp_path: Path) -> None:
    first = said(run("init", "--json"))
    assert said(run("init", "--json")) == first
    assert refused(run("init", ANAMNESIS_HUB_KEY="")).startswith("There is no key of a hub in")
    assert refused(run("init", ANAMNESIS_HUB_KEY="other" * 8)).startswith("The key is not the one of this hub")
    assert refused(run("serve", ANAMNESIS_HUB_KEY="other" * 8)).startswith("The key is not the one of this hub")
    assert refused(run("init", ANAMNESIS_HUB_KEY="short")).startswith("The hub's key has 5 bytes")
    (tmp_path / "hub.key").write_text(KEY_TEXT)
    (tmp_path / "hub.key").chmod(0o644)
    assert "can be read by others" in refused(run("init", ANAMNESIS_HUB_KEY=""))


def test_users_spaces_members_and_projects(run: Run) -> None:
    assert said(run("user", "add", "you", "--json")) == {"user": "you", "personal": "~you"}
    assert refused(run("user", "add", "you")) == "There is a user 'you' already."
    assert refused(run("user", "add", "../you")).startswith("'../you' cannot be the name of a user.")
    made = said(run("space", "add", "core", "--member", "you:keeper", "--project", "github.com/you/core", "--json"))
    assert made == {"space": "core", "members": ["you:keeper"], "projects": ["github.com/you/core"], "added": []}
    assert refused(run("space", "add", "core")).startswith("There is a space 'core' already.")
    assert refused(run("space", "add", "~you")).startswith("'~you' cannot be the name of a space.")
    assert run("space", "member", "core", "you:king").exit_code == 2
    assert "Added the user typo, who has no token yet" in run("space", "member", "core", "typo:reader").stdout
    run("space", "member", "core", "--remove", "typo"), run("user", "leave", "typo"), run("erase", "user", "typo", "-y")
    changed = said(run("space", "member", "core", "mate:reader", "you:owner", "--json"))
    assert (changed["members"], changed["added"]) == (["mate:reader", "you:owner"], ["mate"])
    assert said(run("space", "member", "core", "--remove", "mate", "--json"))["members"] == ["you:owner"]
    assert "nobody else can be a member of" in refused(run("space", "member", "~you", "mate:reader"))
    assert said(run("space", "project", "core", "GitHub.com/You/Core", "--json"))["projects"] == ["github.com/you/core"]
    assert said(run("space", "project", "core", "x", "--remove", "github.com/You/core", "--json"))["projects"] == ["x"]
    assert [each["name"] for each in said(run("space", "list", "--json"))["spaces"]] == ["core", "~mate", "~you"]
    assert [each["spaces"] for each in said(run("user", "list", "--json"))["users"]] == [[], ["core:owner"]]
    actions = [each["action"] for each in said(run("audit", "--json"))["entries"]]
    assert actions[:3] == ["space project removed", "space project", "space member removed"]
    assert actions[-1] == "hub init"
    assert {each["space"] for each in said(run("audit", "--space", "core", "--json"))["entries"]} == {"core"}


def test_tokens_are_shown_once_have_scopes_and_an_end_and_are_revoked_at_once(run: Run, hub_url: str) -> None:
    run("user", "add", "you")
    made = said(run("token", "create", "you", "--scope", "read", "--expires", "90d", "--name", "ci", "--json"))
    assert made["scopes"] == ["read"]
    said(run("token", "create", "you", "--json"))
    assert run("token", "create", "you", "--expires", "2001-01-01").exit_code == 2
    listed = run("token", "list", "--json").stdout
    assert made["token"] not in listed
    with administrator(hub_url) as db:
        rows = db.execute("SELECT t::text FROM anamnesis.tokens t UNION ALL SELECT a::text FROM anamnesis.audit a")
        assert made["token"][4:] not in str(rows.fetchall())
    with RunningHub(hub_url) as hub:
        client = Client(hub.url, made["token"])
        assert client("/v1/me").status == 200
        assert said(run("token", "revoke", str(made["id"]), "--json")) == {"revoked": [made["id"]], "descendants": []}
        assert client("/v1/me").status == 401
    assert said(run("token", "revoke", "--user", "you", "--json"))["revoked"] == [2]
    assert refused(run("token", "revoke", "99")).startswith("There is no token 99.")


def test_a_machine_logs_in_by_a_code_that_is_confirmed_on_the_server(run: Run, hub_url: str) -> None:
    run("user", "add", "you")
    with RunningHub(hub_url) as hub:
        anybody = Client(hub.url, "")
        started = anybody("/v1/device", {"machine": "laptop"}).json
        code = {"device_code": started["device_code"]}
        waiting = anybody("/v1/device/token", code)
        assert (waiting.status, waiting.json["error"]) == (428, "authorization_pending")
        typed = started["user_code"].lower().replace("-", " ")
        assert said(run("device", "approve", typed, "--user", "you", "--json")) == {"machine": "laptop", "user": "you"}
        redeemed = anybody("/v1/device/token", code).json
        assert redeemed["user"] == "you"
        assert Client(hub.url, redeemed["token"]).put("~you", "N1", text_of("N1"))["version"] == 1
        again = anybody("/v1/device/token", code)
        assert (again.status, again.json["error"]) == (400, "The code is unknown, used or expired.")
    assert "No login waits" in refused(run("device", "approve", started["user_code"], "--user", "you"))


def test_a_member_who_leaves(run: Run, hub_url: str, tmp_path: Path) -> None:
    """Tokens end at once, shared notes stay with the name, and the personal space is exported and erased by command."""
    with RunningHub(hub_url) as hub:
        mate, you = hub.user("mate", core="writer"), hub.user("you", core="reader")
        mate.put("core", "N1", text_of("N1"))
        mate.put("~mate", "N2", text_of("N2", "Private."))
        assert refused(run("erase", "user", "mate", "-y")).startswith("'mate' has not left.")
        assert said(run("user", "leave", "mate", "--json"))["tokens"] == 1
        assert mate("/v1/me").status == 401
        (kept,) = you.sync()["core"]["changes"]
        assert (kept["id"], kept["author"]) == ("N1", "mate")
        file = tmp_path / "mate.jsonl"
        assert refused(run("export", "mate", str(file))).startswith("There is no user 'mate'.")
        said(run("export", "mate", str(file), "--personal", "--json"))
        lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        assert lines[0]["spaces"] == ["~mate"]
        assert [each["text"] for each in lines if "text" in each] == [text_of("N2", "Private.")]
        assert said(run("erase", "user", "mate", "-y", "--json")) == {"user": "mate", "notes": 1}
        assert you.sync()["core"]["changes"] == [kept]
    with administrator(hub_url) as db:
        left = db.execute("SELECT (SELECT count(*) FROM anamnesis.versions) AS v, count(*) AS u FROM anamnesis.users")
        assert left.fetchone() == {"v": 1, "u": 1}
    assert said(run("doctor", "--json")) == {"faults": []}


def test_nobody_gets_the_name_of_a_former_user(run: Run, hub_url: str) -> None:
    """Another person would get the private notes, and be the author of what the former one wrote."""
    with RunningHub(hub_url) as hub:
        bob, you = hub.user("bob", core="writer"), hub.user("you", "admin", core="owner", late="owner")
        bob.put("~bob", "N1", text_of("N1", "Private."))
        bob.put("core", "N2", text_of("N2"))
        with administrator(hub_url) as db:
            accounts.invite(db, accounts.find_space(db, "late"), "bob", "writer", "you")
        said(run("user", "leave", "bob", "--json"))
        for add in (("user", "add", "bob"), ("space", "member", "core", "bob:reader")):
            assert refused(run(*add)).startswith("'bob' was a user who has left")
        assert refused(run("token", "create", "bob")).startswith("There is no user 'bob'.")
        assert refused(run("user", "add", "eve", "--back")).startswith("There was no user 'eve'.")
        assert refused(run("user", "add", "you", "--back")).startswith("There is a user 'you' already.")

        back = run("user", "add", "bob", "--back")
        assert "bob is back, with a personal space of 1 note, and is a member of no space." in back.stdout
        again = Client(hub.url, said(run("token", "create", "bob", "--json"))["token"])
        assert [*again.sync()] == ["~bob"] and bob("/v1/me").status == 401
        assert again("/v1/me").json["invitations"] == []
        assert [each["author"] for each in you.sync()["core"]["changes"]] == ["bob"]

        said(run("user", "leave", "bob", "--json"))
        assert again("/v1/me").status == 401
        said(run("erase", "user", "bob", "-y", "--json"))
        assert refused(run("user", "add", "bob")).startswith("'bob' was a user who has left")
        assert said(run("user", "add", "bob", "--back", "--json"))["notes"] == 0


def test_an_erased_note_is_gone_with_all_versions_and_machines_are_told(run: Run, hub_url: str) -> None:
    with RunningHub(hub_url) as hub:
        you = hub.user("you", core="writer")
        you.put("core", "N1", text_of("N1", "Unspeakable one.", supersedes="N0"))
        you.put("core", "N1", text_of("N1", "Unspeakable two."), base=1)
        assert "N1" in you("/v1/accepted", {"accepted": f"N1 {'0' * 32} 1 accepted\n"}).json["accepted"]
        assert refused(run("erase", "note", "core", "N9", "-y")).startswith("There is no note 'N9' in 'core'.")
        assert said(run("erase", "note", "core", "N1", "-y", "--thoroughly", "--json"))["version"] == 3
        (told,) = you.sync(core=2)["core"]["changes"]
        assert {**told, "at": ""} == {
            "id": "N1",
            "version": 3,
            "text": None,
            "author": "",
            "machine": "",
            "at": "",
            "erased": True,
        }
        assert "N1" not in you("/v1/accepted", {}).json["accepted"]
        assert you("/v1/spaces/core/notes/N1/versions/1").status == 404
        assert you.put("core", "N1", text_of("N1", "Again."), base=2)["conflict"]["erased"] is True
    with administrator(hub_url) as db:
        for table in ("notes", "versions", "supersessions", "terms", "audit"):
            rows = db.execute(f"SELECT t::text AS row FROM anamnesis.{table} t".encode())
            assert not [row for row in rows if "nspeak" in row["row"] or "N0" in row["row"]], table
    assert said(run("erase", "space", "core", "-y", "--json")) == {"space": "core", "notes": 0}
    assert "It goes with its user" in refused(run("erase", "space", "~you", "-y"))
    assert run("erase", "space", "core").exit_code == 1  # nobody to ask


def test_nothing_of_an_erased_note_is_left_in_the_vectors(run: Run, hub_url: str) -> None:
    with administrator(hub_url) as db:
        if not prepare(db):
            pytest.skip("This PostgreSQL has no pgvector.")
    with RunningHub(hub_url) as hub:
        hub.user("you", core="writer").put("core", "N1", text_of("N1", "Unspeakable."))
    with administrator(hub_url) as db:
        db.execute("INSERT INTO anamnesis.passages SELECT space, id, 1, array_fill(1, ARRAY[384]) FROM anamnesis.notes")
    assert run("erase", "note", "core", "N1", "-y", "--thoroughly").stdout.startswith("Erased the note N1 of core")
    with administrator(hub_url) as db:
        left = db.execute("SELECT pg_relation_size('anamnesis.passages') AS bytes").fetchone()
    assert left == {"bytes": 0}


def test_an_export_is_what_the_user_may_see_with_every_version(run: Run, hub_url: str, tmp_path: Path) -> None:
    with RunningHub(hub_url) as hub:
        you, mate = hub.user("you", core="writer"), hub.user("mate", core="reader")
        you.put("core", "N1", text_of("N1", "One."))
        you.put("core", "N1", text_of("N1", "Two."), base=1)
        you.put("~you", "N2", text_of("N2"))
        online = [json.loads(line) for line in mate("/v1/export").body.splitlines()]
    assert [(each["id"], each["version"]) for each in online if "version" in each] == [("N1", 1), ("N1", 2)]
    assert online[1]["members"] == {"mate": "reader", "you": "writer"}
    said(run("export", "mate", str(tmp_path / "mate.jsonl"), "--json"))
    assert [json.loads(line) for line in (tmp_path / "mate.jsonl").read_text("utf-8").splitlines()] == online
    assert (tmp_path / "mate.jsonl").stat().st_mode & 0o777 == 0o600


def test_the_audit_log_names_who_acted_and_what_members_did_to_notes(
    run: Run, hub_url: str, person: People, tmp_path: Path
) -> None:
    with RunningHub(hub_url) as hub:
        mate, guest = hub.user("mate", core="writer"), hub.user("guest", core="reader")
        desk = person("desk")
        desk.login(hub, mate.token)
        plan, rest = desk.write("Plan", "ours", "--space", "core"), desk.write("Rest", "unspeakable", "--space", "core")
        assert desk("sync").code == 0
        assert desk("move", plan, "--space", "~").code == 0
        assert desk("delete", rest).code == 0
        assert desk("sync").code == 0
        assert desk("move", plan, "--space", "core").code == 0
        assert desk("sync").code == 0
        assert desk("delete", plan).code == 0
        assert desk("sync").code == 0
        code = guest("/v1/device", {"machine": "laptop"}).json["user_code"]
        said(run("device", "approve", code, "--user", "guest", "--json"))
    said(run("export", "mate", str(tmp_path / "mate.jsonl"), "--json"))
    said(run("backup", str(tmp_path / "hub.zip"), "--json"))
    printed = run("audit", "--json").stdout
    entries = json.loads(printed)["entries"]
    assert [(each["actor"], each["action"], each["target"]) for each in entries[:3]] == [
        ("(administrator)", "hub backup", "hub.zip"),
        ("(administrator)", "export", "mate"),
        ("(administrator)", "device approve", "laptop"),
    ]
    assert entries[2]["facts"] == {"user": "guest"}
    of_notes = {
        (each["actor"], each["action"], each["space"], each["target"], each["facts"].get("to"))
        for each in entries
        if each["action"].startswith("note ")
    }
    assert of_notes == {
        ("mate", "note write", "core", plan, None),
        ("mate", "note write", "core", rest, None),
        ("mate", "note write", "~mate", plan, None),
        ("mate", "note move", "core", plan, "~mate"),
        ("mate", "note move", "~mate", plan, "core"),
        ("mate", "note delete", "core", plan, None),
        ("mate", "note delete", "core", rest, None),
    }
    assert {each["facts"]["machine"] for each in entries if each["action"] == "note move"} == {"desk"}
    assert "unspeakable" not in printed
    with_no_notes = said(run("audit", "--no-notes", "--json"))["entries"]
    assert [each for each in entries if each["id"]] == with_no_notes
    by_mate = said(run("audit", "--space", "core", "--user", "mate", "-n", "2", "--json"))["entries"]
    assert {each["action"] for each in by_mate} == {"note write", "note delete"}
    erased = run("erase", "note", "core", plan, "-y").stdout
    assert erased.endswith("Versions of it are still in ~mate: erase them there too.\n")
    assert plan not in run("audit", "--space", "core", "--user", "mate", "--json").stdout


def test_a_backup_is_verified_and_restored_into_a_new_database(
    run: Run, hub_url: str, postgres: Postgres, tmp_path: Path
) -> None:
    file = tmp_path / "hub.zip"
    with RunningHub(hub_url) as hub:
        you = hub.user("you", core="writer")
        you.put("core", "N1", text_of("N1", "Tab\t, line\nand \\backslash."))
        you.put("core", "N1", text_of("N1", "Two."), base=1)
        you.put("core", "N2", text_of("N2"))
        you.put("core", "N2", None, base=3)
        saved = said(run("backup", str(file), "--json"))
        before, me = you.sync(), you("/v1/me").json
        versions = [you(f"/v1/spaces/core/notes/N1/versions/{number}").json for number in (1, 2)]
    assert (saved["rows"]["notes"], saved["rows"]["versions"]) == (2, 4)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["hub.zip"]
    new = postgres.url(postgres.new_database())
    assert "The database has a hub already." in refused(run("restore", str(file)))
    log = tmp_path / "log.json"
    log.write_text(run("audit", "--no-notes", "--json").stdout)
    restored = said(run("restore", str(file), "--log", str(log), "--json", "--database", new))
    assert restored["rows"] == saved["rows"]
    assert (restored["repeated"], restored["undone"]) == ([], [])
    assert said(run("doctor", "--json", "--database", new)) == {"faults": []}
    with administrator(hub_url) as old, administrator(new) as restored:
        query = "SELECT space, term, notes FROM anamnesis.terms ORDER BY 1, 2"
        assert old.execute(query).fetchall() == restored.execute(query).fetchall()
    with RunningHub(new) as hub:
        again = Client(hub.url, you.token)
        after = again.sync()
        sequences = {name: each.pop("seq") for name, each in after.items()}
        assert after == {name: {key: each[key] for key in each if key != "seq"} for name, each in before.items()}
        assert {*sequences.values()} == {10**9}, "a number means one version"
        assert again("/v1/me").json["hub"] != me["hub"]
        assert [again(f"/v1/spaces/core/notes/N1/versions/{number}").json for number in (1, 2)] == versions
        assert again.put("core", "N3", text_of("N3"))["version"] == 10**9 + 1
        assert hub.user("newcomer", new="owner")("/v1/me").status == 200  # numbers go on after the restored ones


def test_a_restore_names_the_roles_that_it_lost_and_not_as_ended(
    run: Run, hub_url: str, postgres: Postgres, tmp_path: Path
) -> None:
    file, log, new = tmp_path / "hub.zip", tmp_path / "log.json", postgres.url(postgres.new_database())
    for words in (
        ["space", "add", "core", "--member", "low:writer", "--member", "high:reader", "--member", "both:writer"],
        ["backup", str(file)],
        ["space", "member", "core", "low:reader", "high:writer", "both:reader", "added:writer"],
        ["space", "member", "core", "both:writer"],
    ):
        assert run(*words).exit_code == 0
    log.write_text(run("audit", "--no-notes", "--json", "-n", "1000").stdout)
    restored = said(run("restore", str(file), "--log", str(log), "--json", "--database", new))
    names = {
        kind: [(each["target"], each["facts"]["role"]) for each in restored[kind] if each["action"] == "space member"]
        for kind in ("repeated", "undone")
    }
    assert names["repeated"] == [("low", "reader"), ("both", "reader")]
    assert names["undone"] == [("high", "writer"), ("added", "writer"), ("both", "writer")]
    (core,) = (
        each for each in said(run("space", "list", "--json", "--database", new))["spaces"] if each["name"] == "core"
    )
    assert core["members"] == ["both:reader", "high:reader", "low:reader"]


def test_a_backup_of_an_earlier_step_is_restored_and_one_that_lacks_a_table_of_its_step_is_refused(
    run: Run, postgres: Postgres, tmp_path: Path
) -> None:
    """As one makes it before an upgrade, by the old program or the new one."""
    old, new, empty = (postgres.url(postgres.new_database()) for _ in range(3))
    with administrator(old) as db:
        migrate(db, upto=3)
        accounts.make_hub(db, KEY)
        db.execute((DATA / "step_003.sql").read_bytes())
    saved = said(run("backup", str(tmp_path / "old.zip"), "--database", old, "--json"))
    assert (saved["step"], "invitations" in saved["rows"]) == (3, False)
    assert said(run("restore", str(tmp_path / "old.zip"), "--database", new, "--json"))["rows"]["versions"] == 4
    assert said(run("doctor", "--database", new, "--json")) == {"faults": []}
    lacking = tmp_path / "lacking.zip"
    with zipfile.ZipFile(tmp_path / "old.zip") as whole, zipfile.ZipFile(lacking, "w") as copy:
        for name in whole.namelist():
            manifest = json.loads(whole.read(name)) if name == "manifest.json" else None
            if manifest:
                del manifest["tables"]["members"]
            copy.writestr(name, json.dumps(manifest) if manifest else whole.read(name))
    assert "it has no table members" in refused(run("restore", str(lacking), "--database", empty))


def test_every_table_is_in_a_backup_or_left_out_for_a_reason(hub_url: str) -> None:
    with administrator(hub_url) as db:
        tables = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'anamnesis'").fetchall()
    assert {row["tablename"] for row in tables} == {*backup.TABLES, *backup.LEFT_OUT}


def test_a_damaged_or_foreign_file_is_no_backup(run: Run, postgres: Postgres, tmp_path: Path) -> None:
    file, damaged = tmp_path / "hub.zip", tmp_path / "damaged.zip"
    said(run("backup", str(file), "--json"))
    with zipfile.ZipFile(file) as whole, zipfile.ZipFile(damaged, "w") as copy:
        for name in whole.namelist():
            copy.writestr(name, whole.read(name) + (b"x" if name == "audit.copy" else b""))
    new = postgres.url(postgres.new_database())
    assert "its table audit is not what was written" in refused(run("restore", str(damaged), "--database", new))
    damaged.write_bytes(b"nothing")
    assert "is not a backup of a hub" in refused(run("restore", str(damaged), "--database", new))
    assert "cannot be written" in refused(run("backup", str(tmp_path / "none" / "hub.zip")))


def test_the_doctor_finds_what_was_changed_by_hand(run: Run, postgres: Postgres, hub_url: str) -> None:
    name = hub_url.partition("/?")[0].rpartition("@/")[2].partition("?")[0]
    for statement in (
        "ALTER TABLE anamnesis.notes NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE anamnesis.audit DISABLE TRIGGER append_only",
        "INSERT INTO anamnesis.spaces (name, notes) VALUES ('odd', 3)",
    ):
        postgres.execute(statement, name)
    result = run("doctor", "--json")
    assert result.exit_code == 1
    subjects = [each["subject"] for each in json.loads(result.stdout)["faults"]]
    assert subjects == ["anamnesis.notes", "anamnesis.audit", "space odd"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("migrate", "--database", "nonsense"), "The database's address cannot be used"),
        (("migrate", "--database", "postgresql://nobody@/none?host=/nowhere"), "The hub's database cannot be reached"),
        (("serve", "--host", "0.0.0.0"), "0.0.0.0 is reached from other machines"),
        (("serve", "--tls-key", "key.pem"), "TLS needs a certificate and its key."),
        (("serve", "--host", "192.0.2.1", "--behind-proxy"), "192.0.2.1:8437 cannot be listened on"),
        (("space", "member", "none", "you:reader"), "There is no space 'none'."),
        (("token", "create", "nobody"), "There is no user 'nobody'."),
    ],
)
def test_what_cannot_be_done_gets_a_sentence(run: Run, words: tuple[str, ...], sentence: str) -> None:
    assert refused(run(*words)).startswith(sentence)


def test_without_a_database_the_commands_say_where_to_name_one(run: Run) -> None:
    result = run("user", "list", ANAMNESIS_HUB_DATABASE="")
    assert result.exit_code == 2
    assert "Give --database postgresql://user@host/name, or set ANAMNESIS_HUB_DATABASE." in result.stderr


def test_a_database_without_a_hub_is_initialised_and_not_migrated(run: Run, postgres: Postgres) -> None:
    new = postgres.url(postgres.new_database())
    assert refused(run("migrate", "--database", new)).startswith("The database has no hub yet. Run: anamnesis hub init")
    found = run("doctor", "--json", "--database", new, ANAMNESIS_HUB_KEY="")
    (fault,) = json.loads(found.stdout)["faults"]
    assert (fault["subject"], fault["fix"]) == ("schema", "anamnesis hub init")


def test_the_doctor_names_a_key_that_is_missing_or_another(run: Run) -> None:
    for key, fault in (("", "There is no key of a hub in"), ("other" * 8, "The key is not the one of this hub")):
        result = run("doctor", "--json", ANAMNESIS_HUB_KEY=key)
        (found,) = json.loads(result.stdout)["faults"]
        assert (result.exit_code, found["subject"], found["fault"].startswith(fault)) == (1, "key", True)
        assert found["fix"].startswith("Set ANAMNESIS_HUB_KEY or --key-file")


def test_an_old_database_is_not_served(run: Run, postgres: Postgres) -> None:
    new = postgres.url(postgres.new_database())
    assert refused(run("serve", "--database", new)).startswith("The database lacks 001 hub.")
    assert refused(run("user", "list", "--database", new)).startswith("The database has no hub of this version.")


@pytest.mark.parametrize(
    ("origin", "package"),
    [
        ({"url": "{here}", "dir_info": {"editable": True}}, "'{here}[hub]'"),
        (
            {"url": "https://example.org/a.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}},
            "'anamnesis-memory[hub] @ git+https://example.org/a.git@c0ffee'",
        ),
        ({"url": "file:///gone/anamnesis.whl", "archive_info": {}}, f"'anamnesis-memory[hub]=={__version__}'"),
        (None, f"'anamnesis-memory[hub]=={__version__}'"),
    ],
    ids=["checkout", "repository", "removed wheel", "registry"],
)
def test_without_the_extra_the_commands_say_what_to_install(
    tmp_path: Path, origin: dict[str, Any] | None, package: str
) -> None:
    record = tmp_path / "anamnesis_memory-1.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Name: anamnesis-memory\nVersion: 1\n")
    if origin:
        (record / "direct_url.json").write_text(json.dumps(origin).replace("{here}", tmp_path.as_uri()))
    script = (
        "import sys\nsys.modules['psycopg'] = None\n"
        "sys.argv = ['anamnesis', 'hub', 'migrate', '--database', 'postgresql://']\n"
        "from anamnesis.entry import main\nmain()"
    )
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "anamnesis: The hub needs psycopg, which is not installed. Install the extra: uv tool install"
        f" {package.replace('{here}', str(tmp_path))}\n"
    )


def test_tls_by_files(run: Run, hub_url: str, tmp_path: Path) -> None:
    """The server speaks TLS with a certificate and its key, and refuses files that are none."""
    import ssl
    import urllib.request

    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    request = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", str(key), "-out", str(certificate))
    subprocess.run(["openssl", *request, *names, *files], check=True, capture_output=True)
    options = ("--tls-certificate", str(certificate), "--tls-key", str(key))
    with served(hub_url, tmp_path, *options) as (url, _):
        trusted = ssl.create_default_context(cafile=certificate)
        with urllib.request.urlopen(f"{url}/healthz", context=trusted) as answer:
            assert (url[:8], answer.status) == ("https://", 200)
    key.write_text("nothing")
    assert "or its key cannot be used" in refused(run("serve", "--port", "0", *options))
