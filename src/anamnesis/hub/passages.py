"""The meaning of notes, where PostgreSQL has pgvector: passages as vectors, made by the servers in the background."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Self

from psycopg import errors

from anamnesis.errors import AnamnesisError
from anamnesis.hub.database import Connection, Database, one
from anamnesis.hub.refusal import Unavailable
from anamnesis.meaning import VERSION
from anamnesis.meaning.passages import passages
from anamnesis.notes import parse

if TYPE_CHECKING:
    from anamnesis.meaning.model import Vectors

_log = logging.getLogger("anamnesis.hub")
WIDTH = 384
# Earlier ones stop looking for the rows of a small space too soon.
_LEAST_VERSION = (0, 8)
# Where the functions begin in `passages.sql`.
_FUNCTIONS = "-- Functions: what follows is made anew by every migration.\n"
_BATCH = 32
_IDLE_SECONDS = 2.0


def prepare(db: Connection) -> bool:
    """Make what a search by meaning needs, as an administrator; False without pgvector or the right to create it."""
    query = "SELECT default_version AS version FROM pg_available_extensions WHERE name = 'vector'"
    there = one(db, query)
    if there is None or tuple(map(int, there["version"].split(".")[:2])) < _LEAST_VERSION:
        return False
    try:
        with db.transaction():
            db.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except errors.InsufficientPrivilege:
        return False
    place = one(db, "SELECT extnamespace::regnamespace::text AS name FROM pg_extension WHERE extname = 'vector'") or {}
    template = files("anamnesis.hub").joinpath("passages.sql").read_text("utf-8")
    tables, functions = template.split(_FUNCTIONS)
    made_by = f"model {VERSION}, {hashlib.sha256(tables.encode()).hexdigest()[:16]}"
    for part in (functions,) if _made_by(db) == made_by else (tables, functions):
        db.execute(part.format(vector=place["name"], width=WIDTH, made_by=made_by).encode())
    return True


def is_prepared(db: Connection) -> bool:
    """Whether notes are compared by meaning here."""
    return _made_by(db) != ""


def _made_by(db: Connection) -> str:
    query = "SELECT coalesce(obj_description(to_regclass('anamnesis.passages')), '') AS made_by"
    return str((one(db, query) or {})["made_by"])


class Embedder:
    """A thread of a server that embeds notes as they change. Several servers share the work, a space each."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="embedder", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                done = self.embed_some()
            except AnamnesisError as error:
                _log.warning("Notes are not embedded now: %s", error)
                done = 0
            self._stopping.wait(0 if done else _IDLE_SECONDS)

    def embed_some(self) -> int:
        """Embed a batch of changed notes of one space, outside of any transaction; returns their number."""
        with self._database.transaction() as db:
            if not is_prepared(db):
                return 0
            rows = db.execute("SELECT * FROM anamnesis.embed_next(%(most)s)", {"most": _BATCH}).fetchall()
        if rows:
            done = _embedded(rows)
            with self._database.transaction() as db:
                db.execute(
                    """
                    SELECT anamnesis.embed_done(%(space)s, %(upto)s, %(notes)s, %(versions)s, %(ids)s, %(vectors)s)
                    """,
                    done,
                )
        return len(rows)


def _embedded(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The vectors of notes."""
    from anamnesis.meaning.model import load  # numpy, for the thread alone

    texts: list[tuple[str, str]] = []
    for row in rows:
        if row["text"] is not None:
            note = parse(row["text"])
            texts += [(note.id, passage) for passage in passages(f"{note.title}\n{note.body}")]
    vectors: Iterable[Vectors] = load().passages([text for _, text in texts]) if texts else ()
    return {
        "space": rows[0]["space"],
        "upto": rows[-1]["version"],
        "notes": [row["id"] for row in rows],
        "versions": [row["version"] for row in rows],
        "ids": [id for id, _ in texts],
        "vectors": [written(vector) for vector in vectors],
    }


def written(vector: Vectors) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(f"{value:.5f}" for value in vector.tolist()) + "]"


def refuse_without(db: Connection) -> None:
    if not is_prepared(db):
        raise Unavailable(
            "This hub does not compare meaning.", "Search by words; or install pgvector: anamnesis hub migrate"
        )
