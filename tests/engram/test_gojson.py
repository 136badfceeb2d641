"""JSON is written and read as by Go's encoding/json, whose own output is in `golden/gojson.jsonl`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.engram.gojson import InvalidJSON, dumps, loads

GO = [json.loads(line) for line in (Path(__file__).parent / "golden/gojson.jsonl").read_bytes().splitlines()]


@dataclass(frozen=True, slots=True)
class Part:
    kind: str
    size: int


@dataclass(frozen=True, slots=True)
class Body:
    id: str
    project: str | None
    count: int
    rank: float
    is_kept: bool
    parts: list[Part]


@dataclass(frozen=True, slots=True)
class Filled:
    """Go leaves an optional text out and writes every other None."""

    left_out: str | None
    kept: Part | None
    empty: tuple[Part, ...]


@pytest.mark.parametrize("line", [line for line in GO if "float" in line], ids=lambda line: line["written"])
def test_a_float_is_written_as_go_writes_it(line: dict[str, str]) -> None:
    assert dumps(float.fromhex(line["float"])).decode() == line["written"]


@pytest.mark.parametrize("line", [line for line in GO if "string" in line], ids=lambda line: line["string"])
def test_a_text_is_escaped_as_go_escapes_it(line: dict[str, str]) -> None:
    text = bytes.fromhex(line["string"]).decode("utf-8", "surrogateescape")
    assert dumps(text).decode() == line["written"]


@pytest.mark.parametrize("line", [line for line in GO if "body" in line], ids=lambda line: line["body"][:60])
@pytest.mark.parametrize("alone", [False, True], ids=["first", "alone"])
def test_a_body_is_read_as_go_reads_it(line: dict[str, Any], alone: bool) -> None:
    expected = line.get("alone" if alone else "first")
    try:
        read = loads(bytes.fromhex(line["body"]), Body, alone=alone)
    except InvalidJSON as error:
        assert expected is None, error
    else:
        assert expected is not None, read
        parts = [Part(**part) for part in expected.pop("parts") or []]
        assert read == Body(**expected, parts=parts)


def test_what_is_left_out_and_what_is_null() -> None:
    assert dumps(Filled(None, None, ())) == b'{"kept":null,"empty":null}'
    assert dumps(Filled("", Part("k", 1), ())) == b'{"left_out":"","kept":{"kind":"k","size":1},"empty":null}'
    assert dumps({"b": [1, True], "a": {}}) == b'{"a":{},"b":[1,true]}'


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner))
)
def test_what_is_written_is_json_of_the_same_value(value: Any) -> None:
    assert json.loads(dumps(value)) == value


@given(st.binary())
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        assert isinstance(loads(data, Body), Body)
    except InvalidJSON as error:
        assert str(error)


def test_deep_nesting_is_refused_not_fatal() -> None:
    with pytest.raises(InvalidJSON, match="nested too deeply"):
        loads(b'{"x":' + b"[" * 100_000, Body)


def test_a_number_of_many_digits_costs_nothing() -> None:
    assert loads(b'{"x":' + b"9" * 1_000_000 + b',"id":"a"}', Body).id == "a"
