"""Edits of JSON are exact and can be undone, however the file is written."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.onboard.formats import laws

from anamnesis.onboard.formats import Unparsable, engine

ENGINE = engine("jsonc")
COMMENTS = re.compile(r'"(?:[^"\\]|\\.)*"|(//[^\r\n]*|/\*[\s\S]*?\*/)')
NULLABLE = laws.SCALARS | st.none()
DATA = st.recursive(
    NULLABLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(laws.WORDS, inner, max_size=4),
    max_leaves=10,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """An object with any blanks, line ends, comments, trailing commas and duplicate keys."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    untidy = draw(st.booleans())
    unit = draw(st.sampled_from(["  ", "    ", "\t", ""]))
    trailing = draw(st.booleans())

    def gap(depth: int) -> str:
        tidy = newline + unit * depth
        if not untidy:
            return tidy
        pieces = draw(st.lists(st.sampled_from([" ", tidy, "\n", "\t", "/* , } */", f'// ] "{newline}']), max_size=3))
        return "".join(pieces)

    def write(value: Any, depth: int) -> str:
        if not isinstance(value, (dict, list)):
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        left, right = "{}" if isinstance(value, dict) else "[]"
        if not value:
            return left + (gap(depth) if untidy else "") + right
        inline = not untidy and draw(st.booleans())
        entries = list(value.items()) if isinstance(value, dict) else [(None, item) for item in value]
        if untidy and isinstance(value, dict) and draw(st.booleans()):
            entries.insert(0, (entries[-1][0], draw(NULLABLE)))
        texts = []
        for key, item in entries:
            lead = "" if inline else gap(depth + 1)
            name = "" if key is None else json.dumps(key) + (gap(depth) if untidy else "") + ": "
            texts.append(lead + name + write(item, depth + 1) + (gap(depth) if untidy else ""))
        end = "," if trailing and not inline else ""
        return left + (", " if inline else ",").join(texts) + end + ("" if inline else gap(depth)) + right

    start = draw(st.sampled_from(["", "", newline, f"// start{newline}"]))
    root = draw(st.dictionaries(laws.WORDS, DATA, min_size=1, max_size=4))
    return draw(st.sampled_from(["", "\ufeff"])) + start + write(root, 0) + draw(st.sampled_from(["", newline]))


def comments(text: str) -> list[str]:
    return [found.rstrip() for found in COMMENTS.findall(text) if found]


@laws.PATIENTLY
@given(documents(), st.data(), laws.OURS)
def test_put_sets_one_value_and_keeps_every_comment(text: str, data: st.DataObject, value: Any) -> None:
    edited = laws.check_put(ENGINE, text, laws.draw_new_path(data, ENGINE.read(text)), value)
    assert comments(edited) == comments(text)
    assert edited.startswith("\ufeff") == text.startswith("\ufeff")


@laws.PATIENTLY
@given(documents(), st.data(), laws.OURS)
def test_put_keeps_every_character_and_drop_undoes_it(text: str, data: st.DataObject, value: Any) -> None:
    path = laws.draw_new_path(data, ENGINE.read(text), filled=True)
    edited = ENGINE.put(text, path, value)
    laws.check_only_added(text, edited)
    assert ENGINE.drop(edited, path, prune=True) == text


@laws.PATIENTLY
@given(documents(), st.data(), laws.OURS)
def test_append_keeps_every_character_and_drop_item_undoes_it(text: str, data: st.DataObject, value: Any) -> None:
    laws.check_append(ENGINE, text, data, value)


@laws.PATIENTLY
@given(documents(), st.data())
def test_drop_removes_one_entry_and_keeps_every_comment_beside_it(text: str, data: st.DataObject) -> None:
    document = ENGINE.read(text)
    key = data.draw(st.sampled_from(sorted(document)))
    assume(document[key] is not None)
    edited = laws.check_drop(ENGINE, text, [key])
    assert ENGINE.read(edited) == {other: value for other, value in document.items() if other != key}
    if not isinstance(document[key], (dict, list)) and not re.search(r'"\s*(//|/\*)', text):
        assert comments(edited) == comments(text)


@laws.PATIENTLY
@given(documents(), st.data(), laws.OURS)
def test_put_over_a_value_changes_only_its_text(text: str, data: st.DataObject, value: Any) -> None:
    document = ENGINE.read(text)
    key = data.draw(st.sampled_from(sorted(document)))
    edited = laws.check_put(ENGINE, text, [key], value)
    if not isinstance(document[key], (dict, list)):
        assert comments(edited) == comments(text)


@pytest.mark.parametrize("format", ["json", "jsonc"])
@given(text=st.text(st.sampled_from('{}[]",:/*\\ \n1ab'), max_size=12))
def test_any_text_is_edited_or_refused_with_a_reason(format: str, text: str) -> None:
    try:
        edited = engine(format).put(text, ["a", "b"], 1)
    except Unparsable as error:
        assert error.message
    else:
        assert engine(format).read(edited)["a"]["b"] == 1


@laws.PATIENTLY
@given(documents(), st.data())
def test_a_damaged_file_is_edited_correctly_or_refused_with_a_reason(text: str, data: st.DataObject) -> None:
    laws.check_refusal(ENGINE, text, data)
