"""Merging two changes of one text by lines keeps both sides' changes and reports conflicts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.notes.line_merge import has_marks, merge_lines, merge_marked

# Few different lines, so that the sides often change the same and often repeat each other.
LINE = st.sampled_from(["a", "b", "c", "d", "", "a\r", "- x"])
TEXT = st.lists(LINE, max_size=8).map("\n".join)


@pytest.mark.parametrize(
    ("yielding", "prevailing", "merged"),
    [
        ("ONE\ntwo\nthree", "one\ntwo\nTHREE", "ONE\ntwo\nTHREE"),
        ("ONE\ntwo\nthree", "one\nTWO\nthree", "ONE\nTWO\nthree"),
        ("zero\none\ntwo\nthree", "one\ntwo\nthree\nfour", "zero\none\ntwo\nthree\nfour"),
        ("two\nthree", "one\ntwo", "two"),
        ("one\ntwo\n2.5\nthree", "one\ntwo\nTHREE", "one\ntwo\n2.5\nTHREE"),
        ("one\nthree", "one\ntwo\nthree\nfour", "one\nthree\nfour"),
        ("one\nTWO\nthree", "one\nTWO\nthree\nfour", "one\nTWO\nthree\nfour"),
        ("one\ntwo\nthree\nsame", "ONE\ntwo\nthree\nsame", "ONE\ntwo\nthree\nsame"),
    ],
    ids=[
        "different lines",
        "adjacent lines",
        "one above, one below",
        "each removes a line",
        "a line added before a changed one",
        "a line removed, another added",
        "the same change and one more",
        "the same line added and one changed",
    ],
)
def test_changes_at_different_places_are_both_in_the_text(yielding: str, prevailing: str, merged: str) -> None:
    base = "one\ntwo\nthree"
    assert merge_lines(base, yielding, prevailing) == (merged, False)
    assert merge_lines(base, prevailing, yielding) == (merged, False)


@pytest.mark.parametrize(
    ("yielding", "prevailing"),
    [
        ("one\nTWO\nthree", "one\n2\nthree"),
        ("one\ntwo\nthree\nfour", "one\ntwo\nthree\n4"),
        ("zero\none\ntwo\nthree", "0\none\ntwo\nthree"),
        ("one\nthree", "one\nTWO\nthree"),
        ("one\n1.5\ntwo\nthree", "three"),
    ],
    ids=[
        "the same line",
        "both append",
        "both begin",
        "one removes what the other changes",
        "a line added in what the other removes",
    ],
)
def test_changes_at_the_same_place_meet_and_the_second_side_prevails(yielding: str, prevailing: str) -> None:
    base = "one\ntwo\nthree"
    assert merge_lines(base, yielding, prevailing) == (prevailing, True)
    assert merge_lines(base, prevailing, yielding) == (yielding, True)


def test_where_some_changes_meet_the_others_are_still_both_there() -> None:
    base = "one\ntwo\nthree\nfour"
    assert merge_lines(base, "ONE\ntwo\n3\nfour", "one\ntwo\nTHREE\nFOUR") == ("ONE\ntwo\nTHREE\nFOUR", True)


def test_line_ends_of_windows_stay_in_their_lines() -> None:
    assert merge_lines("one\r\ntwo\r\n", "ONE\r\ntwo\r\n", "one\r\nTWO\r\n") == ("ONE\r\nTWO\r\n", False)


def test_of_two_texts_without_a_common_past_the_second_prevails() -> None:
    assert merge_lines(None, "one", "two") == ("two", True)
    assert merge_lines(None, "one", "one") == ("one", False)
    assert merge_lines(None, "", "two") == ("two", True)


@given(TEXT, TEXT)
def test_a_side_that_changed_nothing_yields_to_the_other(base: str, text: str) -> None:
    assert merge_lines(base, base, text) == merge_lines(base, text, base) == (text, False)


@given(TEXT | st.none(), TEXT)
def test_the_same_change_on_both_sides_is_made_once(base: str | None, text: str) -> None:
    assert merge_lines(base, text, text) == (text, False)


@given(TEXT | st.none(), TEXT, TEXT)
def test_sides_meet_whichever_prevails_and_else_agree(base: str | None, one: str, two: str) -> None:
    first, met = merge_lines(base, one, two)
    second, met_too = merge_lines(base, two, one)
    assert met == met_too
    assert met or first == second


@given(TEXT, TEXT, TEXT)
def test_no_line_of_the_prevailing_side_is_lost_and_none_is_made_up(base: str, yielding: str, prevailing: str) -> None:
    merged, met = merge_lines(base, yielding, prevailing)
    lines = set(merged.split("\n"))
    assert lines <= {*base.split("\n"), *yielding.split("\n"), *prevailing.split("\n")} | {""}
    assert set(prevailing.split("\n")) - set(base.split("\n")) <= lines
    if not met:
        assert set(yielding.split("\n")) - set(base.split("\n")) <= lines


@st.composite
def edited(draw: st.DrawFn, base: list[str], side: str) -> list[str]:
    """Lines of the base, some of them removed and changed, and others added."""
    lines = []
    for line in base:
        lines += {
            "keep": [line],
            "drop": [],
            "change": [f"{line} by {side}"],
            "add": [f"before {line}", line],
        }[draw(st.sampled_from(["keep", "keep", "drop", "change", "add"]))]
    return lines


@given(st.data(), st.integers(0, 12).map(lambda count: [f"line {number}" for number in range(count)]))
def test_a_line_that_neither_side_touched_stays_in_its_order(data: st.DataObject, base: list[str]) -> None:
    one, two = data.draw(edited(base, "one")), data.draw(edited(base, "two"))
    merged, _ = merge_lines("\n".join(base), "\n".join(one), "\n".join(two))
    lines = merged.split("\n")
    untouched = [line for line in base if line in one and line in two]
    assert [line for line in lines if line in untouched] == untouched
    assert set(two) - set(base) <= set(lines)


def test_texts_too_long_to_compare_line_by_line_are_still_merged() -> None:
    middle = [f"line {number}" for number in range(6_000)]
    base = "\n".join(["first", *middle, "last"])
    rewritten = "\n".join(["first", *(line.upper() for line in middle), "last"])
    assert merge_lines(base, rewritten, base.replace("last", "LAST")) == (rewritten.replace("last", "LAST"), False)
    other = base.replace("line 77\n", "line seventy-seven\n")
    assert merge_lines(base, rewritten, other) == (other, True)


@pytest.mark.parametrize("line", ["", "same"])
def test_a_long_text_of_lines_that_repeat_is_merged_in_bounded_work(line: str) -> None:
    """Comparing such lines naively takes the cube of their number: a minute at this size, an hour at four times it."""
    base = "\n".join(f"paragraph {number}\n{line}" for number in range(2_000))
    rewritten = base.replace("paragraph", "section")
    other = base.replace("paragraph 3\n", "paragraph three\n")
    assert merge_lines(base, rewritten, other) == (other, True)
    repeated = "\n".join([line] * 4_000)
    spread = "\n".join(line if number % 2 else f"new {number}" for number in range(4_000))
    assert merge_lines(repeated, spread, f"first\n{repeated}") == (f"first\n{spread}", False)


def test_both_versions_of_a_line_stand_between_marks_and_what_they_share_stands_once() -> None:
    base = "first\none\ntwo\nthree\nlast"
    mine, theirs = "first\nONE\nshared\nTWO\nthree\nlast", "FIRST\none!\nshared\nTWO\nthree\nlast, really"
    assert merge_marked(base, mine, theirs) == (
        "<<<<<<< your text\nfirst\nONE\n=======\nFIRST\none!\n>>>>>>> the note as saved meanwhile\n"
        "shared\nTWO\nthree\nlast, really"
    )


@given(TEXT, TEXT, TEXT)
def test_a_marked_merge_has_marks_exactly_where_the_sides_conflict(base: str, one: str, two: str) -> None:
    merged, conflict = merge_lines(base, one, two)
    marked = merge_marked(base, one, two)
    assert has_marks(marked) == conflict
    if not conflict:
        assert marked == merged
    assert {*one.split("\n")} - {*base.split("\n")} <= {*marked.split("\n")} >= {*two.split("\n")} - {*base.split("\n")}
