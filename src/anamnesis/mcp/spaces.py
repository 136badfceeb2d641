"""The hub of this machine and its spaces, for the `memory_*` tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anamnesis.errors import InvalidArgument
from anamnesis.exchange import standing
from anamnesis.mcp.answer import shortened
from anamnesis.notes import SCOPES
from anamnesis.notes.spaces import OWN, PERSONAL, check_space, space_line

if TYPE_CHECKING:
    from anamnesis.store import MemoryStore

_MOST_NAMED = 100


def lines_for(space: str, scope: str) -> dict[str, str]:
    """The front-matter lines of a note that is written to a space."""
    if scope != SCOPES[0]:
        raise InvalidArgument(f"A {scope} note cannot be in a space.", "Leave space or scope out.")
    return space_line(OWN if space == PERSONAL else check_space(space))


def hub_facts(store: MemoryStore) -> dict[str, Any]:
    """The user's hub, the roles in its spaces, and the number of waiting notes; empty without a login."""
    found = standing.hub_facts(store)
    if found is None:
        return {}
    spaces = {shortened(each["name"]): each["role"] for each in found["spaces"][:_MOST_NAMED] if each["role"]}
    facts = {name: found[name] for name in ("url", "user", "reached_at", "failure")}
    return {"hub": {**facts, "spaces": spaces, "waiting": len(found["waiting"]), "unsent": found["unsent"]}}
