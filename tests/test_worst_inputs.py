"""Functions that read external texts take linear time, also for hostile texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.growth import superlinear

from anamnesis.capture import asks
from anamnesis.capture.entries import answers, decode_line, type_of
from anamnesis.capture.readers.gemini import read as read_gemini
from anamnesis.capture.summary import HeuristicSummarizer, is_trivial_session
from anamnesis.capture.transcript import parse_transcript
from anamnesis.engram import gojson, gotext, normal, passive, projects, search, topics
from anamnesis.errors import InvalidNote
from anamnesis.git import _lock_held
from anamnesis.history.diffs import count_lines
from anamnesis.mcp.arguments import checked, parameters, texts
from anamnesis.notes.line_merge import merge_lines
from anamnesis.notes.markdown import decode, named_ids, parse
from anamnesis.notes.redaction import redact
from anamnesis.onboard.formats import engine
from anamnesis.onboard.formats.editing import Unparsable
from anamnesis.recall import query
from anamnesis.web.engram_request import parse_query
from anamnesis.web.engram_write_routes import Learnings
from anamnesis.web.router import clean, escaped_path

Make = Callable[[int], Any]


def repeated(pump: str, before: str = "", after: str = "") -> Make:
    return lambda size: before + pump * (size // len(pump)) + after


def numbered(form: str, before: str = "", after: str = "") -> Make:
    """Texts of different lines, each with its number."""
    return lambda size: before + "".join(form.format(number) for number in range(size // (len(form) + 4))) + after


def cycled(size: int) -> str:
    """A hundred different lines, repeated."""
    return "".join(f"{number % 101}\n" for number in range(size // 3))


def alike(size: int) -> str:
    """Passwords that begin alike."""
    return "".join(f"password=a{'-a' * (number % 60)}9\n" for number in range(size // 70))


def note(text: str) -> object:
    try:
        return parse(text)
    except InvalidNote as error:
        return error


def named(text: str) -> object:
    return named_ids(text.encode())


def settings(format: str) -> Callable[[str], object]:
    def read(text: str) -> object:
        try:
            return engine(format).put(text, ("mcpServers", "anamnesis"), {"command": "x"})
        except Unparsable as error:
            return error

    return read


def similar(name: str) -> object:
    return projects.similar_names(name, [name[::-1], f"x{name}"[:-2], name.upper()])


def merged(text: str) -> object:
    lines = text.split("\n")
    return merge_lines(text, "\n".join(["first", *lines[1:-1:2]]), "\n".join([*lines[::-1], "last"]))


def compared(text: str) -> object:
    return count_lines(text, "\n".join(text.split("\n")[::-1]))


def captured(transcript: str) -> object:
    session = parse_transcript(transcript)
    return is_trivial_session(session), HeuristicSummarizer().summarize(session)


FRONT = "---\nid: a\ntype: semantic\ntitle: t\n"
LIST = parameters(a=texts("A list."))
CLOSED = "</pasted_content>"
CASES: list[tuple[str, Callable[[Any], object], Make]] = [
    ("newlines behind a header", passive.extract, repeated("\n", "## Key Learnings:\nx\n", "x")),
    ("headers", passive.extract, repeated("## Key Learnings:\n")),
    ("headers that end no section", passive.extract, repeated("##\tLearnings:\nx\n")),
    ("a number before newlines", passive.extract, repeated("\n", "## Learnings\n1.")),
    ("items of stars", passive.extract, repeated("**a *b `c ", "## Learnings\n- ")),
    ("opening tags", normal.without_private, repeated("<private>")),
    ("opening and closing tags", normal.without_private, repeated("</private><private>")),
    ("blanks", normal.without_private, repeated(" ", "a", "b")),
    ("a long name", similar, repeated("ab-")),
    ("different names", similar, numbered("{}-")),
    ("dashes", projects.normalise, repeated("-_")),
    ("a title to make a key of", lambda text: topics.suggest("", text, text), repeated("a ")),
    ("a title without a word", lambda text: topics.suggest("", text, text), repeated("- ")),
    ("words to search for", search.match_expression, numbered("{} ")),
    ("quotes to search for", search.match_expression, repeated('" ')),
    ("a number", gotext.whole, repeated("0", "+", "x")),
    ("a quoted text", gotext.quote, repeated('"\\\n')),
    ("unclosed strings", lambda text: gotext.indented(text.encode()), repeated('\\"')),
    ("keys of JSON", lambda text: refused(text.encode()), numbered('"{}":1,', '{"content":"', "}")),
    ("brackets of JSON", lambda text: refused(text.encode()), repeated("[")),
    ("digits of JSON", lambda text: refused(text.encode()), repeated("9", '{"content":', "}")),
    ("words of a query", query.query_terms, numbered("w{} ")),
    ("one word of a query", query.query_terms, repeated("w")),
    ("quotes of a query", query.query_terms, repeated('"')),
    ("quotes in the words of a query", query.query_terms, repeated('w"w ')),
    ("a phrase of a query", query.query_terms, repeated("w ", before='"')),
    ("pasted tags", lambda text: asks.typed_text([text]), repeated('<pasted_content id="')),
    ("pasted tags without quotes", lambda text: asks.typed_text([text]), repeated("<pasted_content id=")),
    ("pastes that are closed", lambda text: asks.typed_text([text]), numbered("<pasted_content id={}>", "", CLOSED)),
    ("reminders", lambda text: asks.typed_text([text]), repeated("<system-reminder>")),
    ("reminders that are closed", lambda text: asks.typed_text([text]), repeated("<reminder></reminder>")),
    ("a line of a transcript", lambda text: (type_of(text), decode_line(text)), lambda size: b'{"a":"\\' * (size // 7)),
    ("a line of blanks", lambda text: (type_of(text), decode_line(text)), lambda size: b" " * size),
    ("results in a line", lambda text: answers(text, b'"id":"', {"x": ""}), lambda size: b'"id":"a"' * (size // 8)),
    ("ids in a file that cannot be read", named, repeated("\n", "id: a", "x")),
    ("brackets in a file that cannot be read", named, repeated("{ ")),
    ("git's errors", _lock_held, repeated("Unable to create '", "", ": File exists")),
    ("front matter with keys of others", note, numbered("k{}: v\n", FRONT, "---\n")),
    ("front matter with comments", note, repeated("# c\n", FRONT, "tags: [a]\n---\n")),
    ("front matter with tags", note, numbered("- t{}\n", FRONT + "tags:\n", "---\n")),
    ("front matter that is nested", note, repeated("[", FRONT + "tags: ", "\n---\n")),
    ("front matter with aliases", note, repeated("- *a\n", FRONT + "x: &a [b]\ny:\n", "---\n")),
    ("front matter that is not closed", note, repeated("--- x\n", "---\n")),
    ("blanks before front matter", note, repeated("\n")),
    ("a note of newlines", lambda text: note(decode(text.encode())), repeated("\n", FRONT + "---\n")),
    ("different passwords", redact, numbered("password=abcdef{}g\n")),
    ("passwords that begin alike", redact, alike),
    ("a long password and its beginnings", redact, repeated("a-", f"password=9{'a-' * 100}\n")),
    ("equal lines on both sides", merged, repeated("a\n")),
    ("different lines on both sides", merged, numbered("line {}\n")),
    ("repeated lines on both sides", merged, cycled),
    ("equal lines of two versions", compared, repeated("a\n")),
    ("repeated lines of two versions", compared, cycled),
    ("different lines of two versions", compared, numbered("line {}\n")),
    ("settings in JSON", settings("jsonc"), repeated("/* ", "{}")),
    ("settings in JSON with a long key", settings("jsonc"), repeated(" ", '{"a"', ": 1}")),
    ("settings in TOML", settings("toml"), repeated("#\n ", "a = 1\n")),
    ("settings in YAML", settings("yaml"), repeated("&", "a: ")),
    ("an address", lambda text: (clean(text), escaped_path(text)), repeated("/..%2f")),
    ("a query in an address", parse_query, numbered("a{}=%20&")),
    ("a list in a text", lambda text: checked("t", LIST, {"a": text}), repeated("[")),
]  # fmt: skip
# Functions that take a microsecond a character get shorter texts.
SLOW = ("front matter", "lines", "settings", "name")


def refused(data: bytes) -> object:
    try:
        return gojson.loads(data, Learnings)
    except gojson.InvalidJSON as error:
        return error


@pytest.mark.parametrize(("call", "make"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_hostile_texts_take_linear_time(
    call: Callable[[Any], object], make: Make, request: pytest.FixtureRequest
) -> None:
    is_slow = any(word in request.node.callspec.id for word in SLOW)
    assert not superlinear(call, make, 62_000 if is_slow else 1_000_000)


@pytest.mark.parametrize("pump", ["\n", "<", '<pasted_content id="', "}", "# ", "a ", "<timestamp>", "[[", '\\"'])
def test_a_transcript_with_a_long_message_takes_linear_time(pump: str, tmp_path: Path) -> None:
    def make(size: int) -> str:
        said = {"type": "user", "sessionId": "s", "message": {"content": f"Fix {pump * (size // len(pump))}"}}
        path = tmp_path / f"{size}.jsonl"
        path.write_text(json.dumps(said) + "\n")
        return str(path)

    assert not superlinear(captured, make)


def test_undoing_messages_of_a_transcript_takes_linear_time(tmp_path: Path) -> None:
    from anamnesis.capture.draft import Draft

    def make(size: int) -> bytes:
        said = b"".join(b'{"type":"user","id":"%d","content":"a"}\n' % number for number in range(size // 80))
        undone = b"".join(b'{"$rewindTo":"%d"}\n' % number for number in reversed(range(size // 80)))
        return said + undone

    assert not superlinear(lambda lines: read_gemini(lines.splitlines(), tmp_path / "x.json", Draft()), make)
