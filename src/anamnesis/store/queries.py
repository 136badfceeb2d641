"""What is asked of the index: lists, counts, and the ranked search. Reads no file."""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections import Counter
from dataclasses import dataclass

from anamnesis.notes import Memory, MemoryType, Scope
from anamnesis.recall.pruning import Word, head_deciding, head_holding, rarest_first
from anamnesis.recall.query import any_of, words
from anamnesis.store.files import TREES
from anamnesis.store.index import Connection

# The rarest words of a query that are asked for; a 10,000-word query costs no more than one of this many.
_MOST_ASKED = 128


@dataclass(frozen=True, slots=True)
class Filter:
    """The notes that a question is about; None for any."""

    project: str | None = None
    type: MemoryType | None = None
    scope: Scope | None = None

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


def path_of(db: sqlite3.Connection, memory_id: str) -> str | None:
    row = db.execute("SELECT scope, body_path FROM memories WHERE id = :id", {"id": memory_id}).fetchone()
    return f"{TREES[row[0]]}/{row[1]}" if row else None


def ids_starting(db: sqlite3.Connection, prefix: str, limit: int) -> list[str]:
    """The ids that start with a prefix, in either case."""
    rows = db.execute(
        "SELECT id FROM memories WHERE substr(id, 1, length(:prefix)) = :prefix COLLATE NOCASE ORDER BY id LIMIT :limit",
        {"prefix": prefix, "limit": limit},
    )
    return [row[0] for row in rows]


def list_notes(db: sqlite3.Connection, wanted: Filter, limit: int | None, offset: int) -> list[Memory]:
    """Notes, newest first, with what the index knows of them: everything but foreign front matter."""
    rows = db.execute(
        "SELECT m.id, m.type, m.title, f.body, m.project, m.machine_id, m.scope,"
        " (SELECT json_group_array(tag) FROM"
        "   (SELECT tag FROM memory_tags WHERE memory_id = m.id ORDER BY rowid)),"
        " m.created_at, m.updated_at, m.prov_source, coalesce(m.prov_model, ''),"
        " coalesce(m.prov_session, ''), m.confidence, coalesce(m.supersedes, '')"
        " FROM (SELECT * FROM memories AS m WHERE TRUE"
        + wanted.sql
        + "   ORDER BY updated_at DESC, id DESC LIMIT :limit OFFSET :offset) AS m"
        " JOIN memories_fts AS f ON f.rowid = m.number ORDER BY m.updated_at DESC, m.id DESC",
        {**wanted.values, "limit": -1 if limit is None else limit, "offset": offset},
    )
    return [Memory(*row[:7], json.loads(row[7]), *row[8:14], row[14].split(" ")) for row in rows]


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
            found.append(
                Problem(path, 0, f"Its id is that of {other}, which is newer or in its proper place.")
            )
    return sorted(found, key=lambda problem: problem.path)


def search(db: Connection, query: str, wanted: Filter, k: int) -> list[Ranked]:
    """The k best notes by BM25 over the OR of the query's words, newest first on a tie, superseded out."""
    asked = rarest_first(_counted(db, query))[:_MOST_ASKED]
    if not asked or not k:
        return []
    (total,) = db.execute("SELECT max(number) FROM memories").fetchone()
    head = head_holding(asked, 4 * k)
    while True:
        best = _score(db, asked[:head], asked[head:], wanted, k)
        worst = -best[-1][0] if len(best) == k else 0.0
        needed = head_deciding(asked, total or 0, worst) if worst > 0 else len(asked)
        if needed <= head:
            return _ranked(db, best)
        # Too few notes yet to say what the common words can do: ask for eight times as many.
        held = sum(word.notes for word in asked[:head])
        head = min(needed, max(head + 1, head_holding(asked, 8 * held)))


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


_Scored = tuple[float, str, str, int]


def _score(db: Connection, head: list[Word], tail: list[Word], wanted: Filter, k: int) -> list[_Scored]:
    """The k best of the notes that hold a word of `head`, each scored by the words of `head` and `tail`."""
    some_head = any_of((word.text, word.times) for word in head)
    query = (
        "SELECT bm25(memories_fts) AS score, m.updated_at, m.id, m.number"
        " FROM memories_fts CROSS JOIN memories AS m ON m.number = memories_fts.rowid"
        " WHERE memories_fts MATCH :match"
        + wanted.sql
        + " AND NOT EXISTS (SELECT 1 FROM supersessions WHERE superseded_id = m.id)"
    )
    if not tail:
        query += " ORDER BY score, m.updated_at DESC, m.id DESC LIMIT :k"
        return db.execute(query, {"match": some_head, "k": k, **wanted.values}).fetchall()
    rows: list[_Scored] = db.execute(query, {"match": some_head, **wanted.values}).fetchall()
    both = f"({some_head}) AND ({any_of((word.text, word.times) for word in tail)})"
    fuller = dict(
        db.execute(
            "SELECT rowid, bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH :both",
            {"both": both},
        )
    )
    rescored = [
        (fuller.get(number, score), updated_at, note, number) for score, updated_at, note, number in rows
    ]
    if len(rescored) > k:
        worst = heapq.nsmallest(k, (row[0] for row in rescored))[-1]
        rescored = [row for row in rescored if row[0] <= worst]
    rescored.sort(key=lambda row: row[1:3], reverse=True)
    rescored.sort(key=lambda row: row[0])
    return rescored[:k]


def _ranked(db: Connection, scored: list[_Scored]) -> list[Ranked]:
    ranked = []
    for score, _, note, number in scored:
        scope, body_path = db.execute(
            "SELECT scope, body_path FROM memories WHERE number = :number", {"number": number}
        ).fetchone()
        path = f"{TREES[scope]}/{body_path}"
        folder, _, name = path.rpartition("/")
        seen = db.execute(
            "SELECT size, mtime_ns FROM files WHERE name = :name"
            " AND folder = (SELECT number FROM folders WHERE path = :folder)",
            {"name": name, "folder": folder},
        ).fetchone()
        ranked.append(Ranked(note, path, -score, seen))
    return ranked
