"""Edits of YAML are exact and can be undone, however the file is written."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.onboard.formats import laws

from anamnesis.onboard.formats import Unparsable, engine

ENGINE = engine("yaml")
COMMENT = re.compile(r"# c\d+")
KEYS = ["a", "b c", '"quoted: key"', "'é.x'", "1", "true", "x-y"]
SCALARS = ["plain text", "'it''s # no comment'", '"esc\\n"', "1", "1.5", "yes", "2001-01-01", "http://a.b/c#d", "", "~"]
FLOWS = ["{}", "[]", "{k: 1, l: [a, 'b, c']}", "[1, {m: n}]", "{ k: 1, }"]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A mapping with values in every notation."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    step = draw(st.sampled_from([2, 4]))
    list_step = draw(st.sampled_from([0, 2]))
    count = iter(range(1000))

    def filler(column: int) -> list[str]:
        notes = ["", " " * column + f"# c{next(count)}", f"# c{next(count)}: x"]
        return draw(st.lists(st.sampled_from(notes), max_size=2))

    def leaf(column: int) -> list[str]:
        """The text after a colon or a dash, and the lines below it."""
        form = draw(st.sampled_from(["scalar", "scalar", "flow", "flow lines", "block scalar"]))
        inner = " " * (column + step)
        if form == "block scalar":
            return [draw(st.sampled_from([" |", " >-", " |+", " |2-"])), *([inner + "# text: x", "", inner + "y"])]
        if form == "flow lines":
            return [" {", f"{inner}k: 1, # c{next(count)}", f"{inner}l: [], # c{next(count)}", f"{inner}}}"]
        value = draw(st.sampled_from(SCALARS if form == "scalar" else FLOWS))
        return [(" " + value if value else "") + draw(st.sampled_from(["", f" # c{next(count)}"]))]

    def mapping(column: int, depth: int) -> list[str]:
        lines = []
        for key in draw(st.lists(st.sampled_from(KEYS), unique=True, min_size=1, max_size=3)):
            form = draw(st.sampled_from(["leaf", "leaf", "mapping", "list"])) if depth < 2 else "leaf"
            note = draw(st.sampled_from(["", f" # c{next(count)}"]))
            lines += filler(column)
            if form == "leaf":
                first, *rest = leaf(column)
                lines += [" " * column + key + ":" + first, *rest]
            elif form == "mapping":
                lines += [" " * column + key + ":" + note, *mapping(column + step, depth + 1)]
            else:
                lines += [" " * column + key + ":" + note, *items(column + list_step, depth + 1)]
        return lines

    def items(column: int, depth: int) -> list[str]:
        lines = []
        for _ in range(draw(st.integers(1, 3))):
            lines += filler(column)
            if draw(st.booleans()) and depth < 2:
                first, *rest = mapping(column + 2, depth + 1)
                dash, inner = " " * column + "-", first.strip()
                lines += [dash, first, *rest] if not inner or inner[0] == "#" else [f"{dash} {inner}", *rest]
            else:
                first, *rest = leaf(column)
                lines += [" " * column + "-" + first, *rest]
        return lines

    start = draw(st.sampled_from([[], ["---"], [f"# c{next(count)}", "--- # c"]]))
    text = "\n".join([*start, *mapping(0, 0), *filler(0)])
    ends = ["\n", "\n\n", "\n...\n"]
    # One more line may change a block scalar that ends the file without a line end.
    text += draw(st.sampled_from(ends if re.search("[|>]", text) else ["", *ends]))
    return draw(st.sampled_from(["", "\ufeff"])) + text.replace("\n", newline)


VALID = documents().filter(partial(laws.is_valid, ENGINE))


@laws.PATIENTLY
@given(VALID, st.data(), laws.OURS)
def test_put_sets_one_value_and_keeps_every_comment(text: str, data: st.DataObject, value: Any) -> None:
    edited = laws.check_put(ENGINE, text, laws.draw_new_path(data, ENGINE.read(text)), value)
    assert COMMENT.findall(edited) == COMMENT.findall(text)


@laws.PATIENTLY
@given(VALID, st.data(), laws.OURS)
def test_put_keeps_every_character_and_drop_undoes_it(text: str, data: st.DataObject, value: Any) -> None:
    path = laws.draw_new_path(data, ENGINE.read(text), filled=True)
    edited = ENGINE.put(text, path, value)
    laws.check_only_added(text, edited)
    assert ENGINE.drop(edited, path, prune=True) == text


@laws.PATIENTLY
@given(VALID, st.data(), laws.OURS)
def test_append_keeps_every_character_and_drop_item_undoes_it(text: str, data: st.DataObject, value: Any) -> None:
    laws.check_append(ENGINE, text, data, value)


@laws.PATIENTLY
@given(VALID, st.data(), laws.OURS)
def test_drop_and_put_over_a_value_leave_all_others(text: str, data: st.DataObject, value: Any) -> None:
    document = {"": 0, **ENGINE.read(text)}
    key = data.draw(st.sampled_from(sorted(key for key in document if isinstance(key, str))))
    laws.check_put(ENGINE, text, [key or "new"], value)
    assume("|+" not in text)  # blank lines below an entry would become part of a text above it that keeps them
    edited = ENGINE.drop(text, [key])
    assert ENGINE.read(edited) == {other: found for other, found in ENGINE.read(text).items() if other != key}
    assert ENGINE.drop(edited, [key]) == edited


@given(st.text(st.sampled_from("{}[]\"':#-?&*!|>%, \n\ra1"), max_size=14))
def test_any_text_is_edited_or_refused_with_a_reason(text: str) -> None:
    try:
        edited = ENGINE.put(text, ["a", "b"], {"c": 1})
        dropped = ENGINE.drop(text, ["a"])
    except Unparsable as error:
        assert error.message
    else:
        assert ENGINE.read(edited)["a"]["b"] == {"c": 1}
        assert "a" not in ENGINE.read(dropped)


@laws.PATIENTLY
@given(documents(), st.data())
def test_a_damaged_file_is_edited_correctly_or_refused_with_a_reason(text: str, data: st.DataObject) -> None:
    laws.check_refusal(ENGINE, text, data)
