"""Texts are treated as by Go: the expectations were printed by Go."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.engram import normal, strings

BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2005\u200a\u2028\u2029\u202f\u205f\u3000"
NO_BLANKS = "\x1c\x1d\x1e\x1f\u180e\u200b\u2060\ufeff\0"


@pytest.mark.parametrize("blank", BLANKS)
def test_these_are_blanks(blank: str) -> None:
    assert strings.fields(f"x{blank}y") == ["x", "y"]
    assert strings.trim_space(f"{blank}x{blank}") == "x"


@pytest.mark.parametrize("character", NO_BLANKS)
def test_these_are_none(character: str) -> None:
    assert strings.fields(f" x{character}y ") == [f"x{character}y"]
    assert strings.trim_space(character) == character


@pytest.mark.parametrize(
    ("text", "lower"),
    [
        ("ΑΣ ΣΑΣ", "ασ σασ"), ("İI", "ii"), ("ẞß", "ßß"), ("K", "k"), ("ǅ", "ǆ"), ("Ა", "ა"), ("ABC é", "abc é"),
        ("É\udcc3", "é\ufffd"), ("A\udcff\udcfeB", "a\ufffd\ufffdb"),
    ],
)  # fmt: skip
def test_lower_case_is_made_of_each_character_by_itself(text: str, lower: str) -> None:
    assert strings.to_lower(text) == lower


@given(st.text())
def test_lower_case_stays_lower_case_and_valid_text_valid(text: str) -> None:
    lower = strings.to_lower(text)
    assert strings.to_lower(lower) == lower
    assert strings.valid(lower) == lower
    lower.encode()


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 40))
def test_a_cut_text_fits_is_a_beginning_and_splits_no_character(text: str, limit: int) -> None:
    cut = strings.cut(text, limit)
    assert text.startswith(cut)
    assert len(cut.encode()) <= limit
    assert cut == text or len(text[: len(cut) + 1].encode()) > limit


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(-3, 3))
def test_a_stored_content_is_whole_or_marked_as_cut(filler: str, more: int) -> None:
    text = filler * (normal.MOST_BYTES // len(filler.encode()) + more)
    stored = normal.to_size(text)
    if len(text.encode()) <= normal.MOST_BYTES:
        assert stored == text
    else:
        kept = stored.removesuffix("... [truncated]")
        assert text.startswith(kept) and kept != stored
        assert normal.MOST_BYTES - 4 < len(kept.encode()) <= normal.MOST_BYTES


@given(
    st.lists(st.text(st.characters(exclude_categories=("Cs", "Zs", "Cc", "Zl", "Zp")), min_size=1)),
    st.sampled_from(BLANKS),
)
def test_a_hash_does_not_depend_on_blanks(words: list[str], blank: str) -> None:
    assert normal.content_hash(blank.join(words)) == normal.content_hash("  ".join(["", *words, ""]))


def test_a_hash_is_that_of_the_lower_case_words() -> None:
    assert normal.content_hash(" Foo\n  BAR Σ") == hashlib.sha256("foo bar σ".encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <private>k</private> b", "a [REDACTED] b"), ("<PRIVATE>x\ny</Private>", "[REDACTED]"),
        ("<private>a</private><private>b</private>", "[REDACTED][REDACTED]"), ("<private>open", "<private>open"),
        ("<prıvate>x</prıvate>", "<prıvate>x</prıvate>"), ("\u00a0 x\t", "x"), ("<private></private>", "[REDACTED]"),
    ],
)  # fmt: skip
def test_what_is_private_is_taken_out(text: str, kept: str) -> None:
    assert normal.without_private(text) == kept


@given(st.text(), st.text(st.characters(exclude_characters="<>")), st.text())
def test_nothing_private_is_left(before: str, secret: str, after: str) -> None:
    marked = f"{before}<private>sécret{secret}</private>{after}".replace("sécretsécret", "")
    kept = normal.without_private(marked)
    assert kept.count("sécret") == (before + after).count("sécret")


@given(st.text())
def test_there_are_two_scopes(text: str) -> None:
    assert normal.scope(text) == ("personal" if strings.trim_space(text).lower() == "personal" else "project")


def test_a_shortened_text_has_three_dots() -> None:
    assert strings.shorten("日本語", 3) == "日本語"
    assert strings.shorten("日本語x", 3) == "日本語..."
    assert strings.shorten("a\udcffbc", 2) == "a\ufffd..."
