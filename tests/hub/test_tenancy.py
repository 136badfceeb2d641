"""Nobody sees or changes anything of a space without a role in it: through the routes, and in the database itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors
from starlette.routing import Route
from tests.hub.running import Client, RunningHub, text_of
from tests.postgres import KEY, Postgres

from anamnesis.hub.app import build
from anamnesis.hub.database import Connection, administrator

ROLES = ("reader", "writer", "keeper", "owner")
HIDDEN = "unspeakable"
TABLES = ("spaces", "members", "projects", "notes", "versions", "supersessions", "terms")


@pytest.fixture(scope="module")
def team(postgres: Postgres) -> Iterator[RunningHub]:
    """A space `core` with a member of each role, and a foreign space with a note that only its owner may see."""
    name = postgres.new_database(postgres.template)
    postgres.execute(f"ALTER DATABASE {name} SET log_statement = 'all'")
    postgres.execute(f"ALTER DATABASE {name} SET log_min_messages = 'log'")
    with RunningHub(postgres.url(name)) as hub:
        owner = hub.user("stranger", "admin", foreign="owner")
        owner.put("foreign", "N1", text_of("N1", HIDDEN, title=HIDDEN, project=HIDDEN, supersedes="N0"))
        owner.put("~stranger", "N1", text_of("N1", HIDDEN))
        for role in ROLES:
            hub.user(role, "admin", core=role)
        hub.user("owner").put("core", "N1", text_of("N1", "Known to the team."))
        yield hub


def logged(postgres: Postgres) -> str:
    return postgres.log.read_text("utf-8", "replace")


def routes(hub: RunningHub) -> list[tuple[str, str]]:
    found = [each for each in build(hub.hub).routes if isinstance(each, Route)]
    return [(method, each.path) for each in found for method in sorted(each.methods or ()) if method != "HEAD"]


def requests(hub: RunningHub, *spaces: str) -> Iterator[tuple[str, str, Any]]:
    """Every route, with every way to name these spaces: in the path, in the query, in the body."""
    for method, path in routes(hub):
        for space in spaces:
            named = path.replace("{space}", space).replace("{id}", "N1").replace("{version}", "1")
            named = re.sub(r"\{[^}]*\}", HIDDEN, named)
            query = f"?q={HIDDEN}&space={space}&project={HIDDEN}&limit=10"
            change = {"space": space, "id": "N1", "base": 1, "text": text_of("N1", "Overwritten.")}
            body = {"machine": "desk", "cursors": {space: 0}, "changes": [change], "space": space, "id": "N1"}
            if "/live" not in path:
                yield method, named + query, body if method != "GET" else None


@pytest.mark.parametrize("role", ROLES)
def test_no_route_shows_or_changes_anything_of_another_tenant(team: RunningHub, role: str) -> None:
    before = contents(team)
    client = team.user(role, "admin")
    for method, path, body in requests(team, "foreign", "~stranger"):
        answer = client(path, body, method)
        told = answer.body.decode().replace(path.partition("?")[0], "")
        assert HIDDEN not in told, (method, path)
        assert answer.status < 500, (method, path, answer.body)
        for result in answer.json.get("results", []) if "/changes" in path else []:
            assert result["refused"].startswith("There is no space")
    assert contents(team) == before


def test_every_query_of_every_route_names_its_spaces(team: RunningHub, postgres: Postgres) -> None:
    """As PostgreSQL logged them: the policies are the backstop, not the rule."""
    client = team.user("visitor", "admin", elsewhere="owner")
    client.put("elsewhere", "N1", text_of("N1", supersedes="N0"))
    start = len(logged(postgres))
    for method, path, body in requests(team, "elsewhere", "~visitor"):
        client(path, body, method)
    statements = re.findall(r"execute [^:]*: (.*?)(?=\n\d{4}-\d\d-\d\d |\Z)", logged(postgres)[start:], re.DOTALL)
    assert sum(names_its_spaces(each) for each in statements) > 10


def contents(team: RunningHub) -> list[dict[str, Any]]:
    with administrator(team.database) as db:
        return db.execute("SELECT space, id, version, text FROM anamnesis.versions ORDER BY 1, 2, 3").fetchall()


def names_its_spaces(statement: str) -> bool:
    """Whether a query is about rows of spaces; then its condition has to name the spaces."""
    used = [name for name in TABLES if re.search(rf"\b(?:FROM|JOIN|UPDATE) anamnesis\.{name}\b", statement)]
    column = "id" if used == ["spaces"] else "space"
    if used:
        assert re.search(rf"\b{column} = (?:ANY \(|given\.|\$)", statement), statement
    return bool(used)


@pytest.mark.parametrize("path", ["/v1/me", "/v1/export", "/v1/spaces/core/notes/N1", "/v1/sync", "/v1/changes"])
@pytest.mark.parametrize("token", ["", "anh_wrong", "Basic", "anh_" + "x" * 43])
def test_without_a_token_that_holds_nothing_is_answered(team: RunningHub, path: str, token: str) -> None:
    body = {"machine": "desk", "changes": []} if path in ("/v1/sync", "/v1/changes") else None
    answer = Client(team.url, token)(path, body)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("role", ROLES)
def test_a_role_may_do_what_it_says(team: RunningHub, role: str) -> None:
    client = team.user(role)
    assert client("/v1/spaces/core/notes/N1").json["text"] == text_of("N1", "Known to the team.")
    result = client.put("core", f"by-{role}", text_of(f"by-{role}"))
    if role == "reader":
        assert result["refused"] == "You are a reader of 'core', and this takes a writer."
    else:
        assert result["version"]
        assert client.put("core", f"by-{role}", None, base=result["version"])["version"]


def test_a_token_does_not_exceed_its_scopes(team: RunningHub) -> None:
    client = team.user("owner", "read")
    assert client.put("core", "N1", None, base=1)["refused"] == "This token has no scope 'write'."
    assert client("/v1/me").json["scopes"] == ["read"]


# In the database, without the predicates of the program


def entered(team: RunningHub, role: str) -> Any:
    return team.hub.database.entered(KEY.hash(team.user(role, "admin").token))


@pytest.mark.parametrize("role", ROLES)
def test_row_security_shows_only_the_callers_spaces_without_any_condition(team: RunningHub, role: str) -> None:
    with entered(team, role) as (db, caller):
        assert db.execute("SELECT current_user").fetchone() == {"current_user": "anamnesis_hub"}
        own = {held.id for held in caller.spaces.values()}
        for table in TABLES:
            column = "id" if table == "spaces" else "space"
            found = {row["space"] for row in db.execute(f"SELECT {column} AS space FROM anamnesis.{table}")}
            assert found <= own, table
        names = {row["name"] for row in db.execute("SELECT name FROM anamnesis.users")}
        assert names == {*ROLES}
        assert {row["owner"] for row in db.execute("SELECT owner FROM anamnesis.tokens")} == {caller.id}
    with administrator(team.database) as db:
        tables = "SELECT relname FROM pg_class WHERE relnamespace = 'anamnesis'::regnamespace AND relkind IN ('r', 'p')"
        protected = f"{tables} AND relrowsecurity AND relforcerowsecurity"
        assert db.execute(tables.encode()).fetchall() == db.execute(protected.encode()).fetchall()


def test_a_transaction_that_nobody_entered_sees_no_row(team: RunningHub) -> None:
    with team.hub.database.transaction() as db:
        for table in (*TABLES, "users", "audit"):
            assert db.execute(f"SELECT 1 FROM anamnesis.{table}".encode()).fetchall() == [], table


def foreign(team: RunningHub) -> int:
    with administrator(team.database) as db:
        return int((db.execute("SELECT id FROM anamnesis.spaces WHERE name = 'foreign'").fetchone() or {})["id"])


# Each with the roles that may not do it to `core`; nobody may do it to the foreign space.
REFUSED = {
    "UPDATE anamnesis.notes SET title = 'x' WHERE space = {space}": ("reader",),
    "UPDATE anamnesis.spaces SET seq = seq + 1 WHERE id = {space}": ("reader",),
    "INSERT INTO anamnesis.notes (space, id, version) VALUES ({space}, 'X', 999)": ("reader",),
    "INSERT INTO anamnesis.versions (space, id, version) VALUES ({space}, 'X', 999)": ("reader",),
    "INSERT INTO anamnesis.supersessions VALUES ({space}, 'X', 'Y')": ("reader",),
    "INSERT INTO anamnesis.projects VALUES ({space}, 'x')": ("reader", "writer"),
    "UPDATE anamnesis.members SET role = 'keeper' WHERE space = {space} AND role = 'reader'": ROLES[:3],
    "DELETE FROM anamnesis.members WHERE space = {space} AND role = 'owner'": ROLES[:3],
    "DELETE FROM anamnesis.members WHERE space = {space} AND role = 'writer'": ("reader", "writer"),
    "SELECT anamnesis.erase_note({space}, 'N1')": ROLES[:3],
    "DELETE FROM anamnesis.notes WHERE space = {space}": ROLES,
    "DELETE FROM anamnesis.versions WHERE space = {space}": ROLES,
    "UPDATE anamnesis.versions SET text = 'x' WHERE space = {space}": ROLES,
    "DELETE FROM anamnesis.spaces WHERE id = {space}": ROLES,
    "UPDATE anamnesis.spaces SET name = 'x' WHERE id = {space}": ROLES,
    "INSERT INTO anamnesis.terms VALUES ({space}, 'x', 1)": ROLES,
    "SELECT hash FROM anamnesis.tokens": ROLES,
    "SELECT * FROM anamnesis.devices": ROLES,
    "SELECT key_check FROM anamnesis.hub": ROLES,
    "INSERT INTO anamnesis.users (name) VALUES ('x')": ROLES,
    "UPDATE anamnesis.audit SET actor = 'x'": ROLES,
    "DELETE FROM anamnesis.audit": ROLES,
    "TRUNCATE anamnesis.audit": ROLES,
}


def attempt(db: Connection, statement: str) -> int:
    """How many rows a statement changes or shows; it is undone."""
    db.execute("SAVEPOINT attempt")
    try:
        return db.execute(statement.encode()).rowcount
    except (errors.InsufficientPrivilege, errors.CheckViolation):
        return 0
    finally:
        db.execute("ROLLBACK TO attempt")


@pytest.mark.parametrize("role", ROLES)
def test_the_database_refuses_what_the_role_may_not(team: RunningHub, role: str) -> None:
    stranger = foreign(team)
    with entered(team, role) as (db, caller):
        for statement, refused in REFUSED.items():
            own = attempt(db, statement.format(space=caller.spaces["core"].id))
            assert bool(own) == (role not in refused), statement
            if "{space}" in statement:
                assert not attempt(db, statement.format(space=stranger)), statement
        db.rollback()


def test_the_audit_log_cannot_be_changed_by_anybody(team: RunningHub) -> None:
    for statement in (
        "UPDATE anamnesis.audit SET actor = 'x'",
        "DELETE FROM anamnesis.audit",
        "TRUNCATE anamnesis.audit",
    ):
        with psycopg.connect(team.database) as db, pytest.raises(errors.InsufficientPrivilege, match="append-only"):
            db.execute(statement.encode())


def test_a_personal_space_gets_no_member(team: RunningHub) -> None:
    with psycopg.connect(team.database) as db, pytest.raises(errors.CheckViolation, match="has no members"):
        db.execute("""
            INSERT INTO anamnesis.members SELECT s.id, u.id, 'reader' FROM anamnesis.spaces s, anamnesis.users u
            WHERE s.name = '~stranger' AND u.name = 'owner'
        """)


def test_the_log_of_a_space_is_for_those_who_keep_it(team: RunningHub) -> None:
    for role in ROLES:
        with entered(team, role) as (db, _):
            seen = {row["space_name"] for row in db.execute("SELECT space_name FROM anamnesis.audit")}
        assert seen - {""} == ({"core"} if role in ("keeper", "owner") else set())  # "" is what they did themselves
