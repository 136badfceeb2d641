"""parse(render(note)) is the note, whatever its texts hold."""

from __future__ import annotations

import contextlib
import datetime

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from anamnesis.errors import InvalidNote
from anamnesis.notes import Memory, decode, parse, render

ANY_TEXT = st.text(st.characters())
TRICKY = st.text(st.sampled_from("ab -:#'\"|>?&*!%@`[]{},\t\n\r\v\f\x00\x07\x1b\x85\u2028\u2029\ufeff\ufffe😀é~"))
TEXT = ANY_TEXT | TRICKY
LINES = st.lists(
    st.sampled_from(["---", "--- ", "---\r", "...", "", "- x", "a: b", "=======", "<<<<<<< HEAD"]) | TEXT,
    max_size=6,
)
BODY = st.one_of(TEXT, LINES.map("\n".join), LINES.map("\r\n".join))
OFFSETS = st.integers(-720, 720).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime.datetime(2, 1, 1), datetime.datetime(9998, 1, 1), timezones=OFFSETS)
TIME = MOMENTS.map(datetime.datetime.isoformat) | TEXT

ALWAYS_WRITTEN = ("", "id", "type", "title", "project", "confidence", "created_at", "updated_at", "tags")
PRINTABLE = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=20)
FOREIGN_VALUE = st.recursive(
    PRINTABLE | st.integers() | st.booleans() | st.none() | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PRINTABLE, inner, max_size=3),
    max_leaves=5,
)
FOREIGN_ENTRY = st.builds(
    lambda name, value, unicode: str(yaml.safe_dump({name: value}, allow_unicode=unicode)),
    PRINTABLE.map("x_{}".format),
    FOREIGN_VALUE,
    st.booleans(),
)
COMMENT = PRINTABLE.map("#{}\n".format)
EXTRA = st.dictionaries(
    st.sampled_from(ALWAYS_WRITTEN), st.lists(FOREIGN_ENTRY | COMMENT, min_size=1, max_size=3).map("".join)
)

MEMORIES = st.builds(
    Memory,
    id=TEXT,
    type=TEXT,
    title=TEXT,
    body=BODY,
    project=TEXT,
    machine_id=TEXT,
    scope=st.sampled_from(["portable", "machine-local"]),
    tags=st.lists(TEXT, max_size=4),
    created_at=TIME,
    updated_at=TIME,
    prov_source=TEXT,
    prov_model=TEXT,
    prov_session=TEXT,
    confidence=st.floats(allow_nan=False, allow_infinity=False),
    supersedes=TEXT | st.lists(TEXT, max_size=3),
    engram=st.dictionaries(
        st.sampled_from(["type", "scope", "topic_key", "revision_count", "x"]),
        TEXT | st.integers(-(10**17), 10**17) | st.none() | st.sampled_from(["7", "null", "2026-01-01 10:00:00"]),
    ),
    newline=st.sampled_from(["\n", "\r\n"]),
)


@given(MEMORIES)
@example(Memory("a", "semantic", "t", ""))
@example(Memory("a", "semantic", "t", "---\nid: b\n---\n"))
@example(Memory("a", "semantic", "t", "\n\n\n"))
@example(Memory("a", "semantic", "t", "one\r\ntwo\r\n", newline="\r\n"))
@example(Memory("a", "semantic", "---\n", "b", tags=["---", "- a", "a, b"]))
def test_every_note_comes_back_as_it_was(memory: Memory) -> None:
    assert parse(decode(render(memory).encode())) == memory


@given(MEMORIES)
def test_a_note_read_and_written_again_is_the_same_file(memory: Memory) -> None:
    text = render(memory)
    assert render(parse(text)) == text


@given(extra=EXTRA, title=TEXT, newline=st.sampled_from(["\n", "\r\n"]))
def test_foreign_lines_come_back_where_they_were(extra: dict[str, str], title: str, newline: str) -> None:
    memory = Memory("a", "semantic", title, "b", tags=["c"], extra=extra, newline=newline)
    assert parse(render(memory)) == memory


@pytest.mark.parametrize("body", ["x" * 1_000_000, "é😀\r\n---\n" * 100_000, "\n" * 1_000_000])
def test_a_body_of_a_megabyte_comes_back_whole(body: str) -> None:
    memory = Memory("a", "semantic", "t", body)
    assert parse(render(memory)) == memory


@given(st.text() | TRICKY)
def test_whatever_a_file_holds_it_is_a_note_or_an_invalid_note(text: str) -> None:
    for file in (text, f"---\n{text}\n---\n", f"---\nid: a\ntype: b\ntitle: c\n{text}\n---\n"):
        with contextlib.suppress(InvalidNote):
            parse(file)
