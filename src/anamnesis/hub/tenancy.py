"""The caller of a transaction, and what the caller may do in each space. The database's policies say the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anamnesis.hub.refusal import NotAllowed, NotAuthenticated, NotFound

ROLES = ("reader", "writer", "keeper", "owner")
SCOPES = ("read", "write", "admin")
# The scope that a token needs for what a role may do.
_SCOPE_OF = {"reader": "read", "writer": "write", "keeper": "admin", "owner": "admin"}


@dataclass(frozen=True, slots=True)
class Held:
    """A space that the caller may see: the caller's role in it, and its last version."""

    id: int
    name: str
    role: str
    seq: int
    projects: list[str]


@dataclass(frozen=True, slots=True)
class Caller:
    """A user for the time of one transaction."""

    hub: str
    id: int
    name: str
    scopes: frozenset[str]
    spaces: Mapping[str, Held]
    token: int | None = None

    @classmethod
    def of(cls, entered: dict[str, Any] | None) -> Caller:
        """The caller that `anamnesis.enter` returned; refuses if it returned none."""
        if entered is None:
            raise NotAuthenticated(
                "The token is unknown, expired or revoked.", "Log in again: anamnesis login, or ask for a new token."
            )
        spaces = {each["name"]: Held(**each) for each in entered["spaces"]}
        scopes = frozenset(entered["scopes"])
        return cls(entered["hub"], entered["id"], entered["user"], scopes, spaces, entered.get("token"))

    @property
    def personal(self) -> str:
        return personal_space(self.name)

    def space(self, name: str, role: str = "reader") -> Held:
        """A space in which the caller has at least this role."""
        held = self.spaces.get(name)
        if held is None:
            raise NotFound(f"There is no space {name!r} that you may see.", "`GET /v1/me` lists yours.")
        if refused := self.refusal(held, role):
            raise NotAllowed(refused)
        return held

    def refusal(self, held: Held, role: str) -> str:
        """Why the caller may not do in a space what this role may; "" if that is allowed."""
        if ROLES.index(held.role) < ROLES.index(role):
            return f"You are a {held.role} of {held.name!r}, and this takes a {role}."
        if (scope := _SCOPE_OF[role]) not in self.scopes:
            return f"This token has no scope {scope!r}."
        return ""


def personal_space(user: str) -> str:
    """The name of a user's own space; shared ones cannot begin with a tilde."""
    return f"~{user}"


def implied(scope: str) -> list[str]:
    """A scope with those that it includes."""
    return list(SCOPES[: SCOPES.index(scope) + 1])
