"""The ranked search by words: exact, at a cost proportional to the notes that hold the rare words of a query."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from anamnesis.recall.pruning import QueryWord, any_of, any_term, head_deciding, head_holding, is_settled, rarest_first
from anamnesis.recall.query import query_terms
from anamnesis.store.index import Connection
from anamnesis.store.parts import by_parts
from anamnesis.store.queries import NOT_SUPERSEDED, Filter
from anamnesis.store.question import Ranked, Why

# Up to this many notes are scored faster in one go (1 ms) than in steps.
_FEW_NOTES = 1_500
# The usual score of the k-th best note, in weights of the rarest word. With a good guess, one step suffices.
_LIKELY_SCORE = 1.6
# A word in half of the notes weighs a millionth in bm25(). Such words break ties only if at most this many notes hold
# them (1 ms); otherwise the tie stands, and the newest note comes first.
_NOISE_WORTH_READING = 10_000

# bm25 (lower is better), updated_at, id, number
_Scored = tuple[float, str, str, int]

# How many of a query's rarest words are searched for; a 10,000-word query costs no more than one of this many.
MOST_ASKED = 128


class Coverage(NamedTuple):
    """The words that each note holds, those of them in its title or tags, and how many of all notes hold each word."""

    held: dict[str, set[str]]
    named: dict[str, set[str]]
    notes: dict[str, int]
    total: int


def search(db: Connection, query: str, wanted: Filter, k: int, *, explain: bool = False) -> list[Ranked]:
    """The k best notes by BM25 over the OR of the query's terms, newest first on a tie, without superseded ones.

    Function words are not searched for: of notes with equal scores, the one that holds more of them comes first.
    Starts with the notes that hold one of the rarest words, and adds commoner words while notes that hold only
    those could be among the best. Every note is scored by all words: the result is exact, except for ties that only
    words in half of the notes would break. If fewer than k notes match, matches by parts of identifiers follow.
    """
    if not _has_notes(db, wanted):  # otherwise it would try every word before it finds nothing
        return []
    total = about_total(db)
    terms, around = query_terms(query)
    known = rarest_first(counted(db, terms))[:MOST_ASKED]
    if not k:
        return []
    best = _best_of_all(db, known, total, wanted, k) if known else []
    best = _ordered(db, best, list(around)[:MOST_ASKED])[:k]
    if len(best) < k:
        best += by_parts(db, query, wanted, k - len(best), {row[3] for row in best})
    found = ranked(db, best)
    if not explain:
        return found
    words = word_scores(db, known, [row[3] for row in best])
    return [
        hit._replace(why=Why(words[number], "", {"words": hit.score}, {}, {}))
        for hit, (_, _, _, number) in zip(found, best, strict=True)
    ]


def about_total(db: Connection) -> int:
    """The number of notes or slightly more: one index lookup, where a count reads all rows."""
    (total,) = db.execute("SELECT coalesce(max(number), 0) FROM memories").fetchone()
    return int(total)


def _best_of_all(db: Connection, known: list[QueryWord], total: int, wanted: Filter, k: int) -> list[_Scored]:
    """At least the k best notes, scored by all words."""
    if sum(word.notes for word in known) <= _FEW_NOTES:
        return _match(db, any_of(known), wanted, k + 1)
    telling = [word for word in known if word.is_telling(total)] or known
    noise = known[len(telling) :]
    likely = _LIKELY_SCORE * telling[0].weight(total)
    head = max(head_holding(telling, 2 * k), head_deciding(telling, total, likely))
    while True:
        # One more than needed: the order is final only when the next note is known to be worse.
        best = _best(db, telling[:head], telling[head:], wanted, k + 1)
        needed = head_deciding(telling, total, -best[-1][0]) if len(best) > k else len(telling)
        if needed <= head:
            break
        held = sum(word.notes for word in telling[:head])
        head = min(needed, max(head + 1, head_holding(telling, 8 * held)))
    if noise and len(best) < k:
        best = _match(db, any_of(known), wanted, k)
    elif noise and sum(word.notes for word in noise) <= _NOISE_WORTH_READING:
        most = sum(word.most(total) for word in noise)
        if not is_settled([row[0] for row in best], most):
            some, rest = any_of(telling[:head]), any_of([*telling[head:], *noise])
            best = _merged(best, _match(db, f"({some}) AND ({rest})", wanted, k + 1))
    return best


def _ordered(db: Connection, best: list[_Scored], around: list[str]) -> list[_Scored]:
    """The notes with ties broken by how many of the function words each holds."""
    times = Counter(row[0] for row in best)
    tied = [row[3] for row in best if times[row[0]] > 1]
    if not tied or not around:
        return best
    held = holding(db, around, tied)
    return sorted(best, key=lambda row: (row[0], -len(held.get(row[3], ()))))


def holding(
    db: Connection, terms: Iterable[str], numbers: Iterable[int], columns: str = "", table: str = "memories_fts"
) -> dict[int, set[str]]:
    """The terms that each of these notes holds, in any column or in some, by one of the word indexes."""
    held: dict[int, set[str]] = {number: set() for number in numbers}
    rows = db.execute(
        f"SELECT {table}.rowid, term.value FROM json_each(:terms) AS term CROSS JOIN json_each(:numbers) AS note"
        f" CROSS JOIN {table} ON {table}.rowid = note.value"
        f" WHERE {table} MATCH :columns || '\"' || term.value || '\"'",
        {"terms": json.dumps(list(terms)), "numbers": json.dumps(list(held)), "columns": columns},
    )
    for number, term in rows:
        held[number].add(term)
    return held


def word_scores(db: Connection, words: Iterable[QueryWord], numbers: Iterable[int]) -> dict[int, dict[str, float]]:
    """What each word adds to the BM25 of each of these notes that holds it, the most first."""
    times = {word.text: word.times for word in words}
    found: dict[int, dict[str, float]] = {number: {} for number in numbers}
    rows = db.execute(
        "SELECT memories_fts.rowid, term.value, -bm25(memories_fts) AS score FROM json_each(:terms) AS term"
        " CROSS JOIN json_each(:numbers) AS note CROSS JOIN memories_fts ON memories_fts.rowid = note.value"
        " WHERE memories_fts MATCH '\"' || term.value || '\"'",
        {"terms": json.dumps(list(times)), "numbers": json.dumps(list(found))},
    )
    for number, term, score in sorted(rows, key=lambda row: -row[2]):
        found[number][term] = score * times[term]
    return found


def coverage(db: Connection, words: list[str], ids: list[str]) -> Coverage:
    """Which of the words these notes hold."""
    (total,) = db.execute("SELECT count(*) FROM memories WHERE deleted_at IS NULL").fetchone()
    known = {word.text: word.notes for word in counted(db, Counter(words))}
    rows = db.execute(
        "SELECT number, id FROM memories WHERE id IN (SELECT value FROM json_each(:ids))", {"ids": json.dumps(ids)}
    )
    numbers = dict(rows.fetchall())
    held = {numbers[number]: words for number, words in holding(db, known, numbers).items()}
    named = {numbers[number]: words for number, words in holding(db, known, numbers, "{title tags} : ").items()}
    return Coverage(held, named, {word: known.get(word, 0) for word in words}, total)


def counted(db: Connection, terms: Counter[str]) -> list[QueryWord]:
    """The terms that any note holds, with the number of these notes."""
    counts = db.learned().word_counts
    counted = []
    for text, times in terms.items():
        notes = count_notes(db, "memories_fts", counts, text)
        if notes:
            counted.append(QueryWord(text, times, notes))
    return counted


def count_notes(db: Connection, table: str, counts: dict[str, int], text: str) -> int:
    """How many notes hold a word or phrase, by one of the word indexes; `counts` is its cache."""
    notes = counts.get(text)
    if notes is None:
        query = f"SELECT count(*) FROM {table} WHERE {table} MATCH :word"
        (notes,) = db.execute(query, {"word": any_term([text])}).fetchone()
        counts[text] = notes
    return notes


def _best(db: Connection, head: list[QueryWord], tail: list[QueryWord], wanted: Filter, k: int) -> list[_Scored]:
    """The k best of the notes that hold a word of `head`, each scored by the words of `head` and `tail`.

    FTS5 scores a note by every word of the expression it matched, so the notes that hold a word of `tail` too
    are queried separately. A note that is not among the k best of either result is not among the k best.
    """
    best = _match(db, any_of(head), wanted, k)
    if tail:
        best = _merged(best, _match(db, f"({any_of(head)}) AND ({any_of(tail)})", wanted, k))
    return best[:k]


def _merged(scored: list[_Scored], fuller: list[_Scored]) -> list[_Scored]:
    """Both results merged; a note in both has its score from `fuller`."""
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
        f" WHERE memories_fts MATCH :match {_of_project(wanted)} AND {wanted.sql}"
        f" AND {NOT_SUPERSEDED}"
        " ORDER BY score, m.updated_at DESC, m.id DESC LIMIT :k",
        {"match": match, "k": k, **wanted.values},
    )
    return found.fetchall()


def _has_notes(db: Connection, wanted: Filter) -> bool:
    """Whether the wanted project has notes: one index lookup."""
    if wanted.project is None:
        return True
    of_project = f"SELECT 1 FROM memories AS m WHERE {wanted.project_sql} AND m.deleted_at IS NULL"
    (found,) = db.execute(f"SELECT EXISTS ({of_project})", wanted.values).fetchone()
    return bool(found)


def _of_project(wanted: Filter) -> str:
    """A condition that drops the notes of other projects before they are looked up, which is most of the cost."""
    if wanted.project is None:
        return ""
    # The `+` keeps FTS5 from looking up each note separately.
    of_project = f"SELECT m.number FROM memories AS m WHERE {wanted.project_sql} AND m.deleted_at IS NULL"
    return f"AND +memories_fts.rowid IN ({of_project})"


def _described(db: Connection, rows: list[tuple[int, float]]) -> list[_Scored]:
    """The rows of a search with the times and ids of their notes, the superseded ones left out."""
    scores = dict(rows)
    notes = db.execute(
        "SELECT m.updated_at, m.id, m.number FROM memories AS m"
        " WHERE m.number IN (SELECT value FROM json_each(:numbers))"
        f" AND {NOT_SUPERSEDED}",
        {"numbers": json.dumps(list(scores))},
    )
    return [(scores[number], updated_at, note, number) for updated_at, note, number in notes]


def ranked(db: Connection, best: list[_Scored]) -> list[Ranked]:
    """The hits with their files, as they were indexed."""
    rows = db.execute(
        "SELECT number, path, size, mtime_ns FROM standing_files"
        " WHERE number IN (SELECT value FROM json_each(:numbers))",
        {"numbers": json.dumps([row[3] for row in best])},
    )
    files = {number: (path, (size, mtime_ns)) for number, path, size, mtime_ns in rows}
    return [Ranked(note, files[number][0], -score, files[number][1]) for score, _, note, number in best]
