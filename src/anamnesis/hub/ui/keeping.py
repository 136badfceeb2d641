"""The pages about who may do what: spaces with their members and projects, the audit log, tokens, and new machines."""

from __future__ import annotations

from typing import Any, NamedTuple

from anamnesis.hub import accounts, audit
from anamnesis.hub.accounts import Space, User
from anamnesis.hub.refusal import NotAllowed, NotFound, Refusal
from anamnesis.hub.routes import number_in
from anamnesis.hub.tenancy import ROLES, Held
from anamnesis.hub.ui.reading import spaces_of
from anamnesis.hub.ui.visit import Data, Form, Next, Page, Visit
from anamnesis.plural import counted
from anamnesis.web.ui.action import FormInput

_ENTRIES = 100


def spaces(visit: Visit) -> Data:
    """The caller's spaces, with the role and the number of notes, and the invitations to others."""
    return {"spaces": spaces_of(visit), "invitations": accounts.list_invitations(visit.db)}


def space(visit: Visit) -> Data:
    """A space with its members and projects; for those who manage members, also whom it has invited."""
    held = visit.caller.space(visit.path["space"])
    rows = visit.db.execute(
        """
        SELECT u.name, m.role FROM anamnesis.members m JOIN anamnesis.users u ON u.id = m.member
        WHERE m.space = %(space)s ORDER BY m.role DESC, u.name
        """,
        {"space": held.id},
    ).fetchall()
    roles = _roles(visit, held)
    return {
        "name": held.name,
        "role": held.role,
        "notes": visit.store.sizes().get(held.id, 0),
        "projects": held.projects,
        "members": [{**row, "roles": _roles_of(roles, row["role"])} for row in rows],
        "invited": [{**row, "manageable": row["role"] in roles} for row in _invited(visit, held)],
        "is_personal": held.name == visit.caller.personal,
        "may_keep": bool(roles) and held.name != visit.caller.personal,
        "roles": roles,
    }


def change_member(visit: Visit, given: FormInput) -> Next:
    """Invite a user, give a member another role, or remove either."""
    held = visit.caller.space(given.path["space"], "keeper")
    name, in_space = given.text("user").strip(), Space(held.id, held.name)
    member = _manageable(visit, held, name)
    if given.text("remove"):
        if not accounts.remove_member(visit.db, in_space, name, visit.caller.name):
            raise NotFound(f"{name[:80]!r} is neither a member of {held.name!r} nor invited.")
        return Next(f"spaces/{held.name}", f"{name} is not a member any more." if member else f"{name} is not invited.")
    role, roles = given.text("role"), _roles(visit, held)
    if role in ROLES and role not in roles:
        raise NotAllowed(f"A {held.role} cannot make anybody a {role}.")
    if member and role in ROLES and role not in _roles_of(roles, member.role):
        raise NotAllowed(
            f"A {held.role} cannot make a {member.role} a {role}: notes that {name} writes would go to the space.",
            "An owner can. Or remove the member, and invite again: an invitation has to be accepted.",
        )
    if member and role == member.role:
        return Next(f"spaces/{held.name}", f"{name} already is a {role}.")
    if member:
        accounts.change_role(visit.db, in_space, member.user, role, visit.caller.name)
        return Next(f"spaces/{held.name}", f"{name} is a {role} now.")
    accounts.invite(visit.db, in_space, name, role, visit.caller.name)
    return Next(f"spaces/{held.name}", f"If there is a user {name}, an invitation to be a {role} waits there.")


def answer(visit: Visit, given: FormInput) -> Next:
    """Accept or decline an invitation to a space."""
    decision = given.text("decision")
    if decision not in ("accept", "decline"):
        raise Refusal(f"{decision[:40]!r} is neither accept nor decline.")
    name = given.path["space"]
    role = accounts.answer_invitation(visit.db, visit.caller, name, accepts=decision == "accept")
    if decision == "accept":
        return Next("spaces", f"You are a {role} of {name} now.")
    return Next("spaces", f"You declined the invitation to {name}.")


def change_project(visit: Visit, given: FormInput) -> Next:
    """Give a project to a space, or take it back."""
    held = visit.caller.space(given.path["space"], "keeper")
    in_space, project = Space(held.id, held.name), given.text("project").strip()
    if given.text("remove"):
        if not accounts.take_project(visit.db, in_space, project, visit.caller.name):
            raise NotFound(f"{held.name!r} does not have the project {project[:80]!r}.")
        said = f"New notes of {project} do not go to this space any more. Those that are here stay."
        return Next(f"spaces/{held.name}", said)
    accounts.give_project(visit.db, in_space, project, visit.caller.name)
    said = f"New notes of {project} by writers go to this space. Earlier ones stay private until shared."
    return Next(f"spaces/{held.name}", said)


def log(visit: Visit) -> Data:
    """The audit log of the spaces that the caller keeps, and what the caller did; the newest entries first."""
    text = visit.query.get("before", "")
    before = number_in(text)
    if text and before is None:
        raise Refusal(f"{text[:40]!r} is not the number of an entry.")
    name = visit.query.get("space")
    held = visit.caller.space(name) if name else None
    entries = audit.entries(
        visit.db,
        space=held.id if held else None,
        before=before,
        limit=_ENTRIES,
        caller=visit.caller,
    )
    return {"entries": entries, "before": entries[-1]["id"] if len(entries) == _ENTRIES else None}


def tokens(visit: Visit) -> Data:
    """The caller's tokens, not the tokens themselves, which are not kept; and the machines that each let in."""
    listed = accounts.list_tokens(visit.db, User(visit.caller.id, visit.caller.name))
    return {"tokens": [{**each, "let_in": _machines(listed, each["id"])} for each in listed]}


def revoke(visit: Visit, given: FormInput) -> Next:
    """Revoke one of the caller's tokens at once, and if that is asked those of the machines that it let in."""
    number = number_in(given.path["id"])
    if number is None:
        raise NotFound(f"There is no token {given.path['id'][:40]!r}.")
    user = User(visit.caller.id, visit.caller.name)
    below = accounts.let_in_by(accounts.list_tokens(visit.db, user), number)
    accounts.revoke_token(visit.db, number, visit.caller.name, user)
    if not given.text("descendants"):
        return Next("tokens", "The token is revoked.")
    for each in below:
        accounts.revoke_token(visit.db, each["id"], visit.caller.name, user)
    return Next("tokens", f"The token is revoked, and {counted(len(below), 'token')} of machines that it let in.")


def _machines(listed: list[dict[str, Any]], number: int) -> list[str]:
    """The names of the machines that a token let in, whose tokens hold."""
    return [each["name"] or str(each["id"]) for each in accounts.let_in_by(listed, number)]


def device(visit: Visit) -> Data:
    """Where a person confirms the login of a machine."""
    return {"user": visit.caller.name}


def approve(visit: Visit, given: FormInput) -> Next:
    """Confirm the code that a machine shows: it gets a token of the caller."""
    if "write" not in visit.caller.scopes:
        raise NotAllowed(
            "Your token allows less than the machine would get.", "Log in with one that has the scope write."
        )
    machine = accounts.approve_device(visit.db, given.text("code")[:40], visit.caller.name)
    return Next("device", f"{machine} is logged in.")


def _roles(visit: Visit, held: Held) -> list[str]:
    """The roles that the caller may give and take in a space."""
    if not visit.caller.refusal(held, "owner"):
        return [*ROLES]
    return [] if visit.caller.refusal(held, "keeper") else [*ROLES[: ROLES.index("keeper")]]


def _roles_of(roles: list[str], current: str) -> list[str]:
    """The roles that a caller who gives `roles` may give a member of this role: only an owner gives a higher one."""
    if current not in roles:
        return []
    return roles if "owner" in roles else roles[: roles.index(current) + 1]


class _Member(NamedTuple):
    user: User
    role: str


def _manageable(visit: Visit, held: Held, name: str) -> _Member | None:
    """The member of this name, if any. A keeper does not change keepers and owners, and a space keeps an owner."""
    query = """
        SELECT u.id, u.name, m.role FROM anamnesis.members m JOIN anamnesis.users u ON u.id = m.member
        WHERE m.space = %(space)s
    """
    rows = visit.db.execute(query, {"space": held.id}).fetchall()
    member = next((row for row in rows if row["name"] == name), None)
    offered = next((row["role"] for row in _invited(visit, held) if row["name"] == name), None)
    current = member["role"] if member else offered
    if current and current not in _roles(visit, held):
        raise NotAllowed(f"A {held.role} cannot change a {current}.")
    if member and current == "owner" and sum(row["role"] == "owner" for row in rows) == 1:
        raise Refusal(f"{name} is the only owner of {held.name!r}.", "Make somebody else an owner first.")
    return _Member(User(member["id"], name), member["role"]) if member else None


def _invited(visit: Visit, held: Held) -> list[Data]:
    query = """
        SELECT i.invited AS name, i.role FROM anamnesis.invitations i
        WHERE i.space = %(space)s ORDER BY i.role DESC, i.invited
    """
    return visit.db.execute(query, {"space": held.id}).fetchall()


PAGES = [
    Page("/spaces", "hub/spaces.html", spaces),
    Page("/spaces/{space}", "hub/space.html", space),
    Page("/audit", "hub/audit.html", log),
    Page("/tokens", "hub/tokens.html", tokens),
    Page("/device", "hub/device.html", device),
]
FORMS = [
    Form("/spaces/{space}/members", change_member),
    Form("/spaces/{space}/projects", change_project),
    Form("/invitations/{space}", answer),
    Form("/tokens/{id}/revoke", revoke),
    Form("/device", approve),
]
