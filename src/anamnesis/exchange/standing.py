"""The state of the hub that every surface shows, from the last exchange and without a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anamnesis.errors import InvalidArgument, StoreUnavailable
from anamnesis.exchange.account import read_account
from anamnesis.exchange.state import read_standing, space_notes
from anamnesis.notes.spaces import PERSONAL
from anamnesis.sync.failure import HUB, Failure, last_failure


def hub_facts(home: Path) -> dict[str, Any] | None:
    """The login, the spaces with roles and note counts, invitations, queued notes, and the last failure.

    None without a login.
    """
    try:
        account = read_account(home)
    except StoreUnavailable as error:
        failure = Failure("", error.message, error.hint)._asdict()
        nothing: dict[str, Any] = {"spaces": [], "invitations": [], "news": [], "waiting": []}
        return {"url": "", "user": "", "reached_at": None, "failure": failure, **nothing}
    if account is None:
        return None
    standing = read_standing(home, account)
    failed = last_failure(home, HUB)
    return {
        "url": account.url,
        "user": account.user,
        "reached_at": standing.reached_at or None,
        "failure": failed._asdict() if failed else None,
        "spaces": [
            {
                "name": each.name,
                "role": each.role,
                "notes": standing.notes.get(each.name, 0),
                "projects": [*each.projects],
            }
            for each in standing.spaces
        ],
        "invitations": [each._asdict() | {"projects": [*each.projects]} for each in standing.invitations],
        "news": [*standing.news],
        "waiting": [{"note": each.note, "space": each.space, "reason": each.reason} for each in standing.waiting],
    }


def notes_of(home: Path, space: str) -> tuple[str, ...]:
    """The ids of the local notes of a space, as of the last sync."""
    account = read_account(home)
    if account is None:
        raise InvalidArgument(
            "This machine is not logged in to a hub, so no note belongs to a space.", "anamnesis login ADDRESS"
        )
    known = {each.name for each in read_standing(home, account).spaces}
    name = f"{PERSONAL}{account.user}" if space.startswith(PERSONAL) else space
    if name not in known:
        raise InvalidArgument(f"You have no space {space}.", f"Your spaces: {', '.join(sorted(known)) or 'none yet'}.")
    return tuple(space_notes(home, account, name))
