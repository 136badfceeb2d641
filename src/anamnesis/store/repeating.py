"""Possible repetitions of a new text: notes with all of its words, and notes with all words of its title in theirs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from anamnesis.notes import Memory
from anamnesis.recall.query import telling_words
from anamnesis.store.projects import by_any_name
from anamnesis.store.queries import NOT_SUPERSEDED, Filter

if TYPE_CHECKING:
    from anamnesis.store.index import Connection
    from anamnesis.store.store import MemoryStore

# The longest words are rare, and a few of them suffice: an intersection is as cheap as its rarest word.
_MOST_WORDS = 24
_MOST_NOTES = 5
_QUERY = f"""
    SELECT m.id FROM memories_fts CROSS JOIN memories AS m ON m.number = memories_fts.rowid
    WHERE memories_fts MATCH :match AND {{project}} AND {NOT_SUPERSEDED}
    ORDER BY memories_fts.rowid DESC LIMIT :most
"""


def may_repeat(store: MemoryStore, text: Memory) -> list[Memory]:
    """The newest notes of the same project that have all words of a text, or all words of its title in theirs."""
    matches = [_all_of(longest_words(f"{text.title} {text.body}")), _all_of(longest_words(text.title), "title : ")]
    wanted = [match for match in matches if match]
    ids = store._catalogue.ask(lambda db: [id for match in wanted for id in _ids(db, match, text.project)])
    return store.live(dict.fromkeys(ids))


def _ids(db: Connection, match: str, project: str) -> list[str]:
    wanted = by_any_name(db, Filter(project))
    values = {**wanted.values, "match": match, "most": _MOST_NOTES}
    return [id for (id,) in db.execute(_QUERY.format(project=wanted.project_sql), values)]


def longest_words(text: str) -> list[str]:
    """The words by which notes that repeat a text are found."""
    return sorted(telling_words(text), key=len, reverse=True)[:_MOST_WORDS]


def _all_of(words: Iterable[str], column: str = "") -> str:
    quoted = " AND ".join(f'"{word}"' for word in words)
    return f"{column}({quoted})" if quoted else ""
