"""Edits of TOML are exact and can be undone, however the file is written."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.onboard.formats import laws

from anamnesis.onboard.formats import Unparsable, engine

ENGINE = engine("toml")
COMMENT = re.compile(r"# c\d+")
SCALARS = [
    '"text # no comment"',
    "'C:\\literal'",
    '"""two\n[lines] = "# x" \\"""\n"""""',
    "'''a'b''\n[[x]]'''",
    "1979-05-27 07:32:00",
    "1979-05-27T07:32:00Z",
    "0x1F",
    "1_000",
    "-1.5e3",
    "true",
    '""',
]
KEYS = ["p", '"quoted key"', "'é.x'", "s . t", "s.u", "1", "v.w.x"]
TABLES = ["t", "t.u", 't . "x.y"', "t.u.w", "e.f", "e", "z"]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A file with tables in any order and values in every notation."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    count = iter(range(1000))

    def value(depth: int = 0) -> str:
        form = draw(st.sampled_from(["scalar", "scalar", "array", "inline"] if depth < 2 else ["scalar"]))
        if form == "scalar":
            return draw(st.sampled_from(SCALARS if depth == 0 else [each for each in SCALARS if "\n" not in each]))
        size = draw(st.integers(0, 3))
        if form == "inline":
            return "{" + ", ".join(f" k{number} = {value(2)} " for number in range(size)) + "}"
        gap = draw(st.sampled_from(["", " ", "\n", "\n  ", "NOTE\n  "])) if depth == 0 else ""
        items = [gap.replace("NOTE", f" # c{next(count)}") + value(depth + 1) for _ in range(size)]
        end = draw(st.sampled_from(["", ","])) if size else ""
        return "[" + ",".join(items) + end + gap.replace("NOTE", f" # c{next(count)}") + "]"

    def filler() -> list[str]:
        return draw(st.lists(st.sampled_from(["", "  ", f"# c{next(count)}", f"\t# c{next(count)} [x]"]), max_size=2))

    def pairs() -> list[str]:
        found = []
        for key in draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=4)):
            note = draw(st.sampled_from(["", f" # c{next(count)}"]))
            found += [*filler(), f"{draw(st.sampled_from(['', '  ']))}{key} = {value()}{note}"]
        return found

    lines = [*pairs(), *filler()]
    for name in draw(st.lists(st.sampled_from([*TABLES, "[a]", "[a]", "[e.arr]"]), max_size=5)):
        if name.startswith("[") or f"[{name}]" not in lines:
            lines += [*filler(), f"[{name}]", *pairs()]
            if name == "[a]" and draw(st.booleans()):
                lines += ["[a.sub]", *pairs()]
    text = "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))
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
    document = ENGINE.read(text)
    path = laws.draw_new_path(data, document, filled=bool(document))
    edited = ENGINE.put(text, path, value)
    laws.check_only_added(text, edited)
    below_element = any(isinstance(step, int) for step in path)  # a comment may come to belong to its new table
    assert ENGINE.drop(edited, path, prune=True) == text or below_element


@laws.PATIENTLY
@given(VALID, st.data(), st.sampled_from([laws.ENTRY, {"event": "Stop"}]))
def test_append_keeps_every_character_and_drop_item_undoes_it(text: str, data: st.DataObject, value: Any) -> None:
    laws.check_append(ENGINE, text, data, value)


@laws.PATIENTLY
@given(VALID.filter(lambda text: bool(ENGINE.read(text))), st.data(), laws.OURS)
def test_drop_and_put_over_a_value_leave_all_others(text: str, data: st.DataObject, value: Any) -> None:
    document = ENGINE.read(text)
    key = data.draw(st.sampled_from(sorted(document)))
    laws.check_put(ENGINE, text, [key], value)
    edited = laws.check_drop(ENGINE, text, [key])
    assert ENGINE.read(edited) == {other: found for other, found in document.items() if other != key}
    assert set(COMMENT.findall(edited)) <= set(COMMENT.findall(text))


@given(st.text(st.sampled_from("[]{}=.,\"'#\n\r\\ a1"), max_size=14))
def test_any_text_is_edited_or_refused_with_a_reason(text: str) -> None:
    try:
        edited = ENGINE.put(text, ["a", "b"], {"c": 1})
    except Unparsable as error:
        assert error.message
    else:
        assert ENGINE.read(edited)["a"]["b"] == {"c": 1}


@laws.PATIENTLY
@given(documents(), st.data())
def test_a_damaged_file_is_edited_correctly_or_refused_with_a_reason(text: str, data: st.DataObject) -> None:
    laws.check_refusal(ENGINE, text, data)
