"""The schema grows forward only: from every earlier step, with data, and with what that data said."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from tests.hub.running import Client, RunningHub, text_of
from tests.hub.test_processes import served
from tests.postgres import KEY, Postgres

from anamnesis.cli import anamnesis
from anamnesis.hub import accounts
from anamnesis.hub.database import Database, administrator
from anamnesis.hub.doctor import examine
from anamnesis.hub.migrations import applied, known, migrate, pending
from anamnesis.hub.refusal import Unavailable
from anamnesis.notes import acceptance, parse
from anamnesis.notes.acceptance import written

# Rows as a server of each step wrote them. A new step gets a file when the next one is made, and is not changed then.
DATA = Path(__file__).parent / "data"


def test_the_steps_are_numbered_without_a_gap() -> None:
    assert [step.number for step in known()] == [*range(1, len(known()) + 1)]


@pytest.mark.parametrize("step", [int(path.stem[5:]) for path in sorted(DATA.glob("step_*.sql"))])
def test_a_database_of_an_earlier_step_keeps_its_data_and_works(postgres: Postgres, step: int) -> None:
    url = postgres.url(postgres.new_database())
    with administrator(url) as db:
        migrate(db, upto=step)
        accounts.make_hub(db, KEY)
        db.execute((DATA / f"step_{step:03}.sql").read_bytes())
    with administrator(url) as db:
        migrate(db)
        assert pending(db) == []
        assert examine(db) == []
    with RunningHub(url) as hub:
        you = hub.user("you")
        spaces = you.sync()
        assert [(each["id"], each["version"], each["text"]) for each in spaces["core"]["changes"]] == [
            ("N1", 2, "---\nid: N1\ntype: semantic\ntitle: Use WAL\n---\nSet busy_timeout.\n"),
            ("N2", 4, None),
        ]
        assert (spaces["core"]["role"], spaces["core"]["projects"]) == ("writer", ["github.com/you/core"])
        assert you.put("core", "N2", None, base=4)["version"] == 4
        with administrator(url) as db:
            terms = db.execute("SELECT term, notes FROM anamnesis.terms ORDER BY term").fetchall()
        assert {row["term"]: row["notes"] for row in terms} == {
            **dict.fromkeys(("busi", "set", "timeout", "use", "wal"), 1)
        }


def test_what_tags_said_of_reviews_is_carried_over_once(postgres: Postgres) -> None:
    """What anybody had reviewed stays so for each member, and what waited is held by a mark that no tool can remove."""
    url = postgres.url(postgres.new_database())
    notes: dict[str, dict[str, Any]] = {
        "SEEN": {"prov_source": "import", "tags": ["reviewed"]},
        "OWN": {"prov_source": "import", "tags": ["claude-code"]},
        "WAITS": {"prov_source": "import"},
        "ORDER": {"tags": ["to-review"]},
    }
    with administrator(url) as db:
        migrate(db, upto=4)
        accounts.make_hub(db, KEY)
        db.execute((DATA / "step_004.sql").read_bytes())
        for number, (id, fields) in enumerate(notes.items(), 5):
            row = {"id": id, "version": number, "text": text_of(id, **fields), "source": "", "tags": [], **fields}
            row["source"] = fields.get("prov_source", "human")
            db.execute(
                "INSERT INTO anamnesis.notes (space, id, version, source, tags, type, title)"
                " VALUES (2, %(id)s, %(version)s, %(source)s, %(tags)s, 'semantic', 'A note')",
                row,
            )
            db.execute(
                "INSERT INTO anamnesis.versions (space, id, version, text, author)"
                " VALUES (2, %(id)s, %(version)s, %(text)s, 'you')",
                row,
            )
        db.execute("UPDATE anamnesis.spaces SET seq = 8 WHERE id = 2")
        migrate(db)
        assert examine(db) == []
    with RunningHub(url) as hub:
        you = hub.user("you")
        assert sorted(each["id"] for each in you("/ui/review").json["waiting"]) == ["ORDER", "WAITS"]
        order = you("/v1/spaces/core/notes/ORDER").json
        assert order["version"] == 9 and "held:" in order["text"]
        assert len(you("/v1/accepted", {}).json["accepted"].splitlines()) == 3


def test_what_was_accepted_before_hides_what_it_supersedes_after_the_upgrade(postgres: Postgres) -> None:
    """And what another member wrote and nobody has accepted hides nothing."""
    url = postgres.url(postgres.new_database())
    texts = {"OLD": text_of("OLD", "Deploy by hand."), "NEW": text_of("NEW", "Use kubectl.", supersedes="OLD")}
    with administrator(url) as db:
        migrate(db, upto=6)
        accounts.make_hub(db, KEY)
        db.execute((DATA / "step_006.sql").read_bytes())
        for number, (id, text) in enumerate(texts.items(), 5):
            row = {"id": id, "version": number, "text": text}
            db.execute(
                "INSERT INTO anamnesis.notes (space, id, version, type, title) VALUES"
                " (2, %(id)s, %(version)s, 'semantic', 'A note')",
                row,
            )
            db.execute(
                "INSERT INTO anamnesis.versions (space, id, version, text, author)"
                " VALUES (2, %(id)s, %(version)s, %(text)s, 'mate')",
                row,
            )
        db.execute("INSERT INTO anamnesis.supersessions (space, superseded, id) VALUES (2, 'OLD', 'NEW')")
        db.execute("UPDATE anamnesis.spaces SET seq = 6 WHERE id = 2")
        migrate(db)
    with RunningHub(url) as hub:
        you = hub.user("you")
        query = "SELECT anamnesis.is_superseded(2, 'OLD') AS found"
        with administrator(url) as db:
            db.execute("SELECT anamnesis.enter_user('you', '{read}')")
            assert db.execute(query).fetchone() == {"found": False}
        decision = written({acceptance.text_of(parse(texts["NEW"])): acceptance.Decision(1, 1)})
        assert you("/v1/accepted", {"accepted": decision}).status == 200
        with administrator(url) as db:
            db.execute("SELECT anamnesis.enter_user('you', '{read}')")
            assert db.execute(query).fetchone() == {"found": True}


def test_every_step_but_the_last_has_data_to_start_from() -> None:
    have = {int(path.stem[5:]) for path in DATA.glob("step_*.sql")}
    assert {step.number for step in known()[:-1]} | {1} <= have


def test_migrating_again_and_by_two_at_once_changes_nothing(postgres: Postgres) -> None:
    url = postgres.url(postgres.new_database())

    def run(_: int) -> int:
        with administrator(url) as db:
            return len(migrate(db))

    with ThreadPoolExecutor() as pool:
        assert sorted(pool.map(run, range(3))) == [0, 0, len(known())]


def test_a_step_that_fails_leaves_nothing(postgres: Postgres) -> None:
    url = postgres.url(postgres.new_database())
    with psycopg.connect(url) as db:
        db.execute("CREATE SCHEMA anamnesis")
        db.execute("CREATE TABLE anamnesis.versions (somebody text)")  # what the first step is about to make
    with pytest.raises(psycopg.errors.DuplicateTable), administrator(url) as db:
        migrate(db)
    with administrator(url) as db:
        assert applied(db) == {}


def test_a_server_keeps_working_while_the_next_version_migrates_and_no_other_starts(hub_url: str) -> None:
    """Otherwise no server would be ready between the migration and the start of the new ones."""
    with RunningHub(hub_url) as hub:
        with administrator(hub_url) as db:
            db.execute("INSERT INTO anamnesis.migrations (number, name, hash) VALUES (999, 'later', '')")
        assert hub.user("you")("/readyz").status == 200
    with pytest.raises(Unavailable, match="newer version"), administrator(hub_url) as db:
        migrate(db)
    variables = {"ANAMNESIS_HUB_DATABASE": hub_url, "ANAMNESIS_HUB_KEY": "tests" * 8}
    refused = CliRunner(env=variables).invoke(anamnesis, ["hub", "serve", "--port", "0"])
    assert str(refused.exception).startswith("The database is of a newer version of Anamnesis (step 999).")


def test_a_server_is_not_ready_before_its_own_steps_are_made(postgres: Postgres) -> None:
    url = postgres.url(postgres.new_database())
    with administrator(url) as db:
        migrate(db, upto=1)
        accounts.make_hub(db, KEY)
    with RunningHub(url) as hub:
        answer = Client(hub.url, "")("/readyz")
    assert (answer.status, answer.json["hint"]) == (503, "Run: anamnesis hub migrate")


def test_a_database_without_a_hub_is_a_sentence(postgres: Postgres) -> None:
    with (
        Database(postgres.url(postgres.new_database())) as database,
        pytest.raises(Unavailable, match=r"does not exist|has no hub"),
        database.entered(b"x"),
    ):
        pass


def test_an_owner_who_is_no_superuser_is_enough_and_a_login_may_have_the_servers_role_only(
    postgres: Postgres, tmp_path: Path
) -> None:
    name = postgres.new_database(postgres.template)  # where this server gets the role, if no test has made it yet
    postgres.execute("DROP SCHEMA anamnesis CASCADE", name)
    postgres.execute("CREATE ROLE keeper LOGIN CREATEROLE")
    postgres.execute(f"ALTER DATABASE {name} OWNER TO keeper")
    postgres.execute("GRANT anamnesis_hub TO keeper WITH ADMIN OPTION")
    with administrator(postgres.url(name, "keeper")) as db:
        migrate(db)
        accounts.make_hub(db, KEY)
        you = accounts.add_user(db, "you")
        _, token = accounts.create_token(db, KEY, you, "", ["read", "write"])
        assert examine(db) == []
    postgres.execute("CREATE ROLE front LOGIN NOINHERIT")
    postgres.execute("GRANT anamnesis_hub TO front")
    with served(postgres.url(name, "front"), tmp_path) as (url, _):
        assert [each["name"] for each in Client(url, token)("/v1/me").json["spaces"]] == ["~you"]
    with psycopg.connect(postgres.url(name, "front")) as db, pytest.raises(psycopg.errors.InsufficientPrivilege):
        db.execute("SELECT * FROM anamnesis.notes")
