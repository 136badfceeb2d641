"""Learnings are found where Engram finds them, and each is saved once for a project."""

from __future__ import annotations

import re
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engram.rows import save

from anamnesis.engram import observations, passive
from anamnesis.engram.database import Refused
from anamnesis.engram.record import PassiveResult

LONG = "a learning that is long enough"


@pytest.mark.parametrize(
    ("text", "learnings"),
    [
        (f"## Key Learnings:\n\n1. {LONG}\n2) The `index` is **rebuilt** *after* a change\n3. short\n",
         [LONG, "The index is rebuilt after a change"]),
        (f"### learnings\n- {LONG}\n* another one that is long enough\n", [LONG, "another one that is long enough"]),
        ("## APRENDIZAJES CLAVE:\n1) El índice debe reconstruirse", ["El índice debe reconstruirse"]),
        (f"## Aprendizajes \t\r\n-\t{LONG}\r\n", [LONG]),
        (f"## Key Learning\n1. {LONG}\n- a bullet that is not looked at\n", [LONG]),
        (f"## Learnings\n1. short\n- {LONG}\n", [LONG]),
        (f"## Learnings\n- {LONG} first\n## Learnings\n- {LONG} last\n", [f"{LONG} last"]),
        (f"## Learnings\n- {LONG}\n\n## Learnings:\n- no\n", [LONG]),
        (f"## Learnings\n- {LONG}\n# Next\n- {LONG} not\n", [LONG]),
        (f"## Learnings\n- {LONG}\n#### deeper\n- {LONG} too\n", [LONG, f"{LONG} too"]),
        (f"# Learnings\n- {LONG}\n", []), (f"## My Learnings\n- {LONG}\n", []), (f"text ## Learnings\n- {LONG}", []),
        ("## Learnings\n- one two threeeeeeeeeeeeeeeeeeee\n", []), ("## Learnings\n- a b c d\n", []),
        ("## Learnings\n- a b c ééééééé\n", ["a b c ééééééé"]), ("", []), ("nothing here", []),
        (f"## Learnings\v\n- {LONG}\n", []),
    ],
)  # fmt: skip
def test_learnings_are_the_items_of_the_last_section_that_has_any(text: str, learnings: list[str]) -> None:
    assert passive.extract(text) == learnings


@given(st.text(alphabet="#-*1.`) \n\r\tLearnings:Key words", max_size=300))
def test_any_text_can_be_looked_through(text: str) -> None:
    assert all(len(item.encode()) >= 20 and len(item.split()) >= 4 for item in passive.extract(text))


def as_documented(text: str) -> list[str]:
    """Engram's own patterns and loop, word for word: right, and slow where a text is made to be."""
    blank = r"[\t\n\f\r ]"
    header = rf"(?im)^#{{2,3}}{blank}+(?:Aprendizajes(?:{blank}+Clave)?|Key{blank}+Learnings?|Learnings?):?{blank}*$"
    for found in reversed(list(re.finditer(header, text))):
        section = re.split(r"\n#{1,3} ", text[found.end() :], maxsplit=1)[0]
        for item in (rf"(?m)^{blank}*[0-9]+[.)]{blank}+(.+)", rf"(?m)^{blank}*[-*]{blank}+(.+)"):
            items = re.findall(item, section)
            for mark in (r"\*\*([^*]+)\*\*", "`([^`]+)`", r"\*([^*]+)\*"):
                items = [re.sub(mark, r"\1", each) for each in items]
            words = [each.split() for each in items]
            if learnings := [" ".join(each) for each in words if len(each) >= 4 and len(" ".join(each)) >= 20]:
                return learnings
    return []


PIECES = (
    "## Learnings", "##\tLearnings:", "###\nKey\n Learning:", "## Aprendizajes", " Clave", "# ", "#", "\n", "\n\n",
    "\r\n", "\f", " ", "\t", "1. ", "23)\n", "1.", "- ", "*\t", "-\n", "-", "**", "*", "`", LONG, f"{LONG} `too`",
    "short",
)  # fmt: skip


@settings(max_examples=1000)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_learnings_are_those_that_engrams_own_patterns_find(text: str) -> None:
    assert passive.extract(text) == as_documented(text)


class TestCapture:
    TEXT = f"## Key Learnings:\n1. {LONG}\n2. {'x' * 57}日本 and three more words\n"

    def test_each_is_saved_with_its_source_and_a_title_that_splits_no_character(self, db: sqlite3.Connection) -> None:
        assert passive.capture(db, "s1", self.TEXT, " Engram ", "subagent-stop") == PassiveResult(2, 2, 0)
        second, first = observations.recent(db)
        assert (first.title, first.content, first.type, first.scope) == (LONG, LONG, "passive", "project")
        assert (first.project, first.tool_name) == ("engram", "subagent-stop")
        assert second.title == "x" * 57 + "日..."

    def test_what_the_project_says_already_is_a_duplicate_whatever_its_type_scope_and_age(
        self, db: sqlite3.Connection
    ) -> None:
        save(db, "other title", LONG.upper(), type="decision", scope="personal")
        db.execute("UPDATE observations SET created_at = '2020-01-01 00:00:00'")
        assert passive.capture(db, "s1", self.TEXT, "engram") == PassiveResult(2, 1, 1)
        assert passive.capture(db, "s1", self.TEXT, "engram") == PassiveResult(2, 0, 2)
        assert passive.capture(db, "s1", self.TEXT, "another") == PassiveResult(2, 2, 0)
        assert passive.capture(db, "s1", self.TEXT) == PassiveResult(2, 2, 0)
        assert passive.capture(db, "s1", self.TEXT) == PassiveResult(2, 0, 2)

    def test_a_deleted_one_is_no_duplicate(self, db: sqlite3.Connection) -> None:
        passive.capture(db, "s1", f"## Learnings\n- {LONG}", "engram")
        observations.delete(db, 1)
        assert passive.capture(db, "s1", f"## Learnings\n- {LONG}", "engram").saved == 1

    def test_an_unknown_session_is_refused_in_engrams_words_and_nothing_is_saved(self, db: sqlite3.Connection) -> None:
        with pytest.raises(Refused, match=r"^passive capture save: constraint failed: FOREIGN KEY .* \(787\)$"):
            passive.capture(db, "ghost", self.TEXT)
        assert passive.capture(db, "ghost", "nothing to learn") == PassiveResult(0, 0, 0)
        assert observations.recent(db) == []

    def test_a_lone_half_of_a_character_does_not_stop_it(self, db: sqlite3.Connection) -> None:
        assert passive.capture(db, "s1", f"## Learnings\n- {LONG} \ud800 {'é' * 40}").saved == 1
