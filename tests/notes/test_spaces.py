"""The line `space: NAME` of a note survives rewrites, and is merged separately."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from anamnesis.errors import InvalidNote
from anamnesis.notes import Memory, parse, render
from anamnesis.notes.marks import STALE, marks_of, with_mark
from anamnesis.notes.merge import merge
from anamnesis.notes.spaces import check_space, space_of, with_space

NOTE = Memory(
    "01HZZZZZZZZZZZZZZZZZZZZZZZ", "semantic", "T", "one\ntwo\nthree", updated_at="2026-01-01T00:00:00+00:00", tags=["a"]
)


def later(note: Memory, seconds: int, **changes: Any) -> Memory:
    return replace(note, updated_at=f"2026-01-01T00:00:{seconds:02d}+00:00", **changes)


@pytest.mark.parametrize("line", ["space: core", "space: 'core'", 'space: "core"', "space:  core  # ours"])
def test_the_line_is_read_in_every_form_of_yaml(line: str) -> None:
    text = render(NOTE).replace("tags:", f"{line}\ntags:")
    assert space_of(parse(text)) == "core"


def test_a_note_names_the_space_that_it_was_given_and_keeps_its_other_lines() -> None:
    own = parse(render(NOTE).replace("tags:", "aliases: [x]\nspace: core\ntags:"))
    moved = parse(render(with_space(own, "~you")))
    assert space_of(moved) == "~you"
    assert "aliases: [x]" in render(moved)
    assert render(moved).count("space:") == 1
    assert space_of(with_space(moved, "")) == ""


def test_a_name_that_no_space_can_have_is_written_as_it_is_read() -> None:
    odd = parse(render(NOTE).replace("tags:", "space: 'a: b'\ntags:"))
    assert space_of(parse(render(with_space(odd, space_of(odd))))) == "a: b"
    with pytest.raises(InvalidNote, match="not the name of a space"):
        check_space("a: b")


def test_a_value_on_other_lines_is_left_alone() -> None:
    text = render(NOTE).replace("tags:", "space:\n  - x\ntags:")
    assert space_of(parse(text)) == ""
    assert "space:\n  - x\n" in render(with_space(parse(text), ""))


def test_the_space_and_a_foreign_line_that_change_on_two_sides_are_no_conflict() -> None:
    shared = later(with_space(NOTE, "core"), 1)
    aliased = later(replace(NOTE, extra={"tags": "aliases: [x]\n"}), 2)
    merged = merge(NOTE, shared, aliased)
    assert merged == merge(NOTE, aliased, shared)
    assert merged.other is None
    assert space_of(merged.note) == "core"
    assert "aliases: [x]" in render(merged.note)


def test_of_two_new_spaces_the_newer_side_decides_and_a_removed_line_does_not() -> None:
    base = with_space(NOTE, "core")
    older, newer = later(with_space(NOTE, "team"), 1, title="U"), later(with_space(NOTE, "lab"), 2)
    assert space_of(merge(base, older, newer).note) == "lab"
    assert space_of(merge(base, later(NOTE, 3, title="U"), older).note) == "team"
    assert space_of(merge(base, later(NOTE, 3, title="U"), later(base, 1, body="x")).note) == "core"


def test_the_version_set_aside_names_the_space_of_the_note() -> None:
    merged = merge(NOTE, later(with_space(NOTE, "core"), 1, body="x"), later(NOTE, 2, body="y"))
    assert merged.other is not None
    assert space_of(merged.note) == space_of(merged.other) == "core"


def test_space_and_marks_are_written_in_one_order() -> None:
    one = with_space(with_mark(NOTE, STALE, "gone"), "core")
    two = with_mark(with_space(NOTE, "core"), STALE, "gone")
    assert one == two
    assert marks_of(one) == {STALE: "gone"}
