"""The state of the hub that every surface shows, from the last exchange and without a request."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from anamnesis.errors import InvalidArgument, StoreUnavailable
from anamnesis.exchange.account import Account, read_account
from anamnesis.exchange.state import FOLLOWER, Standing, read_standing, shared_homes, space_notes, unsent
from anamnesis.notes.spaces import PERSONAL
from anamnesis.plural import counted, listed
from anamnesis.store import MemoryStore, queries
from anamnesis.store.files import TREES
from anamnesis.store.shared_notes import UNKNOWN, SharedNotes
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
        nothing: dict[str, Any] = {name: [] for name in ("spaces", "invitations", "news", "waiting", "others")}
        return {"url": "", "user": "", "reached_at": None, "failure": failure, **nothing, "unsent": 0}
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
        "news": [*standing.news],
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


_STAYS = (
    "What its members have synced stays in their trash and in the history of their machines; at the hub, a version is"
    " readable for who wrote it, and for who took the note out."
)


def departures(home: Path, notes: Iterable[str], space: str = "", *, deletes: bool = False) -> list[str]:
    """What the next sync does to those of the notes that are in shared spaces.

    They are moved to another `space`, kept on this machine, or deleted.
    """
    account = read_account(home)
    homes = shared_homes(home, account, notes) if account else {}
    leaving = {note: each for note, each in homes.items() if each != space}
    if not leaving:
        return []
    with closing(SharedNotes(home)) as shared:
        known = shared.of(leaving)
    authors = {note: each.author.replace(UNKNOWN, "Somebody") for note, each in known.items() if each.author}
    roles, said = roles_here(home) or {}, []
    for name in sorted({*leaving.values()}):
        there = [note for note, each in leaving.items() if each == name]
        if roles.get(name) == "reader":
            said.append(f"You may only read the space {name}: its members keep {_named(there)}.")
            continue
        others = [] if deletes else [note for note in there if note in authors]
        if own := [note for note in there if note not in others]:
            what = f"deletes {_named(own)} for all members of" if deletes else f"takes {_named(own)} out of"
            said.append(f"The next sync {what} {name}. {_STAYS}")
        if others:
            who = listed(sorted({authors[note] for note in others}))
            stays = f"What another member brought into {name} stays in {name}, and the next sync gives you a copy"
            said.append(f"{who} wrote in {_named(others)}. {stays}; `anamnesis delete` removes it for everybody.")
    return said


def return_of(home: Path, note: str) -> str:
    """What the next sync does to a note that was taken out of a shared space, and is restored; "" for any other."""
    account = read_account(home)
    space = shared_homes(home, account, [note], is_gone=True).get(note) if account else None
    own = f"the next sync brings it back into {space} if you took it out; otherwise it becomes a note of your own"
    return f"It was taken out of the space {space}: {own}." if space else ""


def _named(notes: list[str]) -> str:
    return notes[0] if len(notes) == 1 else counted(len(notes), "note")
