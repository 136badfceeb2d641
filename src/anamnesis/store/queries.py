"""What is asked of the index: lists, counts, and the ranked search. Reads no file."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from dataclasses import dataclass
from typing import Any

from anamnesis.errors import InvalidArgument
from anamnesis.notes import SCOPES, TYPES, Memory, MemoryType, Scope
from anamnesis.recall.pruning import Word, any_of, head_deciding, head_holding, is_settled, rarest_first
from anamnesis.recall.query import words
from anamnesis.store.files import TREES
from anamnesis.store.index import Connection

# So few notes are scored faster in one go (1 ms) than in steps.
_FEW_NOTES = 1_500
# A word in half of the notes weighs a millionth in bm25(). Where notes tie but for such words, their rows are
# read as long as there are so few (1 ms); beyond, the tie stands, and the newest note comes first.
_NOISE_WORTH_READING = 10_000

# bm25 (lower is better), updated_at, id, number
_Scored = tuple[float, str, str, int]

# The rarest words of a query that are asked for; a 10,000-word query costs no more than one of this many.
_MOST_ASKED = 128

# The fields of a note that the index knows, and where.
_FIELDS = {
    **{name: f"m.{name}" for name in ("id", "type", "title", "project", "machine_id", "scope")},
    "body": "(SELECT body FROM memories_fts WHERE rowid = m.number)",
    "tags": "(SELECT json_group_array(tag) FROM"
    " (SELECT tag FROM memory_tags WHERE memory_id = m.id ORDER BY rowid))",
    **{name: f"m.{name}" for name in ("created_at", "updated_at", "prov_source", "confidence")},
    **{name: f"coalesce(m.{name}, '')" for name in ("prov_model", "prov_session", "supersedes")},
}


@dataclass(frozen=True, slots=True)
class Filter:
    """The notes that a question is about; None for any."""

    project: str | None = None
    type: MemoryType | None = None
    scope: Scope | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("type", TYPES), ("scope", SCOPES)):
            value = getattr(self, name)
            if value is not None and value not in allowed:
                raise InvalidArgument(f"{name} {value!r} is not one of {', '.join(allowed)}.")

    @property
    def sql(self) -> str:
        asked = (name for name in ("project", "type", "scope") if getattr(self, name) is not None)
        return "".join(f" AND m.{name} = :{name}" for name in asked)

    @property
    def values(self) -> dict[str, str | None]:
        return {"project": self.project, "type": self.type, "scope": self.scope}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A search hit as the index knows it, with its file as last seen. A higher score is better."""

    id: str
    path: str
    score: float
    seen: tuple[int, int]


@dataclass(frozen=True, slots=True)
class StoreStats:
    """How many notes there are, in all and by kind."""

    total: int
    by_type: dict[str, int]
    by_project: dict[str, int]
    by_scope: dict[str, int]


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that is no note, or not the one that stands for its id."""

    path: str
    line: int
    reason: str
    owner: str = ""  # the file that stands for the id, where there are two


def at_least_zero(name: str, value: int) -> int:
    """A limit, no larger than what SQLite takes."""
    if value < 0:
        raise InvalidArgument(f"{name} is {value}, but cannot be less than 0.")
    return min(value, 2**31 - 1)


def path_of(db: sqlite3.Connection, memory_id: str) -> str | None:
    row = db.execute("SELECT scope, body_path FROM memories WHERE id = :id", {"id": memory_id}).fetchone()
    return f"{TREES[row[0]]}/{row[1]}" if row else None


def ids_starting(db: sqlite3.Connection, prefix: str, limit: int) -> list[str]:
    """The ids that start with a prefix, in either case."""
    rows = db.execute(
        "SELECT id FROM memories WHERE substr(id, 1, length(:prefix)) = :prefix COLLATE NOCASE"
        " ORDER BY id LIMIT :limit",
        {"prefix": prefix, "limit": limit},
    )
    return [row[0] for row in rows]


def list_notes(db: sqlite3.Connection, wanted: Filter, limit: int | None, offset: int) -> list[Memory]:
    """Notes, newest first, with what the index knows of them: everything but foreign front matter."""
    columns = ", ".join(f"{source} AS {name}" for name, source in _FIELDS.items())
    rows = db.execute(
        f"SELECT {columns}"
        f" FROM memories AS m WHERE TRUE {wanted.sql}"
        " ORDER BY m.updated_at DESC, m.id DESC LIMIT :limit OFFSET :offset",
        {**wanted.values, "limit": -1 if limit is None else limit, "offset": offset},
    )
    return [_memory(row) for row in rows]


def _memory(row: tuple[Any, ...]) -> Memory:
    values = dict(zip(_FIELDS, row, strict=True))
    tags, supersedes = json.loads(values["tags"]), values["supersedes"].split(" ")
    return Memory(**{**values, "tags": tags, "supersedes": supersedes})


def count_notes(db: sqlite3.Connection, wanted: Filter) -> int:
    query = "SELECT count(*) FROM memories AS m WHERE TRUE" + wanted.sql
    (count,) = db.execute(query, wanted.values).fetchone()
    return int(count)


def stats(db: sqlite3.Connection) -> StoreStats:
    by_type, by_project, by_scope = Counter[str](), Counter[str](), Counter[str]()
    rows = db.execute("SELECT project, type, scope, count(*) FROM memories GROUP BY project, type, scope")
    for project, kind, scope, count in rows:
        by_type[kind] += count
        by_project[project] += count
        by_scope[scope] += count
    return StoreStats(by_type.total(), dict(by_type), dict(by_project), dict(by_scope))


def activity(db: sqlite3.Connection, since: str) -> dict[str, int]:
    return dict(
        db.execute(
            "SELECT substr(created_at, 1, 10) AS day, count(*) FROM memories WHERE created_at >= :since"
            " GROUP BY day ORDER BY day",
            {"since": since},
        )
    )


def damage(db: sqlite3.Connection) -> list[str]:
    """What the two integrity checks of SQLite find; FTS5's needs a write transaction."""
    found = [row[0] for row in db.execute("PRAGMA quick_check(5)") if row[0] != "ok"]
    try:
        db.execute("INSERT INTO memories_fts (memories_fts) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        found.append(f"full-text index: {error}")
    return found


def superseded_ids(db: sqlite3.Connection) -> set[str]:
    return {row[0] for row in db.execute("SELECT superseded_id FROM supersessions")}


def problems(db: sqlite3.Connection) -> list[Problem]:
    """Files that could not be read as notes, and files whose note another file stands for."""
    found = [
        Problem(path, line, reason)
        for path, line, reason in db.execute(
            "SELECT f.path || '/' || name, line, problem FROM files JOIN folders f ON f.number = folder"
            " WHERE problem IS NOT NULL"
        )
    ]
    repeated = db.execute(
        "SELECT f.path || '/' || name AS path, m.scope, m.body_path FROM files"
        " JOIN folders f ON f.number = folder JOIN memories m ON m.id = memory_id"
        " WHERE memory_id IN (SELECT memory_id FROM files GROUP BY memory_id HAVING count(*) > 1)"
    )
    for path, scope, body_path in repeated:
        other = f"{TREES[scope]}/{body_path}"
        if path != other:
            reason = f"Its id is that of {other}, which is newer or in its proper place."
            found.append(Problem(path, 0, reason, other))
    return sorted(found, key=lambda problem: problem.path)


def search(db: Connection, query: str, wanted: Filter, k: int) -> list[Ranked]:
    """The k best notes by BM25 over the OR of the query's words, newest first on a tie, superseded out.

    Starts with the notes that hold one of the rarest words, and takes in commoner words while notes that
    hold only those could be among the best. Every note is scored by all words: the answer is exact.
    """
    (total,) = db.execute("SELECT coalesce(max(number), 0) FROM memories").fetchone()
    asked = rarest_first(_counted(db, query))[:_MOST_ASKED]
    if sum(word.notes for word in asked) <= _FEW_NOTES:
        return _ranked(db, _match(db, any_of(asked), wanted, k) if asked else [])
    telling = [word for word in asked if word.is_telling(total)] or asked
    noise = asked[len(telling) :]
    head = head_holding(telling, max(4 * k, 200))
    while True:
        # One more than wanted: the order is settled only when the next one is known to be worse.
        best = _best(db, telling[:head], telling[head:], wanted, k + 1)
        needed = head_deciding(telling, total, -best[-1][0]) if len(best) > k else len(telling)
        if needed <= head:
            break
        held = sum(word.notes for word in telling[:head])
        head = min(needed, max(head + 1, head_holding(telling, 8 * held)))
    if noise and len(best) < k:
        best = _match(db, any_of(asked), wanted, k)
    elif noise and sum(word.notes for word in noise) <= _NOISE_WORTH_READING:
        most = sum(word.most(total) for word in noise)
        if not is_settled([row[0] for row in best], most):
            some, rest = any_of(telling[:head]), any_of([*telling[head:], *noise])
            best = _merged(best, _match(db, f"({some}) AND ({rest})", wanted, k + 1))
    return _ranked(db, best[:k])


def _counted(db: Connection, query: str) -> list[Word]:
    """The words that any note holds, with how many hold it."""
    counts = db.word_counts()
    counted = []
    for text, times in words(query).items():
        notes = counts.get(text)
        if notes is None:
            match = {"word": f'"{text}"'}
            (notes,) = db.execute(
                "SELECT count(*) FROM memories_fts WHERE memories_fts MATCH :word", match
            ).fetchone()
            counts[text] = notes
        if notes:
            counted.append(Word(text, times, notes))
    return counted


def _best(db: Connection, head: list[Word], tail: list[Word], wanted: Filter, k: int) -> list[_Scored]:
    """The k best of the notes that hold a word of `head`, each scored by the words of `head` and `tail`.

    FTS5 scores a note by every word of the expression it matched, so the notes that hold a word of `tail` too
    are asked for apart. A note that is not among the k best of either answer is not among the k best.
    """
    best = _match(db, any_of(head), wanted, k)
    if tail:
        best = _merged(best, _match(db, f"({any_of(head)}) AND ({any_of(tail)})", wanted, k))
    return best[:k]


def _merged(scored: list[_Scored], fuller: list[_Scored]) -> list[_Scored]:
    """Both answers as one; where a note is in both, it has the score of the fuller one."""
    notes = {row[3]: row for row in (*scored, *fuller)}
    return sorted(sorted(notes.values(), key=lambda row: row[1:3], reverse=True), key=lambda row: row[0])


def _match(db: Connection, match: str, wanted: Filter, k: int) -> list[_Scored]:
    """The k best notes of an expression."""
    if wanted == Filter():
        # Sorting by score alone takes half the time. It suffices unless many notes tie with the k-th.
        reach = k + 24
        rows = db.execute(
            "SELECT rowid, bm25(memories_fts) AS score FROM memories_fts WHERE memories_fts MATCH :match"
            " ORDER BY score LIMIT :reach",
            {"match": match, "reach": reach},
        ).fetchall()
        best = _merged([], _described(db, rows))
        if len(rows) < reach or (len(best) >= k and best[k - 1][0] < rows[-1][1]):
            return best[:k]
    found = db.execute(
        "SELECT bm25(memories_fts) AS score, m.updated_at, m.id, m.number"
        " FROM memories_fts CROSS JOIN memories AS m ON m.number = memories_fts.rowid"
        f" WHERE memories_fts MATCH :match {wanted.sql}"
        " AND NOT EXISTS (SELECT 1 FROM supersessions WHERE superseded_id = m.id)"
        " ORDER BY score, m.updated_at DESC, m.id DESC LIMIT :k",
        {"match": match, "k": k, **wanted.values},
    )
    return found.fetchall()


def _described(db: Connection, rows: list[tuple[int, float]]) -> list[_Scored]:
    """The rows of a search with the times and ids of their notes, the superseded ones left out."""
    scores = dict(rows)
    notes = db.execute(
        "SELECT m.updated_at, m.id, m.number FROM memories AS m"
        " WHERE m.number IN (SELECT value FROM json_each(:numbers))"
        " AND NOT EXISTS (SELECT 1 FROM supersessions WHERE superseded_id = m.id)",
        {"numbers": json.dumps(list(scores))},
    )
    return [(scores[number], updated_at, note, number) for updated_at, note, number in notes]


def _ranked(db: Connection, best: list[_Scored]) -> list[Ranked]:
    """The hits with their files, as the index has seen them."""
    rows = db.execute(
        "SELECT m.number, m.scope, m.body_path, folders.path || '/' || files.name, files.size, files.mtime_ns"
        " FROM json_each(:numbers) AS hit JOIN memories AS m ON m.number = hit.value"
        " JOIN files ON files.memory_id = m.id JOIN folders ON folders.number = files.folder",
        {"numbers": json.dumps([row[3] for row in best])},
    )
    files = {
        number: (path, (size, mtime_ns))
        for number, scope, body_path, path, size, mtime_ns in rows
        if path == f"{TREES[scope]}/{body_path}"
    }
    return [Ranked(note, files[number][0], -score, files[number][1]) for score, _, note, number in best]
