"""Go's forms of text: quotes that can be read back, and numbers without the forms that only Python accepts."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.engram.gotext import indented, quote, truncated, whole

BYTES = st.binary().map(lambda data: data.decode("utf-8", "surrogateescape"))


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain", '"plain"'),
        ("", '""'),
        ('say "hi" \\ there', r'"say \"hi\" \\ there"'),
        ("it's", '"it\'s"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x1b\x7f", r'"\x00\x1b\x7f"'),
        ("\x80\x9f\xa0\xad", r'"\u0080\u009f\u00a0\u00ad"'),
        ("é ü 日本 😀 ½", '"é ü 日本 😀 ½"'),
        ("\u200b\u2028\u3000\ufeff\ue000", r'"\u200b\u2028\u3000\ufeff\ue000"'),
        ("\U000e0001\U0010ffff", r'"\U000e0001\U0010ffff"'),
        ("e\u0301", '"e\u0301"'),
        ("\ufffd", '"\ufffd"'),
        (b"a\xff\xc3b".decode("utf-8", "surrogateescape"), r'"a\xff\xc3b"'),
    ],
)
def test_a_text_is_quoted_as_go_quotes_it(text: str, quoted: str) -> None:
    assert quote(text) == quoted


@given(st.text())
def test_what_was_quoted_can_be_read_back(text: str) -> None:
    assert ast.literal_eval(quote(text)) == text


@given(BYTES)
def test_a_quoted_text_is_printable_whatever_bytes_it_was_of(text: str) -> None:
    assert quote(text).isprintable()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5),
        ("+5", 5),
        ("-5", -5),
        ("007", 7),
        ("0" * 5000 + "7", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("9" * 5000, None),
        ("", None),
        ("-", None),
        (" 5", None),
        ("5 ", None),
        ("1_000", None),
        ("5.0", None),
        ("0x10", None),
        ("٣", None),
    ],
)
def test_a_number_is_read_as_atoi_reads_it(text: str, number: int | None) -> None:
    assert whole(text) == number


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_number_of_64_bits_is_read(number: int) -> None:
    assert whole(str(number)) == number


def test_a_fraction_goes_towards_zero_and_what_does_not_fit_is_the_least() -> None:
    assert [truncated(each) for each in (1.9, -1.9, 0.0, 1e18)] == [1, -1, 0, 10**18]
    assert {truncated(each) for each in (1e19, -1e19, 2.0**63, float("inf"))} == {-(2**63)}
    assert truncated(-(2.0**63)) == -(2**63)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_json_is_laid_out_as_go_lays_it_out(value: object) -> None:
    """Python's layout with two blanks is Go's; only what stands inside of texts is written differently."""
    compact = json.dumps(value, separators=(",", ":"))
    assert indented(compact.encode()).decode() == json.dumps(value, indent=2)


def test_what_a_text_is_escaped_to_stays() -> None:
    assert indented(b'{"a":"\\u003cb\\u003e, [\\"]","c":[1.5e-7,-1]}') == (
        b'{\n  "a": "\\u003cb\\u003e, [\\"]",\n  "c": [\n    1.5e-7,\n    -1\n  ]\n}'
    )
