"""Users, spaces, members, projects of spaces, and tokens. Each change is recorded in the audit log with its actor."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import errors

from anamnesis.errors import InvalidArgument
from anamnesis.hub import audit
from anamnesis.hub.audit import ADMINISTRATOR
from anamnesis.hub.database import Connection, one
from anamnesis.hub.keys import Key, new_token, new_user_code, plain_user_code
from anamnesis.hub.refusal import NotAllowed, NotFound, Refusal, TooMany, Unavailable
from anamnesis.hub.tenancy import ROLES, SCOPES, Caller, personal_space
from anamnesis.notes import project_fault
from anamnesis.notes.project_names import is_among
from anamnesis.notes.spaces import VERSION_RANGE

DEVICE_SECONDS = 900
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


class User(NamedTuple):
    id: int
    name: str


class Space(NamedTuple):
    id: int
    name: str


class Redeemed(NamedTuple):
    """The state of a device code: `pending`, `expired`, or `redeemed` with the user and a token."""

    state: str
    user: str = ""
    token: str = ""


def make_hub(db: Connection, key: Key) -> str:
    """Create the hub with a new id and the check of its key; an existing hub keeps its id."""
    new = {"id": secrets.token_hex(16), "check": key.check}
    query = "INSERT INTO anamnesis.hub (id, key_check) VALUES (%(id)s, %(check)s) ON CONFLICT DO NOTHING RETURNING id"
    if made := one(db, query, new):
        audit.record(db, ADMINISTRATOR, "hub init", made["id"])
        return str(made["id"])
    check_key(db, key)
    return hub_id(db)


def hub_id(db: Connection) -> str:
    found = one(db, "SELECT id FROM anamnesis.hub")
    if found is None:
        raise Unavailable("The database has no hub yet.", "Run: anamnesis hub init")
    return str(found["id"])


def name_new_history(db: Connection, action: str = "hub new history") -> str:
    """Give the hub another id, so that clients compare everything: versions that they have may be gone.

    Their numbers are not given out again, so that a client can tell a version from before the loss from a later one.
    """
    query = "UPDATE anamnesis.hub SET id = %(id)s RETURNING id"
    audit.record(db, ADMINISTRATOR, action, hub_id(db))
    db.execute("UPDATE anamnesis.spaces SET seq = (seq / %(range)s + 1) * %(range)s", {"range": VERSION_RANGE})
    return str((one(db, query, {"id": secrets.token_hex(16)}) or {})["id"])


def check_key(db: Connection, key: Key) -> None:
    """Refuse a key under which no token of this hub would be found."""
    if (one(db, "SELECT anamnesis.is_key(%(check)s) AS same", {"check": key.check}) or {})["same"] is False:
        raise Unavailable(
            "The key is not the one of this hub: no token would be found.",
            "Set ANAMNESIS_HUB_KEY or --key-file as on the machine where `anamnesis hub init` ran.",
        )


def add_user(db: Connection, name: str, actor: str = ADMINISTRATOR) -> User:
    """A new user with a personal space. A user who had left gets the old personal space back."""
    _check_name(name, "user")
    query = """
        INSERT INTO anamnesis.users AS u (name) VALUES (%(name)s)
        ON CONFLICT (name) DO UPDATE SET left_at = NULL WHERE u.left_at IS NOT NULL RETURNING id
    """
    made = one(db, query, {"name": name})
    if made is None:
        raise Refusal(f"There is a user {name!r} already.")
    db.execute(
        """
        INSERT INTO anamnesis.spaces (name, personal_of) VALUES (%(space)s, %(user)s)
        ON CONFLICT (personal_of) DO NOTHING
        """,
        {"space": personal_space(name), "user": made["id"]},
    )
    audit.record(db, actor, "user add", name)
    return User(made["id"], name)


def find_user(db: Connection, name: str) -> User:
    found = one(db, "SELECT id FROM anamnesis.users WHERE name = %(name)s AND left_at IS NULL", {"name": name})
    if found is None:
        raise NotFound(f"There is no user {name!r}.", "`anamnesis hub user list` shows all, `user add` adds one.")
    return User(found["id"], name)


def list_users(db: Connection) -> list[dict[str, Any]]:
    rows = db.execute("""
        SELECT u.name, u.created, u.left_at AS left, coalesce(s.notes, 0) AS notes,
            (SELECT count(*) FROM anamnesis.tokens t WHERE t.owner = u.id AND t.revoked IS NULL
                AND (t.expires IS NULL OR t.expires > now())) AS tokens,
            (SELECT max(used) FROM anamnesis.tokens t WHERE t.owner = u.id) AS used,
            ARRAY(SELECT p.name || ':' || m.role FROM anamnesis.members m JOIN anamnesis.spaces p ON p.id = m.space
                WHERE m.member = u.id ORDER BY 1) AS spaces
        FROM anamnesis.users u LEFT JOIN anamnesis.spaces s ON s.personal_of = u.id ORDER BY u.name
    """)
    return [_dated(row) for row in rows]


def leave(db: Connection, name: str, actor: str = ADMINISTRATOR) -> dict[str, Any]:
    """Let a user go: tokens end at once, memberships end, and the notes of shared spaces stay with the author's name.

    The personal space stays until it is erased.
    """
    user = find_user(db, name)
    values = {"user": user.id}
    query = "UPDATE anamnesis.tokens SET revoked = now() WHERE owner = %(user)s AND revoked IS NULL"
    tokens = db.execute(query, values).rowcount
    spaces = db.execute("DELETE FROM anamnesis.members WHERE member = %(user)s", values).rowcount
    db.execute("DELETE FROM anamnesis.devices WHERE approved_by = %(user)s", values)
    db.execute("UPDATE anamnesis.users SET left_at = now() WHERE id = %(user)s", values)
    audit.record(db, actor, "user leave", name, tokens=tokens, spaces=spaces)
    return {"user": name, "tokens": tokens, "spaces": spaces, "personal": personal_space(name)}


def add_space(db: Connection, name: str, actor: str = ADMINISTRATOR) -> Space:
    _check_name(name, "space")
    query = "INSERT INTO anamnesis.spaces (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING RETURNING id"
    made = one(db, query, {"name": name})
    if made is None:
        raise Refusal(f"There is a space {name!r} already.", "Its members: anamnesis hub space member")
    space = Space(made["id"], name)
    _record(db, actor, "space add", space)
    return space


def find_space(db: Connection, name: str) -> Space:
    found = one(db, "SELECT id FROM anamnesis.spaces WHERE name = %(name)s", {"name": name})
    if found is None:
        raise NotFound(f"There is no space {name!r}.", "`anamnesis hub space list` shows all.")
    return Space(found["id"], name)


def list_spaces(db: Connection) -> list[dict[str, Any]]:
    rows = db.execute("""
        SELECT s.name, s.seq, s.notes, s.created,
            ARRAY(SELECT u.name || ':' || m.role FROM anamnesis.members m JOIN anamnesis.users u ON u.id = m.member
                WHERE m.space = s.id ORDER BY 1) AS members,
            ARRAY(SELECT i.invited || ':' || i.role FROM anamnesis.invitations i
                WHERE i.space = s.id ORDER BY 1) AS invited,
            ARRAY(SELECT p.project FROM anamnesis.projects p WHERE p.space = s.id ORDER BY 1) AS projects
        FROM anamnesis.spaces s ORDER BY s.name
    """)
    return [_dated(row) for row in rows]


def set_member(db: Connection, space: Space, user: User, role: str, actor: str = ADMINISTRATOR) -> None:
    """Make a user a member at once, or give a member another role; for an administrator."""
    _check_role(role)
    query = """
        INSERT INTO anamnesis.members (space, member, role) VALUES (%(space)s, %(user)s, %(role)s)
        ON CONFLICT (space, member) DO UPDATE SET role = excluded.role
    """
    with _personal_refused(space):
        db.execute(query, {"space": space.id, "user": user.id, "role": role})
    _withdraw(db, space, user.name)
    _record(db, actor, "space member", space, user.name, role=role)


def invite(db: Connection, space: Space, name: str, role: str, actor: str) -> None:
    """Offer a membership, which begins when the user of this name accepts it.

    Whether there is such a user is not looked up, so neither the answer nor its time tells.
    """
    _check_role(role)
    _check_name(name, "user")
    query = """
        INSERT INTO anamnesis.invitations AS i (space, invited, role, inviter)
        VALUES (%(space)s, %(name)s, %(role)s, %(actor)s)
        ON CONFLICT (space, invited) DO UPDATE SET role = excluded.role, inviter = excluded.inviter
    """
    with _personal_refused(space):
        db.execute(query, {"space": space.id, "name": name, "role": role, "actor": actor})
    _record(db, actor, "space invite", space, name, role=role)


def change_role(db: Connection, space: Space, user: User, role: str, actor: str) -> None:
    """Give a member another role."""
    _check_role(role)
    query = "UPDATE anamnesis.members SET role = %(role)s WHERE space = %(space)s AND member = %(user)s"
    db.execute(query, {"space": space.id, "user": user.id, "role": role})
    _record(db, actor, "space member", space, user.name, role=role)


def remove_member(db: Connection, space: Space, name: str, actor: str = ADMINISTRATOR) -> bool:
    """End a membership, or withdraw an invitation; False if there was neither."""
    query = """
        DELETE FROM anamnesis.members m USING anamnesis.users u
        WHERE m.space = %(space)s AND u.id = m.member AND u.name = %(name)s
    """
    was_member = db.execute(query, {"space": space.id, "name": name}).rowcount > 0
    if not (_withdraw(db, space, name) or was_member):
        return False
    _record(db, actor, "space member removed", space, name)
    return True


def list_invitations(db: Connection) -> list[dict[str, Any]]:
    """The invitations of the user of this transaction that wait for an answer."""
    return db.execute("SELECT * FROM anamnesis.invitations_of_caller()").fetchall()


def answer_invitation(db: Connection, caller: Caller, space: str, *, accepts: bool) -> str:
    """Accept or decline an invitation of the caller; returns its role."""
    if "write" not in caller.scopes:
        raise NotAllowed("This token has no scope 'write'.", "Answer with one that has it.")
    query = "SELECT anamnesis.answer_invitation(%(space)s, %(accepts)s) AS role"
    role = (one(db, query, {"space": space, "accepts": accepts}) or {})["role"]
    if role is None:
        raise NotFound(f"There is no invitation to a space {space!r} for you.", "`anamnesis space` lists yours.")
    return str(role)


def give_project(db: Connection, space: Space, project: str, actor: str = ADMINISTRATOR) -> None:
    """Assign a project to a space: notes of the project that its members write go there."""
    if not project.strip() or not project.isprintable() or project_fault(project):
        raise InvalidArgument(f"{project[:40]!r} is not the key of a project.", "`anamnesis project show` prints one.")
    if _names_given(db, space, project):
        return
    query = "INSERT INTO anamnesis.projects (space, project) VALUES (%(space)s, %(project)s) ON CONFLICT DO NOTHING"
    if db.execute(query, {"space": space.id, "project": project}).rowcount:
        _record(db, actor, "space project", space, project)


def take_project(db: Connection, space: Space, project: str, actor: str = ADMINISTRATOR) -> bool:
    """Take back a project, in any spelling of its name; returns whether the space had it."""
    given = _names_given(db, space, project)
    query = "DELETE FROM anamnesis.projects WHERE space = %(space)s AND project = ANY (%(given)s)"
    was_given = db.execute(query, {"space": space.id, "given": given}).rowcount > 0
    if was_given:
        _record(db, actor, "space project removed", space, project)
    return was_given


def _names_given(db: Connection, space: Space, project: str) -> list[str]:
    """The spellings of a project's name under which a space has it."""
    rows = db.execute("SELECT project FROM anamnesis.projects WHERE space = %(space)s", {"space": space.id})
    return [row["project"] for row in rows if is_among(row["project"], [project])]


def create_token(
    db: Connection,
    key: Key,
    user: User,
    name: str,
    scopes: list[str],
    expires: datetime | None = None,
    actor: str = ADMINISTRATOR,
) -> tuple[int, str]:
    """A new token, with its number. Only its hash is kept."""
    if not scopes or not {*scopes} <= {*SCOPES}:
        raise InvalidArgument("A token needs scopes.", f"Scopes: {', '.join(SCOPES)}.")
    token = new_token()
    query = """
        INSERT INTO anamnesis.tokens (owner, name, hash, scopes, expires)
        VALUES (%(owner)s, %(name)s, %(hash)s, %(scopes)s, %(expires)s) RETURNING id
    """
    values = {"owner": user.id, "name": name, "hash": key.hash(token), "scopes": scopes, "expires": expires}
    number: int = (one(db, query, values) or {})["id"]
    audit.record(db, actor, "token create", user.name, token=number, scopes=scopes)
    return number, token


def list_tokens(db: Connection, user: User | None = None) -> list[dict[str, Any]]:
    rows = db.execute(
        """
        SELECT t.id, u.name AS user, t.name, t.scopes, t.created, t.expires, t.used, t.revoked, t.parent
        FROM anamnesis.tokens t JOIN anamnesis.users u ON u.id = t.owner
        WHERE %(owner)s::bigint IS NULL OR t.owner = %(owner)s ORDER BY t.id
        """,
        {"owner": user.id if user else None},
    )
    return [_dated(row) for row in rows]


def find_token(db: Connection, key: Key, token: str) -> int:
    """The number of a token that somebody has found."""
    found = one(db, "SELECT id FROM anamnesis.tokens WHERE hash = %(hash)s", {"hash": key.hash(token)})
    if found is None:
        raise NotFound("No token of this hub is the given one.", "`anamnesis hub token list` shows all by number.")
    return int(found["id"])


def let_in_by(tokens: Iterable[Mapping[str, Any]], number: int) -> list[dict[str, Any]]:
    """Those of the listed tokens that hold and come from a token: of machines that it, or one of these, let in."""
    below, found = {number}, []
    for each in tokens:  # a token has a higher number than the one that it comes from
        if each["parent"] in below:
            below.add(each["id"])
            found += [] if each["revoked"] else [dict(each)]
    return found


def revoke_token(db: Connection, number: int, actor: str = ADMINISTRATOR, owner: User | None = None) -> bool:
    """End a token at once, one of the `owner` if given; False if it had ended."""
    values = {"id": number, "owner": owner.id if owner else None}
    which = "id = %(id)s AND (%(owner)s::bigint IS NULL OR owner = %(owner)s)"
    revoked = db.execute(f"UPDATE anamnesis.tokens SET revoked = now() WHERE {which} AND revoked IS NULL", values)
    if not one(db, f"SELECT id FROM anamnesis.tokens WHERE {which}", values):
        raise NotFound(f"There is no token {number}.", "`anamnesis hub token list` shows all.")
    if revoked.rowcount:
        audit.record(db, actor, "token revoke", str(number))
    return revoked.rowcount > 0


def start_device(db: Connection, key: Key, machine: str) -> tuple[str, str]:
    """A login that waits for a person: the code for the machine, and the one for the person."""
    code, user_code = new_token(), new_user_code()
    query = "SELECT anamnesis.start_device(%(code)s, %(user_code)s, %(machine)s, %(seconds)s) AS started"
    values = {"code": key.hash(code), "user_code": user_code, "machine": machine, "seconds": DEVICE_SECONDS}
    if not (one(db, query, values) or {}).get("started"):
        raise TooMany("Too many logins wait to be confirmed.", "Try again in some minutes.", 60)
    return code, user_code


def approve_device(db: Connection, user_code: str, user: str, actor: str = "") -> str:
    """Confirm a login as the user of this transaction, or for the user as another actor; returns the machine's name."""
    query = "SELECT anamnesis.approve_device(%(code)s) AS machine"
    machine = (one(db, query, {"code": plain_user_code(user_code)}) or {}).get("machine")
    if machine is None:
        raise NotFound(f"No login waits with the code {user_code!r}.", "A code works once, within 15 minutes.")
    audit.record(db, actor or user, "device approve", machine, user=user)
    return str(machine)


def redeem_device(db: Connection, key: Key, code: str) -> Redeemed:
    """A token for a login that was confirmed."""
    token = new_token()
    query = "SELECT * FROM anamnesis.redeem_device(%(code)s, %(token)s)"
    found = one(db, query, {"code": key.hash(code), "token": key.hash(token)}) or {}
    if found["state"] != "redeemed":
        return Redeemed(found["state"])
    audit.record(db, found["user_name"], "device login", found["machine"])
    return Redeemed("redeemed", found["user_name"], token)


def _withdraw(db: Connection, space: Space, name: str) -> bool:
    query = "DELETE FROM anamnesis.invitations WHERE space = %(space)s AND invited = %(name)s"
    return db.execute(query, {"space": space.id, "name": name}).rowcount > 0


@contextmanager
def _personal_refused(space: Space) -> Iterator[None]:
    try:
        yield
    except errors.CheckViolation as error:
        raise Refusal(f"{space.name!r} is a personal space, which nobody else can be a member of.") from error


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise InvalidArgument(f"{role[:40]!r} is not a role.", f"Roles: {', '.join(ROLES)}.")


def _check_name(name: str, what: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidArgument(
            f"{name!r} cannot be the name of a {what}.",
            "Use up to 63 small letters, digits, dots, dashes and underscores, a letter or digit first.",
        )


def _record(db: Connection, actor: str, action: str, space: Space, target: str = "", **facts: Any) -> None:
    audit.record(db, actor, action, target, space_id=space.id, space_name=space.name, **facts)


def _dated(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its timestamps as ISO texts."""
    return {
        name: value.isoformat(timespec="seconds") if isinstance(value, datetime) else value
        for name, value in row.items()
    }
