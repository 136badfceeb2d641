"""A hub with many notes in many spaces, and vectors of some, loaded by COPY into a PostgreSQL of its own."""

from __future__ import annotations

import itertools
import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.postgres import KEY, Postgres, binaries

from anamnesis.hub import accounts
from anamnesis.hub.database import Connection, administrator, execute_outside
from anamnesis.hub.migrations import migrate
from anamnesis.hub.passages import prepare, written
from anamnesis.hub.tenancy import implied
from anamnesis.hub.words import document
from anamnesis.meaning.model import Vectors, load
from anamnesis.notes import Memory, render
from bench import corpus
from bench.driver import show

_BATCH = 20_000
_SETTINGS = {
    "shared_buffers": "2GB",
    "maintenance_work_mem": "1GB",
    "work_mem": "16MB",
    "max_wal_size": "8GB",
    "effective_cache_size": "8GB",
    "random_page_cost": "1.1",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
}
# The columns of `notes` that come from the note as they are, with their types.
_FIELDS = {
    **dict.fromkeys(("type", "title", "project", "machine_id", "created_at", "updated_at"), "text"),
    "tags": "text[]",
}
_GIVEN = {
    "space": "bigint",
    "id": "text",
    "version": "bigint",
    "text": "text",
    "heading": "text",
    "body": "text",
    "words": "integer",
    **_FIELDS,
}


_INSERT = f"""
INSERT INTO anamnesis.notes (space, id, version, words, tsv, {", ".join(_FIELDS)})
SELECT space, id, version, words, anamnesis.document(space, heading, body), {", ".join(_FIELDS)} FROM given
"""


class Planted(NamedTuple):
    """A database, with the sizes of its spaces, from the largest on, and a token of the owner of each."""

    postgres: Postgres
    url: str
    sizes: dict[str, int]
    tokens: dict[str, str]


def sizes(notes: int, spaces: int) -> list[int]:
    """How many notes the spaces have: as 1/r, so that the largest of 200 spaces has 17 % of all."""
    shares = [1 / rank for rank in range(1, spaces + 1)]
    return [max(1, round(notes * share / sum(shares))) for share in shares]


def plant(notes: int, spaces: int, folder: Path | None = None) -> Planted:
    """A server with the notes; in a folder that is kept, if one is given, where they are planted once."""
    postgres = Postgres(binaries(), folder, **_SETTINGS)
    kept = postgres.folder / "planted.json"
    if kept.exists():
        return Planted(postgres, **json.loads(kept.read_text()))
    url = postgres.url(postgres.new_database())
    with administrator(url) as db:
        migrate(db)
        accounts.make_hub(db, KEY)
    made, tokens = {}, {}
    for rank, size in enumerate(sizes(notes, spaces), start=1):
        name = f"space-{rank}"
        with administrator(url) as db:
            user = accounts.add_user(db, f"user-{rank}")
            space = accounts.add_space(db, name)
            accounts.set_member(db, space, user, "owner")
            _, tokens[name] = accounts.create_token(db, KEY, user, "bench", implied("admin"))
        made[name] = (space.id, size)
    _load(url, made)
    planted = Planted(postgres, url, {name: size for name, (_, size) in made.items()}, tokens)
    kept.write_text(json.dumps({name: value for name, value in planted._asdict().items() if name != "postgres"}))
    return planted


def plant_vectors(planted: Planted, names: Sequence[str]) -> None:
    """Give each note of these spaces a passage; random vectors in the shape of real ones, once."""
    with administrator(planted.url) as db:
        if not prepare(db):
            raise SystemExit("This PostgreSQL has no pgvector.")
        if (db.execute("SELECT EXISTS (SELECT FROM anamnesis.embedded) AS done").fetchone() or {})["done"]:
            return
        index = _dropped(db, "passages_near")
        shape = _shape()
        for name in names:
            show(f"planting: the vectors of {name}")
            rows = db.execute(
                "SELECT n.space, n.id FROM anamnesis.notes n JOIN anamnesis.spaces s ON s.id = n.space"
                " WHERE s.name = %(name)s AND NOT n.deleted",
                {"name": name},
            ).fetchall()
            with db.cursor().copy("COPY anamnesis.passages FROM STDIN") as copy:
                for row, vector in zip(rows, shape(len(rows)), strict=True):
                    copy.write_row((row["space"], row["id"], 1, written(vector)))
        db.execute(
            "INSERT INTO anamnesis.embedded (space, passages) SELECT space, count(*) FROM anamnesis.passages GROUP BY 1"
        )
        show("planting: the index of vectors")
        db.execute(index)
    execute_outside(planted.url, "VACUUM ANALYZE anamnesis.passages")
    show("")


def _shape() -> Callable[[int], Iterator[Vectors]]:
    """Makes vectors with the mean and the covariance of those of some real notes."""
    texts = Path(__file__).with_name("developer_notes.txt").read_text("utf-8").splitlines()
    real = load().passages([text.split(" | ", 2)[2] for text in texts])
    mean, chance = real.mean(0), np.random.default_rng(7)
    apart = (real - mean) / np.float32(len(real) ** 0.5)

    def made(count: int) -> Iterator[Vectors]:
        for start in range(0, count, _BATCH):
            own = chance.standard_normal((min(_BATCH, count - start), len(real)), np.float32)
            vectors = mean + own @ apart
            yield from vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    return made


def _dropped(db: Connection, index: str) -> bytes:
    """Drop an index, which is made faster when everything is there; returns the statement that makes it."""
    row = db.execute("SELECT indexdef FROM pg_indexes WHERE indexname = %(name)s", {"name": index}).fetchone() or {}
    db.execute(f"DROP INDEX anamnesis.{index}".encode())
    return str(row["indexdef"]).encode()


def _load(url: str, spaces: dict[str, tuple[int, int]]) -> None:
    with administrator(url) as db:
        index = _dropped(db, "notes_levels")
    total, loaded = sum(size for _, size in spaces.values()), 0
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for size in pool.imap_unordered(_load_space, [(url, *each) for each in spaces.values()]):
            loaded += size
            show(f"planting: {loaded:,} of {total:,} notes")
    with administrator(url) as db:
        show("planting: the frequencies of words")
        _count(db)
        show("planting: the index of words")
        db.execute(index)
    show("planting: VACUUM")
    execute_outside(url, "VACUUM ANALYZE")
    show("")


def _load_space(given: tuple[str, int, int]) -> int:
    url, space, size = given
    rows = (_row(space, version, note) for version, note in enumerate(corpus.notes(size, seed=space), start=1))
    with administrator(url) as db:
        db.execute("SET session_replication_role = replica")  # the triggers' sums are made at the end
        db.execute(f"CREATE TEMP TABLE given ({', '.join(' '.join(pair) for pair in _GIVEN.items())})".encode())
        while batch := list(itertools.islice(rows, _BATCH)):
            db.execute("TRUNCATE given")
            with db.cursor().copy("COPY given FROM STDIN") as copy:
                for row in batch:
                    copy.write_row(row)
            db.execute(
                "INSERT INTO anamnesis.versions (space, id, version, text, author, machine)"
                " SELECT space, id, version, text, 'bench', 'bench' FROM given"
            )
            db.execute(_INSERT.encode())
    return size


def _count(db: Connection) -> None:
    """What the triggers would have counted."""
    db.execute("SET work_mem = '1GB'")
    db.execute("""
        INSERT INTO anamnesis.terms SELECT n.space, substr(l.lexeme, strpos(l.lexeme, ':') + 1), count(*)
        FROM anamnesis.notes n, unnest(n.tsv) l GROUP BY 1, 2
    """)
    db.execute("""
        UPDATE anamnesis.spaces s SET notes = d.notes, words = d.words, seq = d.notes FROM (
            SELECT space, count(*) AS notes, sum(words) AS words FROM anamnesis.notes GROUP BY 1
        ) AS d WHERE s.id = d.space
    """)


def _row(space: int, version: int, note: Memory) -> tuple[Any, ...]:
    words = document(note)
    fields = (getattr(note, name) for name in _FIELDS)
    return space, note.id, version, render(note), words.heading, words.body, words.words, *fields
