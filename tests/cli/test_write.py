"""`anamnesis write` reports decoding and redaction, refuses binary input, and warns about likely mistakes."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys

import pytest
from tests.cli.command import Command

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    ("data", "body", "says"),
    [
        ("Grüße, ☃\n".encode(), "Grüße, ☃", ""),
        (b"caf\xe9 \x93quoted\x94", "café “quoted”", "The text is not UTF-8; it was read as Latin-1.\n"),
        (b"\xef\xbb\xbfwith a mark", "with a mark", ""),
        ("Grüße".encode("utf-16"), "Grüße", "The text is not UTF-8; it was read as UTF-16.\n"),
        ("Grüße ☃".encode()[:-1], "Grüße \ufffd", "1 part of the text is not UTF-8; it was replaced by \ufffd.\n"),
        (
            "Grüße \xff".encode() + b"\xff x \xfe",
            "Grüße ÿ\ufffd x \ufffd",
            "2 parts of the text are not UTF-8; they were replaced by \ufffd.\n",
        ),
        (b"a \x1b[31mred\x1b[0m log\n", "a \x1b[31mred\x1b[0m log", ""),
    ],
)
def test_text_in_another_encoding_is_decoded_and_reported(
    anamnesis: Command, data: bytes, body: str, says: str
) -> None:
    done = anamnesis("write", "Title", "--json", stdin=data)
    assert (done.code, done.err) == (0, says)
    assert done.json["body"] == body


def test_arguments_in_another_encoding_are_decoded_and_reported(anamnesis: Command) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "anamnesis", "write", b"caf\xe9", b"Stra\xdfe", "--json"],
        env=anamnesis.variables,
        capture_output=True,
        check=True,
    )
    assert '"title": "café"'.encode() in done.stdout
    assert "Straße".encode() in done.stdout
    assert done.stderr == b"The text is not UTF-8; it was read as Latin-1.\n"


@pytest.mark.parametrize("data", [b"\x00\x01\x02", b"text\x00text", gzip.compress(os.urandom(2000)), b"\xff\xfe\x00"])
def test_binary_input_is_refused(anamnesis: Command, data: bytes) -> None:
    for arguments in (["write", "Title"], ["write"]):
        done = anamnesis(*arguments, stdin=data)
        assert (done.code, done.out) == (1, "")
        assert done.err == "anamnesis: The input is binary, not text. Give the note as text.\n"
    assert anamnesis("list").out == ""


def test_a_title_has_at_most_300_characters(anamnesis: Command) -> None:
    assert anamnesis("write", "é" * 300, "body").code == 0
    done = anamnesis("write", "é" * 301, "body")
    assert (done.code, done.out) == (1, "")
    assert done.err == "anamnesis: The title has 301 characters, and 300 are allowed. Put the rest into the body.\n"


def test_a_long_first_line_is_cut_for_the_title_and_kept_in_the_body(anamnesis: Command) -> None:
    line = "word " * 100
    done = anamnesis("write", "--json", stdin=f"# {line}\nThe rest.\n")
    assert done.err == "The first line has 499 characters; the title is its beginning, the body has all of it.\n"
    assert done.json["title"] == f"{'word ' * 59}word…"
    assert done.json["body"] == f"{line.strip()}\nThe rest."


def test_an_exact_duplicate_is_written_with_a_warning(anamnesis: Command) -> None:
    first = anamnesis("write", "Title", f"with {TOKEN}").out.strip()
    anamnesis("write", "Title", "another text")
    done = anamnesis("write", "Title", f"with {TOKEN}")
    second = done.out.strip()
    assert done.err == (
        "Redacted before it was stored: github-token.\n"
        f"1 note has the same title and text: {first}. To remove this one: anamnesis delete {second}\n"
    )
    third = anamnesis("write", "Title", f"with {TOKEN}", "--supersedes", first)
    assert f"1 note has the same title and text: {second}." in third.err


def test_superseding_names_a_guess_and_refuses_an_unknown_note(anamnesis: Command) -> None:
    old = anamnesis("write", "Old way", "body").out.strip()
    assert anamnesis("write", "New way", "body", "--supersedes", old).err == ""
    guessed = anamnesis("write", "Newer way", "body", "--supersedes", "new way", "--json")
    assert guessed.err == f"It supersedes {guessed.json['supersedes']} (New way).\n"
    nothing = anamnesis("write", "Newest", "body", "--supersedes", "01NOTHING")
    assert (nothing.code, nothing.out) == (1, "")
    assert nothing.err == "anamnesis: No note has the id 01NOTHING. `anamnesis list` shows the ids.\n"
    assert len(anamnesis("list", "--json").json) == 3
