"""Nobody sees or changes anything of a space without a role in it: through the routes, and in the database itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest
from psycopg import errors
from starlette.routing import Mount, Route
from tests.hub.running import Client, RunningHub, text_of
from tests.postgres import KEY, Postgres

from anamnesis.hub import accounts, mcp
from anamnesis.hub.app import build
from anamnesis.hub.database import Connection, administrator

ROLES = ("reader", "writer", "keeper", "owner")
HIDDEN = "unspeakable"
TABLES = ("spaces", "members", "invitations", "projects", "notes", "versions", "supersessions", "terms")


@pytest.fixture(scope="module")
def team(postgres: Postgres) -> Iterator[RunningHub]:
    """A space `core` with a member of each role, and a foreign space with a note that only its owner may see."""
    name = postgres.new_database(postgres.template)
    postgres.execute(f"ALTER DATABASE {name} SET log_statement = 'all'")
    postgres.execute(f"ALTER DATABASE {name} SET log_min_messages = 'log'")
    with RunningHub(postgres.url(name)) as hub:
        owner = hub.user("stranger", "admin", foreign="owner")
        with administrator(hub.database) as db:
            accounts.invite(db, accounts.find_space(db, "foreign"), HIDDEN, "reader", "stranger")
        owner.put("foreign", "N1", text_of("N1", HIDDEN, title=HIDDEN, project=HIDDEN, supersedes="N0"))
        owner.put("foreign", "N7", text_of("N7", HIDDEN, type="episodic"))
        owner.put("~stranger", "N1", text_of("N1", HIDDEN))
        for role in ROLES:
            hub.user(role, "admin", core=role)
        with administrator(hub.database) as db:
            accounts.invite(db, accounts.find_space(db, "core"), "guest", "writer", "owner")
        hub.user("owner").put("core", "N1", text_of("N1", "Known to the team."))
        yield hub


def logged(postgres: Postgres) -> str:
    return postgres.log.read_text("utf-8", "replace")


def routes(hub: RunningHub) -> list[tuple[str, str]]:
    """Every route, those of the dashboard too, but for the streams."""
    app = build(hub.hub)
    below = [(each.path, each.routes or []) for each in app.routes if isinstance(each, Mount)]
    found = [
        (before + each.path, each.methods or ())
        for before, some in [("", app.routes), *below]
        for each in some
        if isinstance(each, Route) and "/live" not in each.path
    ]
    return [(method, path) for path, methods in found for method in sorted(methods) if method != "HEAD"]


def requests(hub: RunningHub, *spaces: str) -> Iterator[tuple[str, str, Any]]:
    """Every route and every tool, with every way to name these spaces: in the path, in the query, in the body."""
    for space in spaces:
        for method, path in routes(hub):
            named = path.replace("{space}", space).replace("{id}", "N1").replace("{version}", "1")
            named = re.sub(r"\{[^}]*\}", HIDDEN, named)
            query = f"?q={HIDDEN}&space={space}&project={HIDDEN}&limit=10"
            change = {"space": space, "id": "N1", "base": 1, "text": text_of("N1", "Overwritten.")}
            body: Any = {
                "machine": "desk",
                "cursors": {space: 0},
                "changes": [change],
                "space": space,
                "id": "N1",
                "accept": True,
            }
            if path.startswith("/ui/"):
                form = {"space": space, "version": 1, "user": "visitor", "role": "owner", "project": "x", "code": "x"}
                decision = "accept" if "invitations" in path else "reject"
                body = urlencode({**form, "decision": decision}).encode()
            yield method, named + query, body if method != "GET" else None
        yield from (("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, **each}) for each in messages(space))


def messages(space: str) -> Iterator[dict[str, Any]]:
    """A message for every tool, prompt and resource, with values for all arguments."""
    given = {"id": "N7", "space": space, "query": HIDDEN, "type": "semantic", "title": "X", "body": "Overwritten."}
    values: dict[str, Any] = {**given, "done": ["N7"], "related": 5, "project": HIDDEN}
    listed = mcp.build_server().answer_one({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}) or {}
    for tool in listed["result"]["tools"]:
        arguments = {name: values[name] for name in tool["inputSchema"]["properties"] if name in values}
        yield {"method": "tools/call", "params": {"name": tool["name"], "arguments": arguments}}
    yield {"method": "prompts/get", "params": {"name": "reflect", "arguments": {"project": HIDDEN}}}
    yield {"method": "resources/read", "params": {"uri": "memory://note/N7"}}
    yield {"method": "resources/list"}


@pytest.mark.parametrize("role", ROLES)
def test_no_route_shows_or_changes_anything_of_another_tenant(team: RunningHub, role: str) -> None:
    before = contents(team)
    client = team.user(role, "admin")
    for method, path, body in requests(team, "foreign", "~stranger"):
        answer = client(path, body, method)
        told = answer.body.decode().replace(path.partition("?")[0], "").replace(f"'{HIDDEN}'", "")  # an echo
        assert HIDDEN not in told, (method, path)
        assert answer.status < 500, (method, path, answer.body)
        for result in answer.json.get("results", []) if path.startswith("/v1/changes") else []:
            assert result["refused"].startswith("There is no space")
    assert contents(team) == before


def test_every_query_of_every_route_names_its_spaces(team: RunningHub, postgres: Postgres) -> None:
    """As PostgreSQL logged them: the policies are the backstop, not the rule."""
    client = team.user("visitor", "admin", elsewhere="owner")
    client.put("elsewhere", "N1", text_of("N1", supersedes="N0"))
    client.put("elsewhere", "N7", text_of("N7", type="episodic"))
    start = len(logged(postgres))
    for method, path, body in requests(team, "elsewhere", "~visitor"):
        client(path, body, method)
    statements = re.findall(r"execute [^:]*: (.*?)(?=\n\d{4}-\d\d-\d\d |\Z)", logged(postgres)[start:], re.DOTALL)
    assert sum(names_its_spaces(each) for each in statements) > 10


def contents(team: RunningHub) -> list[dict[str, Any]]:
    """What the foreign spaces hold: versions, members and projects."""
    query = """
        SELECT s.name, s.seq, v.id, v.version, v.text,
            ARRAY(SELECT m::text FROM anamnesis.members m WHERE m.space = s.id) AS members,
            ARRAY(SELECT i::text FROM anamnesis.invitations i WHERE i.space = s.id) AS invited,
            ARRAY(SELECT p::text FROM anamnesis.projects p WHERE p.space = s.id) AS projects
        FROM anamnesis.spaces s JOIN anamnesis.versions v ON v.space = s.id
        WHERE s.name IN ('foreign', '~stranger') ORDER BY 1, 3, 4
    """
    with administrator(team.database) as db:
        return db.execute(query).fetchall()


def names_its_spaces(statement: str) -> bool:
    """Whether a query is about rows of spaces or tokens; then its condition has to name the spaces, or the owner."""
    tables = (*TABLES, "audit", "tokens")
    used = [name for name in tables if re.search(rf"\b(?:FROM|JOIN|UPDATE) anamnesis\.{name}\b", statement)]
    column = {"spaces": "id", "tokens": "owner"}.get(used[0], "space") if len(used) == 1 else "space"
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


_INVITE = "INSERT INTO anamnesis.invitations (space, invited, role, inviter) VALUES ({{space}}, 'x', '{role}', 'x')"
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
    "UPDATE anamnesis.members SET member = 1 WHERE space = {space}": ROLES,
    "INSERT INTO anamnesis.members SELECT {space}, id, 'reader' FROM anamnesis.users": ROLES,
    "UPDATE anamnesis.invitations SET declined = now() WHERE space = {space}": ROLES,
    _INVITE.format(role="writer"): ("reader", "writer"),
    _INVITE.format(role="owner"): ROLES[:3],
    "UPDATE anamnesis.invitations SET role = 'owner' WHERE space = {space}": ROLES[:3],
    "DELETE FROM anamnesis.invitations WHERE space = {space}": ("reader", "writer"),
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
