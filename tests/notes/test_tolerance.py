"""Forms that people and editors write are read as intended."""

from __future__ import annotations

import pytest

from anamnesis.notes import Memory, decode, parse, render

MINIMAL = Memory("a", "semantic", "t", "body")


def front(*lines: str) -> str:
    return "\n".join(["---", "id: a", "type: semantic", "title: t", *lines, "---", "body", ""])


def test_a_note_of_id_type_and_title_has_the_defaults_for_the_rest() -> None:
    assert parse(front()) == MINIMAL


def test_keys_without_a_value_have_their_defaults() -> None:
    empty = ("project:", "machine_id: ~", "tags:", "confidence: null", "supersedes:", "created_at:")
    assert parse(front(*empty)) == MINIMAL


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\ufeff" + front(), id="byte order mark"),
        pytest.param("\n \n\n" + front(), id="blank lines before"),
        pytest.param("\ufeff\r\n" + front(), id="mark and blank line"),
        pytest.param(front().replace("---\n", "---  \t\n"), id="blanks behind the delimiters"),
        pytest.param("---\n{id: a, type: semantic, title: t}\n---\nbody\n", id="flow mapping"),
        pytest.param("---\n{\n  id: a, type: semantic,\n  title: t\n}\n---\nbody\n", id="flow on many lines"),
        pytest.param("---\n  id: a\n  type: semantic\n  title: t\n---\nbody\n", id="indented mapping"),
        pytest.param('---\n"id": a\n\'type\': "semantic"\ntitle: >-\n  t\n---\nbody\n', id="other quotes"),
        pytest.param("---\ntitle: t\ntype: semantic\nid: a\n---\nbody\n", id="another order"),
        pytest.param("---\nid: &x a\ntype: semantic\ntitle: t\n---\nbody\n", id="anchor"),
        pytest.param(front().removesuffix("\n"), id="no newline at the end"),
    ],
)
def test_unusual_forms_of_the_same_note_are_the_same_note(text: str) -> None:
    memory = parse(text)
    assert memory == MINIMAL


def test_a_closing_delimiter_at_the_end_of_the_file_leaves_an_empty_body() -> None:
    assert parse("---\nid: a\ntype: semantic\ntitle: t\n---") == Memory("a", "semantic", "t", "")


def test_a_delimiter_inside_a_block_of_text_does_not_close_the_front_matter() -> None:
    memory = parse("---\nid: a\ntype: semantic\ntitle: |-\n  one\n  ---\n  two\n---\nbody\n")
    assert memory.title == "one\n---\ntwo"


def test_only_the_first_closing_delimiter_counts() -> None:
    assert parse(front() + "---\nmore\n").body == "body\n---\nmore"


@pytest.mark.parametrize(
    ("written", "stamp"),
    [
        ("2026-06-24T18:33:07+00:00", "2026-06-24T18:33:07+00:00"),
        ("2026-06-24T18:33:07", "2026-06-24T18:33:07+00:00"),
        ("2026-06-24 18:33:07", "2026-06-24T18:33:07+00:00"),
        ("2026-06-24T18:33:07Z", "2026-06-24T18:33:07+00:00"),
        ("2026-06-24T20:33:07+02:00", "2026-06-24T18:33:07+00:00"),
        ("2026-06-24 20:33:07+02:00", "2026-06-24T18:33:07+00:00"),
        ("'2026-06-24 18:33'", "2026-06-24T18:33:00+00:00"),
        ("2026-06-24", "2026-06-24T00:00:00+00:00"),
        ("some day", "some day"),
    ],
)
def test_a_time_without_quotes_is_normalised_to_utc(written: str, stamp: str) -> None:
    memory = parse(front(f"created_at: {written}", f"updated_at: {written}"))
    assert (memory.created_at, memory.updated_at) == (stamp, stamp)


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("tags: foo", ["foo"]),
        ("tags: css, grid ,layout", ["css", "grid", "layout"]),
        ("tags: [css, grid]", ["css", "grid"]),
        ("tags: [1, 2.50, yes, 2026-01-01]", ["1", "2.50", "yes", "2026-01-01"]),
        ("tags: 7", ["7"]),
        ("tags: [a, ~, '', a]", ["a"]),
        ("tags: []", []),
        ("tags: ''", []),
        ("tags:\n- a, b\n- c", ["a, b", "c"]),
        ("tags:\n  - indented\n  - items", ["indented", "items"]),
    ],
)
def test_tags_may_be_written_in_any_of_the_usual_ways(line: str, tags: list[str]) -> None:
    assert parse(front(line)).tags == tags


@pytest.mark.parametrize("title", ["1.10", "yes", "0x1F", "2026-06-24", "null and void", "1e3", "~ish"])
def test_a_title_is_the_text_as_written_not_what_yaml_makes_of_it(title: str) -> None:
    assert parse(f"---\nid: a\ntype: semantic\ntitle: {title}\n---\n").title == title


@pytest.mark.parametrize(
    ("line", "supersedes"),
    [("supersedes: x", "x"), ("supersedes: [x]", "x"), ("supersedes:\n- x\n- y", ["x", "y"])],
)
def test_supersedes_may_be_one_id_or_a_list(line: str, supersedes: str | list[str]) -> None:
    assert parse(front(line)).supersedes == supersedes


@pytest.mark.parametrize(("text", "number"), [("0.8", 0.8), ("1", 1.0), ("'0.5'", 0.5), ("1e-3", 0.001)])
def test_confidence_may_be_any_number(text: str, number: float) -> None:
    assert parse(front(f"confidence: {text}")).confidence == number


CRLF = render(Memory("a", "semantic", "t", "one\r\n\r\n---\r\ntwo", tags=["x"])).replace("\n", "\r\n")
CRLF = CRLF.replace("\r\r", "\r")


def test_a_file_of_crlf_lines_is_rewritten_byte_for_byte() -> None:
    memory = parse(decode(CRLF.encode()))
    assert memory.body == "one\r\n\r\n---\r\ntwo"
    assert render(memory) == CRLF


@pytest.mark.parametrize("body", ["one\r\ntwo\n", "one\rtwo\r", "\r\n", "a\n\r\n"])
def test_a_body_of_mixed_line_ends_under_lf_front_matter_keeps_them(body: str) -> None:
    text = render(MINIMAL).removesuffix("body\n") + body + "\n"
    assert render(parse(text)) == text


def test_foreign_lines_of_a_crlf_file_stay_crlf() -> None:
    text = CRLF.replace("title: t\r\n", "title: t\r\n# mine\r\naliases:\r\n- z\r\n")
    assert render(parse(text)) == text
