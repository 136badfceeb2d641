"""Plain text keeps everything except characters that control a terminal, reorder a line or are hidden."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import superlinear

from anamnesis.plain import bare_lines, escaped, one_line, plain

HOSTILE = "\x1b\x9b\x07\x08\r\v\f\x85\u202e\u2066\u2069\u200b\u200d\ufe0f\u2028\U000e0041\udc9b\n\t<> aé👨"
TEXTS = st.text(st.characters() | st.sampled_from(HOSTILE), max_size=60)
HIDDEN_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")


def is_hidden(character: str) -> bool:
    return unicodedata.category(character) in HIDDEN_CATEGORIES and character not in "\n\t"


def test_every_control_and_format_character_of_unicode_is_removed() -> None:
    """So are variation selectors and tag characters, which can smuggle text."""
    smuggling = [*range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000)]
    gone = [chr(code) for code in range(sys.maxunicode + 1) if is_hidden(chr(code))] + [chr(code) for code in smuggling]
    assert [hex(ord(each)) for each in gone if plain(f"a{each}b") not in ("ab", "a b", "a\ufffdb")] == []
    assert [hex(ord(each)) for each in gone if one_line(f"a{each}b", 9) not in ("ab", "a b", "a\ufffdb")] == []


@pytest.mark.parametrize(
    "text",
    [
        "two\nlines\tand a tab\r\n",
        "👨‍👩‍👧 ❤️‍🔥 1️⃣ ©️ ☎︎ 🇩🇪",
        "שלום عالم می‌خواهم क्‍ष",
        "naïve café – “quoted” … 日本語",
    ],
)
def test_ordinary_text_of_any_script_is_unchanged(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x9b31mred", "31mred"),
        ("\x1b]52;c;cm0gLXJm\x07", "]52;c;cm0gLXJm"),
        ("safe\rrm -rf", "safe rm -rf"),
        ("one\u2028two\x85three\vfour", "one two three four"),
        ("abc\u202egnp.exe", "abcgnp.exe"),
        ("pass\u200dword ad\ufe0fmin", "password admin"),
        ("👨\u200d\u200d👩\ufe0f\ufe0f", "👨👩\ufe0f"),
        ("caf\udce9", "caf\ufffd"),
    ],
)
def test_control_sequences_and_hidden_characters_are_removed(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(TEXTS)
def test_plain_is_idempotent_and_leaves_nothing_hidden(text: str) -> None:
    shown = plain(text)
    kept = "\r\u200c\u200d"
    assert [each for each in shown if is_hidden(each) and each not in kept] == []
    assert shown.replace("\r\n", "").count("\r") == 0
    assert plain(shown) == shown
    shown.encode()


@given(TEXTS)
def test_lines_for_a_model_contain_nothing_hidden_and_no_line_end(text: str) -> None:
    for line in bare_lines(text):
        assert line.splitlines() in ([], [line])
        assert not any(is_hidden(each) for each in line)


@given(TEXTS, st.integers(2, 30))
def test_one_line_has_no_line_end_and_respects_the_limit(text: str, longest: int) -> None:
    line = one_line(text, longest)
    assert len(line) <= longest
    assert line.splitlines() in ([], [line])
    assert line == line.strip()
    assert "\t" not in line


@given(st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)))
def test_escaped_json_has_the_same_value_and_hides_nothing(value: object) -> None:
    shown = escaped(json.dumps(value, ensure_ascii=False, indent=2))
    assert json.loads(shown) == value
    assert plain(shown) == shown


@pytest.mark.parametrize("piece", ["\x1b", "\u200d", "👨\u200d", "\r", "\x85", "ordinary wörds\n"])
def test_the_time_grows_linearly_with_the_length(piece: str) -> None:
    assert not superlinear(lambda text: (plain(text), bare_lines(text)), lambda size: piece * (size // len(piece)))
