"""A hub in one file, and back: every table as PostgreSQL copies it, of one moment, with a manifest that verifies it.

The schema is not in the file: a restore makes it at the step of the backup, and migrates from there. The key is not
either. A restored hub has another id, so that clients compare everything: they send again what is newer than the
backup, and delete again what was deleted since.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from psycopg import sql

from anamnesis import __version__
from anamnesis.errors import InvalidArgument, Unwritable
from anamnesis.hub.accounts import hub_id, name_new_history
from anamnesis.hub.database import Connection
from anamnesis.hub.logins import may_change_the_schema
from anamnesis.hub.migrations import applied, known, migrate
from anamnesis.hub.refusal import Refusal
from anamnesis.hub.repeating import Entry, Since, last_entry, repeat

_FORMAT = 1
_MANIFEST = "manifest.json"
# In the order of their references.
TABLES = (
    "hub",
    "users",
    "spaces",
    "members",
    "invitations",
    "projects",
    "tokens",
    "notes",
    "versions",
    "supersessions",
    "acceptances",
    "audit",
)
# `terms` is rebuilt by triggers, `devices` expire within minutes, and a restore writes `migrations`.
LEFT_OUT = ("terms", "devices", "migrations")
_DERIVED = {"spaces": ("notes", "words")}
_NUMBERED = ("users", "spaces", "tokens", "audit")


@dataclass(frozen=True, slots=True)
class Table:
    """A table in a backup."""

    columns: list[str]
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds."""

    format: int
    program: str
    hub: str
    step: int
    tables: dict[str, Table]

    @property
    def rows(self) -> dict[str, int]:
        return {name: table.rows for name, table in self.tables.items()}


def back_up(db: Connection, file: Path) -> Manifest:
    """Write a snapshot without stopping the hub, verify it, and only then give the file its name."""
    db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    if applied(db) and not may_change_the_schema(db):
        raise Refusal("A backup by this login would lack rows.", "Use the login that ran `anamnesis hub init`.")
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as opened:
            with zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
                tables = {name: _copy_out(db, archive, name) for name in _present(db)}
                manifest = Manifest(_FORMAT, __version__, hub_id(db), max(applied(db)), tables)
                archive.writestr(_MANIFEST, json.dumps(asdict(manifest), indent=2))
            opened.flush()
            os.fsync(opened.fileno())
        with _opened(temporary) as archive:
            _verify(archive, manifest)
        os.replace(temporary, file)
    except OSError as error:
        raise Unwritable(f"{file} cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)
    return manifest


def restore(db: Connection, file: Path, log: Sequence[Entry] | None = None) -> tuple[Manifest, Since]:
    """Make the hub of a backup in a database that has none: all of it, or nothing. What has ended since does not begin.

    `log` is the audit log as of later than the backup.
    """
    with _opened(file) as archive:
        manifest = _manifest(archive, file)
        _verify(archive, manifest)
        if applied(db):
            raise Refusal("The database has a hub already.", "Restore into a new database, and serve that one.")
        if manifest.step > known()[-1].number:
            raise Refusal(f"{file} is of a newer version ({manifest.program}).", "Upgrade this program first.")
        migrate(db, upto=manifest.step)
        if lacking := {*_present(db)} - manifest.tables.keys():
            raise InvalidArgument(f"The backup is damaged: it has no table {min(lacking)}.")
        for name, table in manifest.tables.items():
            _copy_in(db, archive, name, table)
    for name in _NUMBERED:
        identity = sql.SQL(
            "SELECT setval(pg_get_serial_sequence({name}, 'id'), greatest((SELECT max(id) FROM {table}), 1))"
        )
        db.execute(identity.format(name=f"anamnesis.{name}", table=sql.Identifier("anamnesis", name)))
    migrate(db)
    last = last_entry(db)
    name_new_history(db, "hub restore")  # first, so that a tombstone of an erasure is newer than any version
    return manifest, repeat(db, last, log)


def _present(db: Connection) -> list[str]:
    """The tables of a backup that the database has at its step."""
    return [name for name in TABLES if _columns(db, name)]


def _copy_out(db: Connection, archive: zipfile.ZipFile, name: str) -> Table:
    columns = [each for each in _columns(db, name) if each not in _DERIVED.get(name, ())]
    digest = hashlib.sha256()
    query = sql.SQL("COPY {} ({}) TO STDOUT").format(
        sql.Identifier("anamnesis", name), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    rows = 0
    with archive.open(f"{name}.copy", "w", force_zip64=True) as member, db.cursor().copy(query) as copy:
        for part in copy:
            data = bytes(part)
            rows += data.count(b"\n")  # one row a line: COPY writes a line end in a text as \n
            digest.update(data)
            member.write(data)
    return Table(columns, rows, digest.hexdigest())


def _copy_in(db: Connection, archive: zipfile.ZipFile, name: str, table: Table) -> None:
    query = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier("anamnesis", name), sql.SQL(", ").join(map(sql.Identifier, table.columns))
    )
    with archive.open(f"{name}.copy") as member, db.cursor().copy(query) as copy:
        for part in _parts(member):
            copy.write(part)


def _columns(db: Connection, name: str) -> list[str]:
    rows = db.execute(
        """
        SELECT column_name FROM information_schema.columns WHERE table_schema = 'anamnesis' AND table_name = %(name)s
        ORDER BY ordinal_position
        """,
        {"name": name},
    )
    return [row["column_name"] for row in rows]


def _opened(file: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (OSError, zipfile.BadZipFile) as error:
        raise InvalidArgument(f"{file} is not a backup of a hub: {error}.") from error


def _manifest(archive: zipfile.ZipFile, file: Path) -> Manifest:
    try:
        fields: dict[str, Any] = json.loads(archive.read(_MANIFEST))
        tables = {name: Table(**fields["tables"][name]) for name in TABLES if name in fields["tables"]}
        manifest = Manifest(**{**fields, "tables": tables})
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidArgument(f"{file} is not a backup of a hub.", "`anamnesis hub backup` writes one.") from error
    if manifest.format != _FORMAT:
        raise Refusal(f"{file} is of a newer version ({manifest.program}).", "Upgrade this program first.")
    return manifest


def _verify(archive: zipfile.ZipFile, manifest: Manifest) -> None:
    """Read everything back, and compare."""
    for name, table in manifest.tables.items():
        digest = hashlib.sha256()
        try:
            with archive.open(f"{name}.copy") as member:
                for part in _parts(member):
                    digest.update(part)
        except (KeyError, zipfile.BadZipFile) as error:
            raise InvalidArgument(f"The backup is damaged: its table {name} cannot be read.") from error
        if digest.hexdigest() != table.sha256:
            raise InvalidArgument(f"The backup is damaged: its table {name} is not what was written.")


def _parts(member: IO[bytes]) -> Iterator[bytes]:
    while part := member.read(1 << 20):
        yield part
