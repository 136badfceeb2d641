"""Repeats in a restored hub what ended after its backup, from the audit log that was kept beside it.

A backup knows nothing of the tokens that were revoked since, of who left, and of what was erased. Without a log every
token ends. What began after the backup, such as a membership, is not repeated: it is named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anamnesis.errors import InvalidArgument
from anamnesis.hub import accounts
from anamnesis.hub.audit import ADMINISTRATOR
from anamnesis.hub.database import Connection, one
from anamnesis.hub.erasure import as_owner, erase_note, erase_space, erase_user
from anamnesis.hub.refusal import NotFound, Refusal
from anamnesis.hub.tenancy import ROLES, personal_space

Entry = Mapping[str, Any]
_COMMAND = "anamnesis hub audit --no-notes --json -n 100000"
_NO_CHANGE = ("hub backup", "export")
# The action that gives a member a role, which may be a lower one.
_GIVEN = "space member"
_NEEDED = ("id", "at", "actor", "action", "space", "target")


@dataclass(slots=True)
class Since:
    """What a restore did about the time since the backup."""

    saved_at: str  # of the last entry of the backup's audit log
    tokens: int = 0  # that ended because no log was given
    repeated: list[Entry] = field(default_factory=list)
    undone: list[Entry] = field(default_factory=list)


def read_log(file: Path) -> list[Entry]:
    """The entries that `anamnesis hub audit` printed, the oldest first."""
    try:
        found = json.loads(file.read_bytes())["entries"]
        return sorted(
            ({**dict.fromkeys(_NEEDED, ""), "facts": {}, **each} for each in found), key=lambda each: int(each["id"])
        )
    except OSError as error:
        raise InvalidArgument(f"{file} cannot be read: {error.strerror}.") from error
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidArgument(f"{file} is not the audit log of a hub.", f"`{_COMMAND}` prints one.") from error


def last_entry(db: Connection) -> Entry | None:
    """The last entry of the audit log of a backup."""
    return one(db, "SELECT id, at, actor, action, target FROM anamnesis.audit ORDER BY id DESC LIMIT 1")


def repeat(db: Connection, last: Entry | None, log: Sequence[Entry] | None) -> Since:
    """End in a restored hub, whose backup had this last entry, what had ended; without a log, all tokens."""
    since = Since(last["at"].isoformat(timespec="seconds") if last else "")
    if log is None:
        since.tokens = db.execute("UPDATE anamnesis.tokens SET revoked = now() WHERE revoked IS NULL").rowcount
        return since
    known = next((each for each in log if last and each["id"] == last["id"]), None)
    if last and (known is None or any(known[name] != last[name] for name in ("actor", "action", "target"))):
        reason = "It lacks the last entry of the backup: it is of another hub, too old, or not complete."
        raise InvalidArgument(
            f"The audit log does not continue this backup. {reason}", f"`{_COMMAND}` prints all of it."
        )
    for entry in log[log.index(known) + 1 if known else 0 :]:
        if entry["action"] not in _NO_CHANGE:
            (since.repeated if _repeat(db, entry) else since.undone).append(entry)
    return since


def _repeat(db: Connection, entry: Entry) -> bool:
    """Whether an entry was about something that ended, which ends again, if the backup has it at all."""
    ending = _ENDINGS.get(entry["action"])
    if ending:
        with suppress(NotFound, Refusal, ValueError):  # begun after the backup, so it is not there
            ending(db, entry)
    return ending is not None and (entry["action"] != _GIVEN or _has_role(db, entry))


def _has_role(db: Connection, entry: Entry) -> bool:
    """Whether a member has the role of an entry now: a role that gives more than the backup's is lost."""
    query = """
        SELECT m.role::text FROM anamnesis.members m JOIN anamnesis.users u ON u.id = m.member
        JOIN anamnesis.spaces s ON s.id = m.space WHERE s.name = %(space)s AND u.name = %(name)s
    """
    found = one(db, query, {"space": entry["space"], "name": entry["target"]})
    return found is not None and bool(found["role"] == entry["facts"].get("role"))


def _revoke(db: Connection, entry: Entry) -> None:
    accounts.revoke_token(db, int(entry["target"]))


def _leave(db: Connection, entry: Entry) -> None:
    accounts.leave(db, entry["target"])


def _remove_member(db: Connection, entry: Entry) -> None:
    accounts.remove_member(db, accounts.find_space(db, entry["space"]), entry["target"])


def _take_project(db: Connection, entry: Entry) -> None:
    accounts.take_project(db, accounts.find_space(db, entry["space"]), entry["target"])


def _lower_role(db: Connection, entry: Entry) -> None:
    """A member keeps no more rights than the role of the entry gives."""
    space, role = accounts.find_space(db, entry["space"]), entry["facts"].get("role")
    values = {
        "space": space.id,
        "name": entry["target"],
        "roles": [*ROLES[: ROLES.index(role)]] if role in ROLES else [],
    }
    query = """
        SELECT u.id FROM anamnesis.members m JOIN anamnesis.users u ON u.id = m.member
        WHERE m.space = %(space)s AND u.name = %(name)s AND NOT m.role::text = ANY (%(roles)s)
    """
    if role in ROLES and (found := one(db, query, values)):
        accounts.change_role(db, space, accounts.User(found["id"], entry["target"]), role, ADMINISTRATOR)


def _erase_note(db: Connection, entry: Entry) -> None:
    space = accounts.find_space(db, entry["space"])
    as_owner(db, space)
    erase_note(db, space, entry["target"])


def _erase_space(db: Connection, entry: Entry) -> None:
    erase_space(db, entry["target"])


def _erase_user(db: Connection, entry: Entry) -> None:
    erase_user(db, entry["target"].removeprefix(personal_space("")))


_ENDINGS: Mapping[str, Callable[[Connection, Entry], None]] = {
    "token revoke": _revoke,
    "user leave": _leave,
    "space member removed": _remove_member,
    _GIVEN: _lower_role,
    "space project removed": _take_project,
    "note erase": _erase_note,
    "space erase": _erase_space,
    "user erase": _erase_user,
}
