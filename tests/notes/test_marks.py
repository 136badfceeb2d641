"""Marks are front matter that YAML reads, that survives a rewrite, and that changes nothing else of a note."""

from __future__ import annotations

from dataclasses import replace

import yaml
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.notes import Memory, parse, render
from anamnesis.notes.marks import CONTRADICTS, STALE, linked, marks_of, with_link, with_mark

ONE, TWO = "01JAAAAAAAAAAAAAAAAAAAAAAA", "01JBBBBBBBBBBBBBBBBBBBBBBB"
NOTE = Memory(id="01JNOTE0000000000000000000", type="semantic", title="Title", body="Body.", tags=["a"])


def test_links_are_added_and_read_back_from_the_file() -> None:
    note = with_link(with_link(NOTE, CONTRADICTS, ONE), CONTRADICTS, TWO, ONE)
    again = parse(render(note))

    assert linked(again, CONTRADICTS) == [ONE, TWO]
    assert again == note


def test_a_mark_is_replaced_and_removed_and_other_keys_stay() -> None:
    own = replace(NOTE, extra={"title": "aliases: [x]\n"})
    note = with_mark(with_mark(own, STALE, "one"), STALE, "another")

    assert marks_of(note) == {STALE: "another"}
    assert with_mark(note, STALE, "") == own


@given(st.text(min_size=1))
def test_any_text_comes_back_from_the_file_and_from_yaml(text: str) -> None:
    note = with_mark(NOTE, STALE, text)
    front = render(note).removeprefix("---\n").partition("\n---\n")[0]
    text = "".join(each if each.isprintable() else " " for each in text)

    assert marks_of(parse(render(note))) == {STALE: text}
    assert yaml.safe_load(front)[STALE] == text
