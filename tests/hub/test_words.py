"""The words of notes: what a search finds, counted per space, and never another space's."""

from __future__ import annotations

from typing import Any

from tests.hub.running import RunningHub, text_of

from anamnesis.hub.database import Connection, administrator
from anamnesis.hub.words import cut, document
from anamnesis.notes import parse


def terms(db: Connection, space: str) -> dict[str, int]:
    query = """
        SELECT term, t.notes FROM anamnesis.terms t JOIN anamnesis.spaces s ON s.id = t.space WHERE s.name = %(name)s
    """
    return {row["term"]: row["notes"] for row in db.execute(query, {"name": space})}


def counts(db: Connection, space: str) -> Any:
    return db.execute("SELECT notes, words FROM anamnesis.spaces WHERE name = %(name)s", {"name": space}).fetchone()


def test_words_are_cut_in_lower_case_without_accents_and_identifiers_with_their_parts() -> None:
    assert cut("Où est `getUserById`? foo_bar-baz.qux/3x " + "A" * 81) == [
        *("ou", "est", "getuserbyid", "foo", "bar", "baz", "qux", "3x"),
    ]
    found = document(parse(text_of("N1", "call getUserById twice", title="Pool", tags=["db"])))
    assert found.heading == "pool db"
    assert found.body.split() == ["call", "getuserbyid", "twice", "by", "get", "id", "user"]
    assert found.words == 5


def test_frequencies_follow_every_change_and_leave_no_trace_of_what_was_erased(running: RunningHub) -> None:
    you = running.user("you", core="owner")
    you.put("core", "N1", text_of("N1", "locking databases", title="Pool"))
    you.put("core", "N2", text_of("N2", "locks", title="Pool"))
    you.put("~you", "N3", text_of("N3", "locks alone", title="Mine"))
    with administrator(running.database) as db:
        assert terms(db, "core") == {"lock": 2, "databas": 1, "pool": 2}
        assert counts(db, "core") == {"notes": 2, "words": 5}
    you.put("core", "N1", text_of("N1", "locking pools", title="Pool"), base=1)
    you.put("core", "N2", None, base=2)
    with administrator(running.database) as db:
        assert terms(db, "core") == {"lock": 1, "pool": 1}
        assert counts(db, "core") == {"notes": 1, "words": 3}
        assert terms(db, "~you") == {"lock": 1, "alon": 1, "mine": 1}


def test_a_note_that_engram_hides_has_no_words(running: RunningHub) -> None:
    you = running.user("you")
    you.put("~you", "N1", text_of("N1", engram={"deleted_at": "2026-11-16 09:30:00"}))
    with administrator(running.database) as db:
        assert terms(db, "~you") == {}
        assert counts(db, "~you") == {"notes": 0, "words": 0}


def test_a_long_note_of_different_words_is_stored_and_found_by_its_beginning(running: RunningHub) -> None:
    you = running.user("you")
    body = " ".join(f"w{number:x}" for number in range(150_000))
    assert you.put("~you", "N1", text_of("N1", body))["version"] == 1
    with administrator(running.database) as db:
        assert terms(db, "~you")["w7f"] == 1


def test_a_search_uses_the_index_and_finds_the_words_of_its_space_only(running: RunningHub) -> None:
    you = running.user("you", core="writer", other="writer")
    for space in ("core", "other"):
        changes = [
            {"space": space, "id": f"N{number}", "base": 0, "text": text_of(f"N{number}", f"word{number % 50} common")}
            for number in range(500)
        ]
        assert you("/v1/changes", {"machine": "desk", "changes": changes}).status == 200
    with administrator(running.database) as db:
        db.execute("ANALYZE anamnesis.notes")
        db.execute("SET LOCAL enable_seqscan = off")  # so few rows are read as fast without an index
        space = (db.execute("SELECT id FROM anamnesis.spaces WHERE name = 'core'").fetchone() or {})["id"]
        query = f"""
            SELECT space, id FROM anamnesis.notes WHERE anamnesis.leveled(tsv, words) @@ (
                SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery
                FROM unnest(anamnesis.document({space}, '', 'word7'))
            )
        """
        plan = "\n".join(str(row["QUERY PLAN"]) for row in db.execute(f"EXPLAIN {query}".encode()))
        assert "Bitmap Index Scan on notes_levels" in plan
        found = db.execute(query.encode()).fetchall()
    assert ({row["space"] for row in found}, len(found)) == ({space}, 10)
