"""The server's login at PostgreSQL can do what a token may, and nothing else; the owner's is for administrators."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors
from tests.cli.command import Command
from tests.hub.running import Client, text_of
from tests.hub.test_deploy import DEPLOY, container, kubernetes
from tests.hub.test_processes import served
from tests.postgres import Postgres, binaries

from anamnesis.errors import InvalidArgument
from anamnesis.hub.database import administrator
from anamnesis.hub.logins import make_login
from anamnesis.hub.refusal import Refusal

PASSWORDS = """
local all hub_owner,hub_server scram-sha-256
local all all trust
"""


@pytest.fixture(scope="module")
def installed() -> Iterator[Postgres]:
    """A new PostgreSQL as the Compose file starts it, which asks the two logins for their passwords."""
    own = Postgres(binaries())
    try:
        script = own.folder / "owner.sql"
        shutil.copy(DEPLOY / "owner.sql", script)
        script.chmod(0o644)
        own.execute("CREATE DATABASE hub")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HUB_OWNER_PASSWORD", "it's the owner")
            options = ("-v", "ON_ERROR_STOP=1", "-h", str(own.folder), "-U", "postgres", "-d", "hub")
            own._run("psql", *options, "-f", str(script))
        (own.folder / "data/pg_hba.conf").write_text(PASSWORDS)
        own.execute("SELECT pg_reload_conf()")
        yield own
    finally:
        own.remove()


def address(own: Postgres, login: str, password: str) -> str:
    return own.url("hub", f"{login}:{password}")


def test_a_hub_is_made_by_its_owner_and_served_by_a_login_with_no_right_of_its_own(
    installed: Postgres, tmp_path: Path
) -> None:
    owner = address(installed, "hub_owner", "it's%20the%20owner")
    former, server = (address(installed, "hub_server", word) for word in ("former", "new"))
    command = Command(tmp_path)
    command.variables |= {"ANAMNESIS_HUB_DATABASE": owner, "ANAMNESIS_HUB_KEY": "tests" * 8}
    assert command("hub", "init", "--json", ANAMNESIS_HUB_SERVER=former).json["login"] == "hub_server"
    assert command("hub", "init", "--json", ANAMNESIS_HUB_SERVER=server).json["steps"] == []  # another password
    assert command("hub", "space", "add", "core", "--member", "you:writer").code == 0

    with served(server, tmp_path) as (url, _):
        asked = Client(url, "")("/v1/device", {"machine": "desk"}).json
        assert command("hub", "device", "approve", asked["user_code"], "--user", "you").code == 0
        token = Client(url, "")("/v1/device/token", {"device_code": asked["device_code"]}).json["token"]
        you = Client(url, token)
        assert you.put("core", "N1", text_of("N1", "Rotate the lamp.", tags=["light"]))["version"] == 1
        assert you.put("core", "N1", text_of("N1", "Turn the lamp."), base=1)["version"] == 2
        assert [each["id"] for each in you.sync()["core"]["changes"]] == ["N1"]
        assert [each["id"] for each in you("/v1/search?q=lamp").json["notes"]] == ["N1"]
        assert you("/ui/notes").status == you("/readyz").status == 200
        backup = container(kubernetes(), "CronJob")["command"][-1].replace("/backups/", f"{tmp_path}/")
        clock = tmp_path / "clock" / "date"
        clock.parent.mkdir()
        clock.write_text('#!/bin/sh\n[ "$1" = +%H ] && echo 03 || PATH=/usr/bin:/bin exec date "$@"\n')  # of a backup
        clock.chmod(0o755)
        path = f"{clock.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        variables = {**command.variables, "PATH": path}
        saved = subprocess.run(["sh", "-c", backup], env=variables, capture_output=True, text=True, check=True)
        assert saved.stdout.startswith("Saved 1 note in 2 versions in")
        assert re.fullmatch(r"hub-[1-7]\.zip", next(tmp_path.glob("*.zip")).name)
        refused = command("hub", "backup", str(tmp_path / "none.zip"), ANAMNESIS_HUB_DATABASE=server)
    assert (refused.code, refused.err.splitlines()[0][:34]) == (1, "anamnesis: The database refused: p")
    assert not (tmp_path / "none.zip").exists() and not command.home.exists()
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(former)
    with psycopg.connect(server, autocommit=True) as db:
        for statement in (
            "SELECT text FROM anamnesis.versions",
            "CREATE TABLE anamnesis.mine ()",
            "CREATE TABLE public.mine ()",
            "CREATE SCHEMA mine",
            "CREATE ROLE mine",
            "DROP TABLE anamnesis.notes",
            "SET ROLE hub_owner",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                db.execute(statement.encode())
        db.execute("SET ROLE anamnesis_hub")
        for table in ("notes", "versions", "spaces", "members", "invitations", "users", "audit"):
            assert db.execute(f"SELECT 1 FROM anamnesis.{table}".encode()).fetchall() == [], table
        for statement in ("ALTER TABLE anamnesis.notes DISABLE ROW LEVEL SECURITY", "TRUNCATE anamnesis.notes"):
            with pytest.raises(errors.InsufficientPrivilege):
                db.execute(statement.encode())


@pytest.mark.parametrize(("login", "warnings"), [("postgres", 1), ("plain", 0)])
def test_a_server_with_the_owners_login_says_so(
    hub_url: str, postgres: Postgres, tmp_path: Path, login: str, warnings: int
) -> None:
    with administrator(hub_url) as db:
        make_login(db, "postgresql://plain:x@/hub")
    command = Command(tmp_path)
    database = hub_url.replace("postgres@", f"{login}@", 1)
    command.variables |= {"ANAMNESIS_HUB_DATABASE": database, "ANAMNESIS_HUB_KEY": "tests" * 8}
    done = command("hub", "serve", "--host", "192.0.2.1", "--behind-proxy")  # an address that it does not get
    assert (
        done.err.count("The server's login may change the hub's schema. Give the server a login of its own") == warnings
    )
    assert "cannot be listened on" in done.err.splitlines()[-1]


def test_the_password_of_a_login_is_in_no_log_of_the_database(installed: Postgres) -> None:
    installed.execute("ALTER DATABASE hub SET log_statement = 'all'")
    installed.execute("ALTER DATABASE hub SET log_min_messages = 'log'")
    with administrator(installed.url("hub")) as db:
        make_login(db, "postgresql://quiet:unspeakable@/hub")
        db.rollback()
    log = installed.log.read_text("utf-8", "replace")
    assert "quiet" in log and "unspeakable" not in log


def test_a_login_that_may_do_more_is_refused_and_left_as_it_is(hub_url: str) -> None:
    rights = ("SUPERUSER", "CREATEROLE", "CREATEDB", "BYPASSRLS", "REPLICATION", "IN ROLE pg_read_all_data")
    with administrator(hub_url) as db:
        for number, right in enumerate(rights):
            db.execute(f"CREATE ROLE strong{number} LOGIN {right}".encode())
        for name in ("postgres", *(f"strong{number}" for number in range(len(rights)))):
            with pytest.raises(Refusal, match="may do more than the server needs"):
                make_login(db, f"postgresql://{name}:x@/hub")
        db.rollback()


def test_a_login_that_inherits_the_servers_role_gets_no_backup_without_rows(
    hub_url: str, postgres: Postgres, tmp_path: Path
) -> None:
    postgres.execute("CREATE ROLE heir LOGIN INHERIT IN ROLE anamnesis_hub")
    command = Command(tmp_path)
    database = hub_url.replace("postgres@", "heir@", 1)
    done = command("hub", "backup", str(tmp_path / "hub.zip"), "--database", database)
    assert (done.code, done.err) == (
        1,
        "anamnesis: A backup by this login would lack rows. Use the login that ran `anamnesis hub init`.\n",
    )
    assert not (tmp_path / "hub.zip").exists()


@pytest.mark.parametrize("given", ["postgresql://hub_server@host/hub", "postgresql://:x@host/hub", "nonsense"])
def test_an_address_without_a_user_or_a_password_gets_a_sentence(hub_url: str, given: str) -> None:
    with administrator(hub_url) as db, pytest.raises(InvalidArgument, match="server's address of the database"):
        make_login(db, given)
