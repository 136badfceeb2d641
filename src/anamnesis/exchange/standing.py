"""The state of the hub that every surface shows, from the last exchange and without a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anamnesis.errors import InvalidArgument, StoreUnavailable
from anamnesis.exchange.account import Account, read_account
from anamnesis.exchange.state import FOLLOWER, Standing, read_standing, space_notes, unsent
from anamnesis.notes.spaces import PERSONAL
from anamnesis.store import MemoryStore, queries
from anamnesis.store.files import TREES
from anamnesis.sync.failure import HUB, Failure, last_failure


def hub_facts(store: MemoryStore) -> dict[str, Any] | None:
    """The login, the spaces with roles and note counts, invitations, unsent and queued notes, and the last failure.

    None without a login.
    """
    home = store.root
    try:
        account = read_account(home)
    except StoreUnavailable as error:
        failure = Failure("", error.message, error.hint)._asdict()
        nothing: dict[str, Any] = {"spaces": [], "invitations": [], "waiting": [], "unsent": 0, "others": []}
        return {"url": "", "user": "", "reached_at": None, "failure": failure, **nothing}
    if account is None:
        return None
    standing = read_standing(home, account)
    failed = last_failure(home, HUB)
    projects = store.shared.projects()
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
                "projects": sorted(projects.get(each.name, ())),
            }
            for each in standing.spaces
        ],
        "invitations": [each._asdict() | {"projects": [*each.projects]} for each in standing.invitations],
        "waiting": [{"note": each.note, "space": each.space, "reason": each.reason} for each in standing.waiting],
        "unsent": count_unsent(store, account, standing),
        "others": [each._asdict() for each in standing.others],
    }


def count_unsent(store: MemoryStore, account: Account, standing: Standing | None = None) -> int:
    """How many notes changed here since they were last sent, besides those that wait with a reason."""
    standing = standing or read_standing(store.root, account)
    pending = store.log.pending(FOLLOWER, standing.follower) if standing.follower else None
    changed = [*store.hashes()] if pending is None else [each.note_id for each in pending.changes]
    files = store._catalogue.ask(lambda db: queries.standing(db, changed))
    tree = f"{TREES['portable']}/"
    found = {note: hash for note, (path, hash) in files.items() if path.startswith(tree)}
    return len(unsent(store.root, account, dict.fromkeys(changed) | found))


def roles_here(home: Path) -> dict[str, str] | None:
    """The role in each space, as of the last exchange; None without a login."""
    account = read_account(home)
    return {each.name: each.role for each in read_standing(home, account).spaces} if account else None


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
