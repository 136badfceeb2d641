"""Connections to PostgreSQL: the server's pool, which works as the role `anamnesis_hub`, and an administrator's.

A transaction lasts for one request and never waits for the network of a client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self, TypeAlias

import psycopg
from psycopg import errors
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from anamnesis.errors import InvalidArgument
from anamnesis.hub.refusal import Full, NotFound, Unavailable
from anamnesis.hub.tenancy import Caller

SERVER_ROLE = "anamnesis_hub"
Connection: TypeAlias = psycopg.Connection[DictRow]
# Begins a transaction of an authenticated caller.
Entering: TypeAlias = Callable[[], AbstractContextManager[tuple[Connection, Caller]]]

# In one statement, and for the transaction only: so it works behind a pooler of transactions too. A server that
# vanishes in the middle of a transaction holds no lock for longer than this.
_BEGIN = """
SELECT set_config('role', %(role)s, true), set_config('statement_timeout', '30s', true),
    set_config('lock_timeout', '20s', true), set_config('idle_in_transaction_session_timeout', '30s', true)
"""
# The errors by which PostgreSQL says that it cannot store a value, for example because an index has no room for it.
UNSTORABLE = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.InternalError,
    errors.ProgramLimitExceeded,
    UnicodeEncodeError,
)
_CONNECT_SECONDS = 5
_UNREACHABLE = "The hub's database cannot be reached"
_RETRY = "Try again in a moment; nothing was changed."
_ADDRESS = "Give one like postgresql://user@host/name."


class Database:
    """The server's pool. It opens connections again by itself when the database comes back."""

    def __init__(self, url: str, size: int = 10, wait: float = 5.0) -> None:
        self.size = size
        self.url = url
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            url,
            min_size=1,
            max_size=size,
            open=False,
            timeout=wait,
            reconnect_timeout=wait,
            check=ConnectionPool.check_connection,
            kwargs={"row_factory": dict_row, "connect_timeout": _CONNECT_SECONDS, "application_name": "anamnesis hub"},
        )
        self._pool.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._pool.close()

    def gauges(self) -> dict[str, float]:
        """How the pool is used."""
        found = self._pool.get_stats()
        wanted = {"pool_size": "connections", "pool_available": "connections_idle", "requests_waiting": "waiting"}
        return {f"anamnesis_hub_{name}": float(found.get(key, 0)) for key, name in wanted.items()}

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction of the server that sees nothing of any space yet."""
        with _in_sentences(), self._pool.connection() as db:
            db.execute(_BEGIN, {"role": SERVER_ROLE})
            yield db

    @contextmanager
    def entered(self, token: bytes) -> Iterator[tuple[Connection, Caller]]:
        """A transaction of the owner of a token, given by its hash."""
        with self._entering("SELECT anamnesis.enter(%(token)s) AS caller", {"token": token}) as entered:
            yield entered

    @contextmanager
    def entered_as(self, user: str, scopes: list[str]) -> Iterator[tuple[Connection, Caller]]:
        """A transaction of a user who was authenticated elsewhere."""
        query = "SELECT anamnesis.enter_user(%(user)s, %(scopes)s) AS caller"
        with self._entering(query, {"user": user, "scopes": scopes}) as entered:
            yield entered

    @contextmanager
    def _entering(self, query: str, values: Mapping[str, Any]) -> Iterator[tuple[Connection, Caller]]:
        with _in_sentences(), self._pool.connection() as db:
            with db.pipeline():  # one round trip
                db.execute(_BEGIN, {"role": SERVER_ROLE})
                found = db.execute(query, values)
            yield db, Caller.of((found.fetchone() or {})["caller"])


@contextmanager
def administrator(url: str) -> Iterator[Connection]:
    """A transaction of an administrator, who owns the schema and sees all."""
    with _in_sentences(), psycopg.connect(url, row_factory=dict_row, connect_timeout=_CONNECT_SECONDS) as db:
        yield db


@contextmanager
def as_server(url: str) -> Iterator[Connection]:
    """A transaction of the server on a connection of its own, so that a failure to connect is reported as it is."""
    with administrator(url) as db:
        if (one(db, "SELECT to_regrole(%(role)s) AS found", {"role": SERVER_ROLE}) or {})["found"]:
            db.execute(_BEGIN, {"role": SERVER_ROLE})
        yield db


@contextmanager
def listening(url: str, channel: str) -> Iterator[Connection]:
    """A connection of its own that gets the notifications of a channel."""
    with _in_sentences(), psycopg.connect(url, row_factory=dict_row, autocommit=True) as db:
        db.execute(f"LISTEN {channel}")
        yield db


def execute_outside(url: str, statement: str) -> None:
    """Run a statement that cannot be in a transaction, such as VACUUM."""
    with _in_sentences(), psycopg.connect(url, autocommit=True) as db:
        db.execute(statement.encode())


def one(db: Connection, query: str, values: Mapping[str, Any] | None = None) -> DictRow | None:
    """The only row of a query, or None."""
    return db.execute(query.encode(), values).fetchone()


@contextmanager
def _in_sentences() -> Iterator[None]:
    """Turn errors of the database into ours, each with one sentence; wrong input was refused before."""
    try:
        yield
    except (errors.InvalidSchemaName, errors.UndefinedTable, errors.UndefinedFunction) as error:
        raise Unavailable(
            "The database has no hub of this version.",
            "Run: anamnesis hub init, or after an upgrade: anamnesis hub migrate",
        ) from error
    except errors.InsufficientPrivilege as error:
        raise Unavailable(
            f"The database refused: {first_line(error)}.",
            "An administrator's commands need the user that ran `anamnesis hub init`.",
        ) from error
    except (psycopg.DataError, UnicodeEncodeError) as error:
        raise NotFound("A name holds a character that no name of the hub can have.") from error
    except errors.DiskFull as error:
        message = "The disk of the hub's database is full: nothing can be stored."
        raise Full(message, "Its administrator has to make room.") from error
    except (errors.QueryCanceled, errors.LockNotAvailable) as error:
        raise Unavailable("The database took too long.", _RETRY) from error
    except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, PoolClosed) as error:
        raise Unavailable(f"{_UNREACHABLE}: {first_line(error)}.", _RETRY) from error
    except psycopg.ProgrammingError as error:
        if error.sqlstate:
            raise
        raise InvalidArgument(f"The database's address cannot be used: {first_line(error)}.", _ADDRESS) from error


def first_line(error: Exception) -> str:
    """What happened, without the address and the user, which are no business of a client."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary:
        return error.diag.message_primary.rstrip(".")
    return "no connection" if isinstance(error, PoolTimeout | PoolClosed) else str(error).split("\n")[0].rstrip(".")
