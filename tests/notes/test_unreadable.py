"""A file that is not a note is refused with the line and the reason, in one sentence and one hint."""

from __future__ import annotations

import subprocess
import sys

import pytest

from anamnesis.errors import AnamnesisError, InvalidNote
from anamnesis.notes import decode, parse

HEAD = "---\nid: a\ntype: semantic\ntitle: t\n"


def read(data: str | bytes) -> None:
    parse(decode(data if isinstance(data, bytes) else data.encode()))


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        ("# My notes\n\nHello.\n", 1, "memory file missing YAML front-matter"),
        ("", 1, "memory file missing YAML front-matter"),
        ("----\nid: a\n", 1, "memory file missing YAML front-matter"),
        (HEAD, 1, "The front matter is not closed."),
        (HEAD + "----\n", 1, "The front matter is not closed."),
        ("---\n- a\n- b\n---\n", 2, "The front matter is not made of `key: value` lines."),
        ("---\njust words\n---\n", 2, "The front matter is not made of `key: value` lines."),
        ("---\n---\nbody", 2, "The front matter has no id."),
        ("\n\n---\ntype: semantic\ntitle: t\n---\n", 4, "The front matter has no id."),
        ("---\nid: a\ntype: semantic\ntitle:\n---\n", 2, "The front matter has no title."),
        ("---\nid: a\ntype: semantic\ntitle: null\n---\n", 2, "The front matter has no title."),
        ("---\nid: a\ntitle: t\n---\n", 2, "The front matter has no type."),
        (HEAD + "confidence: high\n---\n", 5, "confidence 'high' is not a number."),
        (HEAD + "\n# x\nconfidence: 0,8\n---\n", 7, "confidence '0,8' is not a number."),
        (HEAD + "confidence: [1]\n---\n", 5, "confidence must be one value."),
        (HEAD + "project: {a: b}\n---\n", 5, "project must be one value."),
        (HEAD + "tags: {a: b}\n---\n", 5, "tags must be a list of words."),
        (HEAD + "tags: [[a]]\n---\n", 5, "tags must be a list of words."),
        (HEAD + "supersedes: [{a: b}]\n---\n", 5, "supersedes must be a list of words."),
        (
            "---\nid: a\n<<<<<<< HEAD\ntitle: one\n=======\ntitle: two\n>>>>>>> theirs\n---\n",
            3,
            "The front matter holds git conflict markers.",
        ),
        (HEAD + "x: [1\n---\n", 6, "The front matter cannot be read:"),
        (HEAD + "x: a: b\ny: 1\n---\n", 5, "The front matter cannot be read:"),
        (HEAD + "\tx: 1\n---\n", 5, "The front matter cannot be read:"),
        (HEAD + "x: *unknown\n---\n", 5, "The front matter cannot be read:"),
        (HEAD + "...\nx: 1\n---\n", 6, "The front matter cannot be read:"),
        (HEAD + "x: a\x01b\ny: 1\n---\n", 5, "The front matter cannot be read:"),
        (HEAD + "x: a\0b\n---\n", 5, "The front matter cannot be read:"),
        (HEAD.encode() + b"x: \xff\n---\n", 5, "The file is not UTF-8 text."),
        (HEAD.encode() + b"---\nbody\n\xe9t\xe9\n", 7, "The file is not UTF-8 text."),
        (HEAD.encode("utf-16"), 1, "The file is not UTF-8 text."),
    ],
)
def test_each_unreadable_form_names_its_line_and_its_reason(data: str | bytes, line: int, message: str) -> None:
    with pytest.raises(InvalidNote) as caught:
        read(data)
    assert caught.value.message.startswith(message)
    assert caught.value.line == line


def test_a_control_character_behind_accents_names_its_own_line() -> None:
    text = HEAD + f"x: {'é' * 50}\nbell: \x07\n" + "y: 1\n" * 20 + "---\n"
    with pytest.raises(InvalidNote) as caught:
        read(text)
    assert caught.value.line == 6


def test_a_broken_line_of_a_crlf_file_is_counted_as_an_editor_counts_it() -> None:
    with pytest.raises(InvalidNote) as caught:
        read((HEAD + "x: a: b\n---\n").replace("\n", "\r\n"))
    assert caught.value.line == 5


@pytest.mark.parametrize("data", ["# README\n", HEAD, HEAD + "x: [1\n---\n", HEAD + "confidence: high\n---\n"])
def test_the_reason_is_one_line_of_text(data: str) -> None:
    with pytest.raises(AnamnesisError) as caught:
        read(data)
    assert "\n" not in str(caught.value)
    assert 10 < len(str(caught.value)) < 200


NESTED = """
import sys
from anamnesis.errors import InvalidNote
from anamnesis.notes import parse, render
depth, form = int(sys.argv[1]), sys.argv[2]
value = {"block": "- " * depth, "flow": "[" * depth + "]" * depth, "mapping": "{a: " * depth + "}" * depth}
try:
    memory = parse(form.format(**value))
except InvalidNote as error:
    print(error)
else:
    assert parse(render(memory)) == memory
    print("read")
"""


@pytest.mark.parametrize("depth", [100, 100_000])
@pytest.mark.parametrize(
    "form",
    [
        HEAD + "x: {flow}\n---\n",
        HEAD + "x: {mapping}\n---\n",
        HEAD + "x:\n{block}\n---\n",
        "---\n{{id: a, type: semantic, title: t, x: {flow}}}\n---\n",
    ],
)
def test_no_depth_of_nesting_brings_the_process_down(depth: int, form: str) -> None:
    done = subprocess.run([sys.executable, "-c", NESTED, str(depth), form], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ("read" if depth == 100 else "The front matter is nested too deeply.")
