"""hub.db: the last version of each note that this machine and a hub agreed on, the cursors, and the queued notes."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from anamnesis.exchange.account import Account
from anamnesis.notes.spaces import PERSONAL, VERSION_RANGE
from anamnesis.store.machine_database import MachineDatabase

# The follower of the change log.
FOLLOWER = "hub"
# The hash of a file if it is unknown.
UNKNOWN_HASH = b""
# The prefix of space ids after a restore of the hub, which may give the same ids to other spaces.
UNVERIFIED = "?"
WRITERS = ("writer", "keeper", "owner")


class Agreed(NamedTuple):
    """The last version of a note in a space that both sides had; see `state.sql`.

    A negative version is one of the history before the hub was set back: the hub may lack it.
    """

    note: str
    space: str
    version: int
    hash: bytes | None
    named: str = ""
    is_here: bool = False
    is_leaving: bool = False

    @property
    def is_live(self) -> bool:
        return self.hash is not None


class Space(NamedTuple):
    """A space, the user's role in it ("" after a removal), and the cursor of the received changes."""

    name: str
    id: str
    role: str
    is_personal: bool
    cursor: int = 0
    projects: tuple[str, ...] = ()

    @property
    def can_write(self) -> bool:
        return self.role in WRITERS

    @property
    def rank(self) -> tuple[bool, str]:
        """The sort key: if a note is in several spaces, the local file holds the version of the first."""
        return self.is_personal, self.name


def personal_space(spaces: Mapping[str, Space]) -> str:
    """The name of the user's own space."""
    return next((space.name for space in spaces.values() if space.is_personal), PERSONAL)


class Elsewhere(NamedTuple):
    """The space of another login of this home that has a note, and the hash of the file that they agreed on."""

    note: str
    space: str
    user: str
    url: str
    hash: bytes | None

    @property
    def is_personal(self) -> bool:
        return self.space.startswith(PERSONAL)

    @property
    def reason(self) -> str:
        """Why the note is not exchanged with this login."""
        login = f"another login of this home, {self.user} at {self.url}"
        if self.is_personal:
            return f"It is a note of {login}: it stays as it is, and the one with the same id is not received."
        hint = f"`anamnesis move {self.note} --space NAME` sends it to this one."
        return f"It is in the space {self.space} of {login}. {hint}"


class Waiting(NamedTuple):
    """A queued note, and why it was not exchanged."""

    note: str
    space: str
    reason: str
    hash: bytes | None = None
    missed: bool = False


class Invitation(NamedTuple):
    """A membership of a space that somebody offers the user; nothing is exchanged before it is accepted."""

    space: str
    role: str
    inviter: str
    projects: tuple[str, ...] = ()


class Standing(NamedTuple):
    """The state of the hub, as of the last exchange."""

    reached_at: str
    spaces: tuple[Space, ...]
    notes: Mapping[str, int]  # the number of local notes by space
    waiting: tuple[Waiting, ...]
    invitations: tuple[Invitation, ...] = ()
    news: tuple[str, ...] = ()
    others: tuple[Others, ...] = ()
    follower: str = ""  # its identity


class Others(NamedTuple):
    """Another login of this home, and how many notes belong to it alone."""

    user: str
    url: str
    notes: int


class HubDatabase(MachineDatabase):
    """The hub.db of a home."""

    schema = Path(__file__).with_name("state.sql")
    version = 3
    holds = "The state of the exchange"

    def __init__(self, root: Path) -> None:
        super().__init__(root / "hub.db")


class HubState:
    """The exchange state of a home and one account at a hub."""

    def __init__(self, database: HubDatabase, account: Account) -> None:
        self._database = database
        self._account = account
        self.number, self.start = database.change(lambda db: _open_account(db, account))

    @property
    def user(self) -> str:
        return self._account.user

    @property
    def personal(self) -> str:
        return self._account.personal

    @property
    def identity(self) -> str:
        """The identity of the follower of the change log."""
        return f"{self._account.identity}/{self.start}"

    def spaces(self) -> dict[str, Space]:
        query = "SELECT name, id, role, is_personal, cursor, projects FROM spaces WHERE account = :account"
        return {space.name: space for space in map(_space, self._rows(query))}

    def save_spaces(self, spaces: Iterable[Space]) -> None:
        """Save spaces with roles and cursors. `mark_told` saves the projects, once the user was told of them."""
        rows = [(self.number, each.name, each.id, each.role, each.is_personal, each.cursor) for each in spaces]
        self._change(
            "INSERT INTO spaces (account, name, id, role, is_personal, cursor) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET id = excluded.id, role = excluded.role, is_personal = excluded.is_personal,"
            " cursor = excluded.cursor",
            rows,
        )

    def rename_spaces(self, names: Mapping[str, str]) -> None:
        """Rename spaces, which may swap their names."""

        def change(db: sqlite3.Connection) -> None:
            for table, column in (("spaces", "name"), ("agreed", "space"), ("waiting", "space")):
                query = f"UPDATE {table} SET {column} = ? WHERE account = ? AND {column} = ?"
                between = {old: f"\0{old}" for old in names}  # no space has such a name
                db.executemany(query, [(between[old], self.number, old) for old in names])
                db.executemany(query, [(new, self.number, between[old]) for old, new in names.items()])

        self._database.change(change)

    def agreed(self, notes: Iterable[str]) -> dict[str, dict[str, Agreed]]:
        """The agreements about notes, by note and space."""
        query = (
            "SELECT note, space, version, hash, named, is_here, is_leaving FROM agreed"
            " WHERE account = :account AND note IN (SELECT value FROM json_each(:notes))"
        )
        found: dict[str, dict[str, Agreed]] = {}
        for row in self._rows(query, notes=json.dumps([*notes])):
            found.setdefault(row[0], {})[row[1]] = _agreed(row)
        return found

    def live_here(self) -> dict[str, bytes]:
        """The notes that should have a local file, with its hash."""
        query = "SELECT note, hash FROM agreed WHERE account = :account AND is_here AND hash IS NOT NULL"
        return dict(self._rows(query))

    def elsewhere(self, notes: Iterable[str]) -> dict[str, Elsewhere]:
        """Those of the notes, deleted ones too, that belong to another login of this home.

        Of a note in several spaces it is the personal one, whose name is the last in this order.
        """
        query = (
            "SELECT note, space, user, url, hash FROM agreed JOIN accounts ON number = account"
            " WHERE account != :account AND is_here AND note IN (SELECT value FROM json_each(:notes)) ORDER BY space"
        )
        return {row[0]: Elsewhere(*row) for row in self._rows(query, notes=json.dumps([*notes]))}

    def keep(self, notes: Iterable[str]) -> None:
        """Record that these notes belong to this login, if none has them: it sends them when it is used again."""
        owned = "SELECT note FROM agreed WHERE is_here"
        query = (
            "INSERT OR IGNORE INTO agreed (account, note, space, version, hash, is_here)"
            f" SELECT ?, value, ?, 0, ?, 1 FROM json_each(?) WHERE value NOT IN ({owned})"
        )
        self._change(query, [(self.number, self._account.personal, UNKNOWN_HASH, json.dumps([*notes]))])

    def own(self) -> set[str]:
        """The notes of the user's own space here."""
        query = "SELECT note FROM agreed WHERE account = :account AND is_here AND space = :space"
        return {note for (note,) in self._rows(query, space=self._account.personal)}

    def missing(self, here: Collection[str]) -> list[Agreed]:
        """The agreements about notes of the hub that have no file, and of which no deletion waits to be sent."""
        known = {each.note for each in self.waiting()}
        gone = [note for note in self.live_here() if note not in here and note not in known]
        return [
            row
            for rows in self.agreed(gone).values()
            for row in rows.values()
            if row.is_here and row.is_live and row.version
        ]

    def receive_again(self, rows: Iterable[Agreed]) -> None:
        """Receive notes again that another user of this home has deleted, instead of deleting them as this user."""
        lost = [*rows]
        # A note of the user's own space stays theirs; of a shared one, the trash would say that this user deleted it.
        self.save(row._replace(is_here=row.space.startswith(PERSONAL), version=0) for row in lost)
        self.queue(Waiting(row.note, row.space, "", missed=True) for row in lost)

    def save(self, agreed: Iterable[Agreed], cursors: Mapping[str, int] | None = None) -> None:
        """Save agreements, and the cursors up to which they are complete."""

        def change(db: sqlite3.Connection) -> None:
            for each in agreed:
                if each.is_here:
                    db.execute("UPDATE agreed SET is_here = 0 WHERE account = ? AND note = ?", (self.number, each.note))
                db.execute("INSERT OR REPLACE INTO agreed VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (self.number, *each))
                db.execute(_REMOVE_MISSED, (self.number, each.note, each.space))
            for space, cursor in (cursors or {}).items():
                db.execute("UPDATE spaces SET cursor = ? WHERE account = ? AND name = ?", (cursor, self.number, space))

        self._database.change(change)

    def release(self, notes: Iterable[str]) -> None:
        """Allow sending notes of another login of this home, or of a space that is gone, to this hub."""
        gone = "SELECT name FROM spaces WHERE account = :account AND role = ''"
        query = f"UPDATE agreed SET is_here = 0 WHERE note = :note AND (account != :account OR space IN ({gone}))"
        given = [*notes]
        self._change(query, [{"account": self.number, "note": note} for note in given])
        self.queue(Waiting(note, "", "") for note in given)  # the change log has no entry if the file is unchanged

    def forget(self, notes: Iterable[str]) -> None:
        """Forget notes that were lost here, and reset the cursors so that everything is received again."""

        def change(db: sqlite3.Connection) -> None:
            db.executemany("DELETE FROM agreed WHERE account = ? AND note = ?", [(self.number, each) for each in notes])
            db.execute("UPDATE spaces SET cursor = 0 WHERE account = ?", (self.number,))

        self._database.change(change)

    def change_hub(self, hub: str) -> None:
        """Save the new id of a hub that was restored from a backup, and invalidate the known versions."""
        self._change("UPDATE OR REPLACE accounts SET hub = ? WHERE number = ?", [(hub, self.number)])
        query = "UPDATE spaces SET id = ? || id WHERE account = ? AND id NOT LIKE ? || '%'"
        self._change(query, [(UNVERIFIED, self.number, UNVERIFIED)])
        for space in self.spaces():
            self.reset_space(space)

    def reset_space(self, space: str) -> None:
        """Receive a space again that was restored or created again; its known versions are of a former history."""

        def change(db: sqlite3.Connection) -> None:
            given = {"account": self.number, "space": space}
            query = "UPDATE agreed SET version = -abs(version) WHERE account = :account AND space = :space"
            db.execute(query, given)
            db.execute(
                "UPDATE spaces SET cursor = 0, projects = '[]' WHERE account = :account AND name = :space", given
            )

        self._database.change(change)

    def forget_incomparable(self, space: str, seq: int) -> None:
        """Of a space that is received again: what its former versions cannot say if their numbers are given out twice.

        A restore of our backup and `anamnesis hub new-history` go on in another range of numbers. Without that, a
        deletion may be older or newer than what the hub has, and a file may hold what the hub never had.
        """

        def change(db: sqlite3.Connection) -> None:
            given = {
                "account": self.number,
                "space": space,
                "first": seq // VERSION_RANGE * VERSION_RANGE,
                "unknown": UNKNOWN_HASH,
            }
            former = "account = :account AND space = :space AND version < 0 AND -version >= :first"
            db.execute(f"DELETE FROM agreed WHERE {former} AND hash IS NULL", given)
            db.execute(f"UPDATE agreed SET hash = :unknown WHERE {former}", given)

        self._database.change(change)

    def requeue_unseen(self) -> None:
        """Forget and queue the notes that a reset space turned out not to have, so that they are sent again."""
        found = self._rows(
            "SELECT note, space FROM agreed WHERE account = :account AND version < 0 AND hash IS NOT NULL"
        )
        self.queue(Waiting(note, space, "") for note, space in found)
        self._change("DELETE FROM agreed WHERE account = ? AND version < 0", [(self.number,)])

    def waiting(self) -> list[Waiting]:
        query = "SELECT note, space, reason, hash, missed FROM waiting WHERE account = :account"
        return [*map(_waiting, self._rows(query))]

    def queue(self, entries: Iterable[Waiting]) -> None:
        rows = [(self.number, *each) for each in entries]
        self._change(
            "INSERT INTO waiting VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET space = excluded.space,"
            " reason = excluded.reason, hash = excluded.hash, missed = max(missed, excluded.missed)",
            rows,
        )

    def dequeue(self, notes: Iterable[str]) -> None:
        """Remove notes from the queue of notes to send."""
        query = "DELETE FROM waiting WHERE account = ? AND note = ? AND NOT missed"
        self._change(query, [(self.number, note) for note in notes])

    def remove_missed(self, versions: Iterable[tuple[str, str]]) -> None:
        """Remove notes, given by note and space, from the queue of notes to receive."""
        self._change(_REMOVE_MISSED, [(self.number, *each) for each in versions])

    def invitations(self) -> list[Invitation]:
        query = "SELECT space, role, inviter, projects FROM invitations WHERE account = :account ORDER BY space"
        return [*map(_invitation, self._rows(query))]

    def save_invitations(self, given: Sequence[Invitation]) -> None:
        """Replace the list of invitations; those that were told stay told."""

        def change(db: sqlite3.Connection) -> None:
            left = json.dumps([each.space for each in given])
            query = "DELETE FROM invitations WHERE account = ? AND space NOT IN (SELECT value FROM json_each(?))"
            db.execute(query, (self.number, left))
            db.executemany(
                "INSERT INTO invitations (account, space, role, inviter, projects) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET role = excluded.role, inviter = excluded.inviter,"
                " projects = excluded.projects",
                [(self.number, *each[:3], json.dumps(each.projects)) for each in given],
            )

        if self.invitations() != [*given]:
            self._database.change(change)

    def untold(self) -> list[str]:
        """The spaces of the invitations that no sync whose result is read has named yet."""
        rows = self._rows("SELECT space FROM invitations WHERE account = :account AND NOT told ORDER BY space")
        return [space for (space,) in rows]

    def mark_told(self, projects: Mapping[str, Collection[str]], news: Iterable[str] = ()) -> None:
        """Record that the user knows of all invitations, and of these projects and news."""
        self._change("UPDATE invitations SET told = 1 WHERE account = ?", [(self.number,)])
        self._change(
            "UPDATE spaces SET projects = ? WHERE account = ? AND name = ?",
            [
                (json.dumps(sorted(projects.get(name, ())) if space.can_write else []), self.number, name)
                for name, space in self.spaces().items()
            ],
        )
        self._change("DELETE FROM news WHERE account = ? AND sentence = ?", [(self.number, each) for each in news])

    def tell(self, note: str, news: Iterable[str]) -> None:
        """Keep sentences about what happened to a note until a sync whose result is read has said them."""
        query = "INSERT OR IGNORE INTO news (account, note, sentence) VALUES (?, ?, ?)"
        self._change(query, [(self.number, note, each) for each in news])

    def news(self) -> list[str]:
        rows = self._rows("SELECT sentence FROM news WHERE account = :account ORDER BY number")
        return [sentence for (sentence,) in rows]

    def mark(self, column: str, value: str | float) -> None:
        """Save the time of the last successful exchange (`reached_at`) or rescan (`compared_at`)."""
        self._change(f"UPDATE accounts SET {column} = ? WHERE number = ?", [(value, self.number)])

    def compared_at(self) -> float:
        return float(self._rows("SELECT compared_at FROM accounts WHERE number = :account")[0][0])

    def _change(self, query: str, rows: Sequence[tuple[Any, ...] | dict[str, Any]]) -> None:
        if rows:
            self._database.change(lambda db: db.executemany(query, rows))

    def _rows(self, query: str, **given: object) -> list[Any]:
        return self._database.change(lambda db: db.execute(query, {"account": self.number, **given}).fetchall())


_REMOVE_MISSED = "DELETE FROM waiting WHERE account = ? AND note = ? AND space = ? AND missed"


def last_account(root: Path) -> Account | None:
    """The login that this home last exchanged notes with, without its token; None if there is none."""

    def query(db: sqlite3.Connection) -> Any:
        last = "ORDER BY reached_at DESC, number DESC LIMIT 1"
        return db.execute(f"SELECT url, '', user, hub FROM accounts WHERE reached_at != '' {last}").fetchone()

    database = HubDatabase(root)
    try:
        found = database.read(query)
    finally:
        database.close()
    return Account(*found) if found else None


def read_standing(root: Path, account: Account) -> Standing:
    """Read the state of the hub; writes nothing."""

    def query(db: sqlite3.Connection) -> Standing:
        given = {"hub": account.hub, "user": account.user}
        query = "SELECT number, reached_at, start FROM accounts WHERE hub = :hub AND user = :user"
        row = db.execute(query, given).fetchone()
        if row is None:
            return _NOTHING
        of = "FROM {} WHERE account = :account"
        known = {"account": row[0]}
        spaces = db.execute(f"SELECT name, id, role, is_personal, cursor, projects {of.format('spaces')}", known)
        counts = db.execute(
            f"SELECT space, count(*) {of.format('agreed')} AND is_here AND hash IS NOT NULL GROUP BY space", known
        )
        waiting = db.execute(f"SELECT note, space, reason, hash, missed {of.format('waiting')} AND reason != ''", known)
        return Standing(
            row[1],
            tuple(sorted(map(_space, spaces.fetchall()), key=lambda space: (not space.is_personal, space.name))),
            dict(counts.fetchall()),
            tuple(map(_waiting, waiting.fetchall())),
            others=tuple(Others(*each) for each in db.execute(_OTHERS, known)),
            follower=f"{account.identity}/{row[2]}",
        )

    def query_invitations(db: sqlite3.Connection) -> tuple[Invitation, ...]:
        rows = db.execute(
            "SELECT space, role, inviter, projects FROM invitations JOIN accounts ON number = account"
            " WHERE hub = :hub AND user = :user ORDER BY space",
            {"hub": account.hub, "user": account.user},
        )
        return tuple(map(_invitation, rows))

    def query_news(db: sqlite3.Connection) -> tuple[str, ...]:
        rows = db.execute(
            "SELECT sentence FROM news JOIN accounts ON accounts.number = account"
            " WHERE hub = :hub AND user = :user ORDER BY news.number",
            {"hub": account.hub, "user": account.user},
        )
        return tuple(sentence for (sentence,) in rows)

    database = HubDatabase(root)
    try:
        found = database.read(query) or _NOTHING
        invitations, news = database.read(query_invitations) or (), database.read(query_news) or ()
        return found._replace(invitations=invitations, news=news)
    finally:
        database.close()


_NOTHING = Standing("", (), {}, ())
_OTHERS = """
SELECT user, url, count(*) FROM agreed JOIN accounts ON number = account
WHERE account != :account AND is_here AND hash IS NOT NULL
    AND note NOT IN (SELECT note FROM agreed WHERE account = :account AND is_here)
GROUP BY account ORDER BY user, url
"""


def unsent(root: Path, account: Account, found: Mapping[str, bytes | None]) -> set[str]:
    """Those of the notes that differ from what the hub has, given with the hashes of their portable files.

    Notes of another login of this home, and those that wait with a reason, are left out.
    """
    given = {"hub": account.hub, "user": account.user, "notes": json.dumps([*found])}
    query = """
        SELECT note, hub = :hub AND user = :user AS is_own, hash, EXISTS (
            SELECT 1 FROM waiting w WHERE w.account = number AND w.note = agreed.note AND reason != ''
        ) FROM agreed JOIN accounts ON number = account
        WHERE is_here AND note IN (SELECT value FROM json_each(:notes)) ORDER BY is_own
    """
    database = HubDatabase(root)
    try:
        rows = database.read(lambda db: db.execute(query, given).fetchall()) or []
    finally:
        database.close()
    known = {note: (is_own, hash, waits) for note, is_own, hash, waits in rows}
    nothing = (True, None, False)
    return {
        note
        for note, hash in found.items()
        for is_own, agreed, waits in [known.get(note, nothing)]
        if is_own and hash != agreed and not waits
    }


def space_notes(root: Path, account: Account, space: str) -> list[str]:
    """The ids of the local notes of a space."""
    query = (
        "SELECT note FROM agreed JOIN accounts ON number = account"
        " WHERE hub = :hub AND user = :user AND space = :space AND is_here AND hash IS NOT NULL"
    )
    given = {"hub": account.hub, "user": account.user, "space": space}
    database = HubDatabase(root)
    try:
        return [note for (note,) in database.read(lambda db: db.execute(query, given).fetchall()) or ()]
    finally:
        database.close()


def shared_homes(root: Path, account: Account, notes: Iterable[str], *, is_gone: bool = False) -> dict[str, str]:
    """Those of the notes that are in a shared space of the user, with its name; or that were taken out of one."""
    gone = "IS NULL" if is_gone else "IS NOT NULL"
    query = (
        "SELECT note, space FROM agreed JOIN accounts ON number = agreed.account"
        " JOIN spaces ON spaces.account = agreed.account AND spaces.name = agreed.space"
        f" WHERE hub = :hub AND user = :user AND is_here AND hash {gone} AND NOT is_personal AND role != ''"
        " AND note IN (SELECT value FROM json_each(:notes))"
    )
    given = {"hub": account.hub, "user": account.user, "notes": json.dumps([*notes])}
    database = HubDatabase(root)
    try:
        return dict(database.read(lambda db: db.execute(query, given).fetchall()) or ())
    finally:
        database.close()


def forget_news(root: Path, notes: Iterable[str]) -> None:
    """Remove what is to be told about purged notes, which has their titles, without a trace in the file."""
    database = HubDatabase(root)
    try:
        told = database.read(lambda db: db.execute("SELECT note FROM news").fetchall()) or ()
        if gone := {*notes}.intersection(note for (note,) in told):
            database.change(lambda db: db.executemany("DELETE FROM news WHERE note = ?", [(each,) for each in gone]))
            database.erase()
    finally:
        database.close()


class Place(NamedTuple):
    """A hub and a space that have a note."""

    note: str
    url: str
    space: str


def places_at_hub(root: Path, notes: Iterable[str]) -> list[Place]:
    """The hubs and spaces known to have notes, or to keep versions of deleted ones."""
    query = (
        "SELECT DISTINCT note, url, space FROM agreed JOIN accounts ON number = account"
        " WHERE version > 0 AND note IN (SELECT value FROM json_each(:notes)) ORDER BY note, url, space"
    )
    given = {"notes": json.dumps([*notes])}
    database = HubDatabase(root)
    try:
        return [Place(*row) for row in database.read(lambda db: db.execute(query, given).fetchall()) or ()]
    finally:
        database.close()


def _invitation(row: tuple[str, str, str, str]) -> Invitation:
    space, role, inviter, projects = row
    return Invitation(space, role, inviter, tuple(json.loads(projects)))


def _open_account(db: sqlite3.Connection, account: Account) -> tuple[int, str]:
    given = {"hub": account.hub, "user": account.user, "url": account.url, "start": secrets.token_hex(8)}
    db.execute(
        "INSERT INTO accounts (hub, user, url, start) VALUES (:hub, :user, :url, :start)"
        " ON CONFLICT DO UPDATE SET url = excluded.url",
        given,
    )
    row = db.execute("SELECT number, start FROM accounts WHERE hub = :hub AND user = :user", given).fetchone()
    return int(row[0]), str(row[1])


def _space(row: Any) -> Space:
    name, id, role, is_personal, cursor, projects = row
    return Space(name, id, role, bool(is_personal), cursor, tuple(json.loads(projects)))


def _agreed(row: Any) -> Agreed:
    note, space, version, hash, named, is_here, is_leaving = row
    return Agreed(note, space, version, hash, named, bool(is_here), bool(is_leaving))


def _waiting(row: Any) -> Waiting:
    note, space, reason, hash, missed = row
    return Waiting(note, space, reason, hash, bool(missed))
