"""The schema, step by step: `schema/NNN_name.sql`, each applied once, in order, never changed once released."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import NamedTuple

from anamnesis.hub.acceptances import carry_over, fill_digests
from anamnesis.hub.database import SERVER_ROLE, Connection, one
from anamnesis.hub.refusal import Unavailable

# Two programs that migrate at once: the second waits, and finds nothing to do.
_LOCK = 0x616E616D
# The step after which the decisions that earlier releases recorded in tags are carried over.
_ACCEPTANCES = 5
# The step after which the texts of the notes that supersede others get their digests.
_DIGESTS = 9
_LEAST_VERSION = 150_000


class Migration(NamedTuple):
    number: int
    name: str
    sql: str

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def known() -> list[Migration]:
    """The steps that this program knows, in order."""
    found = (each for each in files("anamnesis.hub").joinpath("schema").iterdir() if each.name.endswith(".sql"))
    steps = (Migration(int(each.name[:3]), each.name[4:-4], each.read_text("utf-8")) for each in found)
    return sorted(steps)


def applied(db: Connection) -> dict[int, str]:
    """The numbers of the steps that a database has, with the hashes of their texts."""
    if not (one(db, "SELECT to_regclass('anamnesis.migrations') AS found") or {}).get("found"):
        return {}
    return {
        row["number"]: row["hash"] for row in db.execute("SELECT number, hash FROM anamnesis.migrations ORDER BY 1")
    }


def missing(db: Connection) -> list[Migration]:
    """The steps that a database lacks, in order."""
    have = applied(db)
    return [each for each in known() if each.number not in have]


def pending(db: Connection) -> list[Migration]:
    """The steps that a database lacks. A database of a newer program is refused."""
    if newer := applied(db).keys() - {each.number for each in known()}:
        raise Unavailable(
            f"The database is of a newer version of Anamnesis (step {max(newer)}).", "Upgrade this program first."
        )
    return missing(db)


def migrate(db: Connection, upto: int | None = None) -> list[Migration]:
    """Apply the pending steps in the caller's transaction, all or none; returns them."""
    db.execute("SELECT pg_advisory_xact_lock(%(lock)s)", {"lock": _LOCK})
    if db.info.server_version < _LEAST_VERSION:
        raise Unavailable(f"PostgreSQL {db.info.server_version // 10000} is too old.", "The hub needs 15 or newer.")
    steps = [each for each in pending(db) if upto is None or each.number <= upto]
    if steps:
        _prepare(db)
    for step in steps:
        db.execute(step.sql.encode())
        if step.number == _ACCEPTANCES:
            carry_over(db)
        elif step.number == _DIGESTS:
            fill_digests(db)
        db.execute(
            "INSERT INTO anamnesis.migrations (number, name, hash) VALUES (%(number)s, %(name)s, %(hash)s)",
            {"number": step.number, "name": step.name, "hash": step.hash},
        )
    return steps


def _prepare(db: Connection) -> None:
    """The schema with its list of steps, and the server's role, which all databases of a PostgreSQL server share."""
    db.execute(f"""
        DO $$ BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{SERVER_ROLE}') THEN
                CREATE ROLE {SERVER_ROLE} NOLOGIN;
            END IF;
            IF NOT pg_has_role(CURRENT_USER, '{SERVER_ROLE}', 'MEMBER') THEN
                GRANT {SERVER_ROLE} TO CURRENT_USER;
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
        END $$;
        CREATE SCHEMA IF NOT EXISTS anamnesis;
        CREATE TABLE IF NOT EXISTS anamnesis.migrations (
            number integer PRIMARY KEY, name text NOT NULL, hash text NOT NULL, at timestamptz NOT NULL DEFAULT now()
        );
    """)
