"""Prompts of users: save, list, search, delete."""

from __future__ import annotations

import sqlite3

from anamnesis.engram import normal, projects
from anamnesis.engram.database import NotFound, refusal, writing
from anamnesis.engram.observations import new_sync_id
from anamnesis.engram.record import Prompt
from anamnesis.engram.search import match_expression
from anamnesis.engram.strings import valid
from anamnesis.engram.sync_queue import PromptPayload, enqueue_prompt

DEFAULT_RECENT = 20
DEFAULT_FOUND = 10
COLUMNS = "id, ifnull(sync_id, ''), session_id, content, nullif(project, ''), created_at"


def add(db: sqlite3.Connection, session_id: str, content: str, project: str = "") -> int:
    """Save a prompt and return its id. The same prompt may be saved again."""
    payload = PromptPayload(
        sync_id=new_sync_id("prompt"),
        session_id=valid(session_id),
        content=normal.to_size(normal.without_private(content)),
        project=projects.normalise(project) or None,
    )
    with writing(db):
        try:
            id = db.execute(
                "INSERT INTO user_prompts (sync_id, session_id, content, project)"
                " VALUES (:sync_id, :session_id, :content, :project)",
                {
                    "sync_id": payload.sync_id,
                    "session_id": payload.session_id,
                    "content": payload.content,
                    "project": payload.project or "",
                },
            ).lastrowid
        except sqlite3.IntegrityError as error:
            raise refusal(error) from error
        enqueue_prompt(db, payload)
    assert id is not None  # noqa: S101  an INSERT sets lastrowid
    return id


def recent(db: sqlite3.Connection, project: str = "", limit: int = 0) -> list[Prompt]:
    """The newest prompts, optionally of a project."""
    name = projects.meant(db, project)
    rows = db.execute(
        f"SELECT {COLUMNS} FROM user_prompts {'WHERE project = :project' if name else ''}"
        " ORDER BY created_at DESC, id DESC LIMIT :limit",
        {"project": name, "limit": limit if limit > 0 else DEFAULT_RECENT},
    )
    return [Prompt(*row) for row in rows]


def of_session(db: sqlite3.Connection, session_id: str, until: str = "") -> list[Prompt]:
    """The prompts of a session, the first first; those after `until` are left out."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM user_prompts WHERE session_id = :session AND (:until = '' OR created_at <= :until)"
        " ORDER BY created_at, id",
        {"session": valid(session_id), "until": until},
    )
    return [Prompt(*row) for row in rows]


def search(
    db: sqlite3.Connection, query: str, project: str = "", limit: int = 0, *, strict: bool = False
) -> list[Prompt]:
    """The prompts with all words of the query, best first. If `strict`, the project must be spelled as stored."""
    match = match_expression(query)
    name = valid(project) if strict else projects.meant(db, project)
    if not match:
        return []
    of_project = (
        "AND EXISTS (SELECT 1 FROM user_prompts INDEXED BY idx_prompts_project"
        " WHERE project = :project AND id = prompts_fts.rowid)"
    )
    rows = db.execute(
        f"SELECT {COLUMNS} FROM (SELECT rowid AS number, bm25(prompts_fts) AS rank FROM prompts_fts"
        f" WHERE prompts_fts MATCH :match {of_project if name else ''} ORDER BY rank, number LIMIT :limit) AS hit"
        " CROSS JOIN user_prompts ON id = hit.number ORDER BY hit.rank, hit.number",
        {"match": match, "project": name, "limit": limit if limit > 0 else DEFAULT_FOUND},
    )
    return [Prompt(*row) for row in rows]


def delete(db: sqlite3.Connection, id: int) -> None:
    """Delete a prompt."""
    with writing(db):
        if not db.execute("DELETE FROM user_prompts WHERE id = :id", {"id": id}).rowcount:
            raise NotFound(f"prompt not found: prompt #{id}")
