"""The server's login at PostgreSQL: it may take the role `anamnesis_hub`, and has no right besides."""

from __future__ import annotations

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from anamnesis.errors import InvalidArgument
from anamnesis.hub.database import SERVER_ROLE, Connection, one
from anamnesis.hub.refusal import Refusal

_FORM = "Give one with the user and the password that the server will use: postgresql://user:password@host/name."
# What the server must not have: rights of its own, or of another role.
_ANY_RIGHT = f"""
SELECT r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolbypassrls OR r.rolreplication OR r.rolname = CURRENT_USER
    OR EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
        WHERE m.member = r.oid AND g.rolname <> '{SERVER_ROLE}') AS found
FROM pg_roles r WHERE r.rolname = %(name)s
"""


def make_login(db: Connection, address: str) -> str:
    """Make the login of a server's address, or give it this password; returns its name.

    A login that may do more than the server is refused, and left as it is.
    """
    name, password = _named(address)
    known = one(db, _ANY_RIGHT, {"name": name})
    if known and known["found"]:
        raise Refusal(f"The login {name!r} may do more than the server needs.", "Give the server a login of its own.")
    verb = sql.SQL("ALTER" if known else "CREATE")
    login = sql.Identifier(name)
    # The verifier, so that the password is in no log of the database.
    verifier = db.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
    db.execute(sql.SQL("{} ROLE {} LOGIN NOINHERIT PASSWORD {}").format(verb, login, verifier))
    db.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(SERVER_ROLE), login))
    return name


def may_change_the_schema(db: Connection) -> bool:
    """Whether the login of this connection owns the hub's schema, or is a superuser."""
    query = """
        SELECT r.rolsuper OR pg_has_role(SESSION_USER, n.nspowner, 'MEMBER') AS found
        FROM pg_roles r, pg_namespace n WHERE r.rolname = SESSION_USER AND n.nspname = 'anamnesis'
    """
    return bool((one(db, query) or {}).get("found"))


def _named(address: str) -> tuple[str, str]:
    try:
        given = conninfo_to_dict(address)
    except psycopg.ProgrammingError as error:
        raise InvalidArgument("The server's address of the database cannot be used.", _FORM) from error
    name, password = given.get("user"), given.get("password")
    if not name or not password:
        raise InvalidArgument("The server's address of the database names no user, or no password.", _FORM)
    return str(name), str(password)
