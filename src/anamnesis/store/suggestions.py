"""Suggestions after a search that found nothing: other spellings of its words, and projects that have hits."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from anamnesis.recall.pruning import any_term
from anamnesis.recall.query import is_function_word, query_terms
from anamnesis.store.highlights import matches
from anamnesis.store.index import Connection
from anamnesis.store.queries import NOT_SUPERSEDED

if TYPE_CHECKING:
    from anamnesis.store.store import MemoryStore

# A pasted text is not corrected word by word.
_MOST_WORDS = 8
_MOST_PROJECTS = 5
_LONGEST_READ = 200_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
# Shorter words are near to too many others, and longer ones have too many spellings.
_SHORTEST, _LONGEST = 3, 40


class Suggestions(NamedTuple):
    """Similar words for those that no note holds, and the number of notes per project that match any of the words."""

    spelling: dict[str, str]
    projects: dict[str, int]


def suggest(db: Connection, query: str) -> Suggestions:
    terms = list(query_terms(query).terms)[:_MOST_WORDS]
    if not terms:
        return Suggestions({}, {})
    unknown = [term for term in terms if " " not in term and not _holds(db, f'"{term}"')]
    nearest = {word: other for word in unknown if (other := _nearest(db, word) or _longer(db, word))}
    return Suggestions(nearest, _projects(db, [*terms, *nearest.values()]))


def completed(store: MemoryStore, query: str) -> str:
    """A query that is being typed: if no note holds its last word, the word is completed to one that a note holds."""
    word = _last_word(query)
    if not word or is_function_word(word):
        return query

    def longer(db: Connection) -> str:
        return word if _holds(db, f'"{word}"') else _longer(db, word)

    return query.removesuffix(word) + (store._catalogue.ask(longer) or word)


def _last_word(query: str) -> str:
    found = re.search(r"\w+$", query)
    return found[0] if found else ""


def _holds(db: Connection, match: str) -> bool:
    rows = db.execute("SELECT 1 FROM memories_fts WHERE memories_fts MATCH :match LIMIT 1", {"match": match})
    return rows.fetchone() is not None


def _nearest(db: Connection, word: str) -> str:
    """The word of a note with the stem of a similar spelling, of which most notes have the same."""
    spellings = [each for each in _near(word) if not is_function_word(each)]
    row = db.execute(
        "SELECT value, (SELECT count(*) FROM memories_fts WHERE memories_fts MATCH '\"' || value || '\"') AS notes"
        " FROM json_each(:spellings) WHERE notes > 0"
        " ORDER BY substr(value, 1, 1) = :first DESC, notes DESC, length(value), value LIMIT 1",
        {"spellings": json.dumps(spellings), "first": word[:1].lower()},
    ).fetchone()
    if row is None:
        return ""
    text = _text(db, f'"{row[0]}"')
    (spans,) = matches([text], f'"{row[0]}"')
    return text[slice(*spans[0])].lower() if spans else row[0]


def _longer(db: Connection, word: str) -> str:
    """A word of some note that begins with this one."""
    found = re.search(rf"\b{word}\w*", _text(db, f'"{word}"*'), re.IGNORECASE) if len(word) > 2 else None
    return found[0].lower() if found else ""


def _text(db: Connection, match: str) -> str:
    """The beginning of a note that matches."""
    row = db.execute(
        "SELECT substr(title || ' ' || tags || ' ' || body, 1, :most) FROM memories_fts"
        " WHERE memories_fts MATCH :match LIMIT 1",
        {"match": match, "most": _LONGEST_READ},
    ).fetchone()
    return row[0] if row else ""


def _projects(db: Connection, terms: list[str]) -> dict[str, int]:
    """The projects with most notes that match any of the terms."""
    rows = db.execute(
        "SELECT m.project, count(*) FROM memories_fts CROSS JOIN memories AS m ON m.number = memories_fts.rowid"
        " WHERE memories_fts MATCH :match"
        f" AND {NOT_SUPERSEDED}"
        " GROUP BY m.project ORDER BY count(*) DESC, m.project LIMIT :most",
        {"match": any_term(terms), "most": _MOST_PROJECTS},
    )
    return dict(rows.fetchall())


def _near(word: str) -> set[str]:
    """Spellings with one letter too few, too many or wrong, or two letters swapped; none if very short or long."""
    word = word.lower()
    if not _SHORTEST <= len(word) <= _LONGEST:
        return set()
    letters = {*_LETTERS, *word}
    halves = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    fewer = {before + after[1:] for before, after in halves}
    swapped = {before + after[1] + after[0] + after[2:] for before, after in halves if len(after) > 1}
    other = {before + letter + after[1:] for before, after in halves if after for letter in letters}
    more = {before + letter + after for before, after in halves for letter in letters}
    return (fewer | swapped | other | more) - {word}
