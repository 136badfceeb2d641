"""YAML as people and programs write it: what an edit changes, and what it refuses."""

from __future__ import annotations

import pytest

from anamnesis.onboard.formats import Unparsable, engine

YAML = engine("yaml")
PATH = ("extensions", "anamnesis")
EXTENSION = {
    "name": "anamnesis",
    "type": "stdio",
    "cmd": r"C:\bin\anamnesis.exe",
    "args": ["mcp"],
    "envs": {},
    "enabled": True,
    "timeout": 300,
    "description": "Memory: for agents",
}

GOOSE = """\
# Goose
GOOSE_PROVIDER: "anthropic"   # the one
GOOSE_MODEL: &model claude

extensions:
  # comes with Goose
  developer:
    bundled: true
    enabled: true
    args:
    - --quiet
    name: developer
    # timeout: 300

experiments: {beta: yes}
ALIAS: *model
"""


def test_an_entry_is_added_after_the_last_one_in_the_style_of_the_file() -> None:
    edited = YAML.put(GOOSE, PATH, EXTENSION)
    assert (
        edited
        == """\
# Goose
GOOSE_PROVIDER: "anthropic"   # the one
GOOSE_MODEL: &model claude

extensions:
  # comes with Goose
  developer:
    bundled: true
    enabled: true
    args:
    - --quiet
    name: developer
    # timeout: 300
  anamnesis:
    name: anamnesis
    type: stdio
    cmd: 'C:\\bin\\anamnesis.exe'
    args:
    - mcp
    envs: {}
    enabled: true
    timeout: 300
    description: "Memory: for agents"

experiments: {beta: yes}
ALIAS: *model
"""
    )
    assert YAML.drop(edited, PATH, prune=True) == GOOSE


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("", "a:\n  b: 1\n"),
        ("# mine", "# mine\na:\n  b: 1"),
        ("---\n", "---\na:\n  b: 1\n"),
        ("---", "---\na:\n  b: 1"),
        ("--- # mine\n...\n", "--- # mine\na:\n  b: 1\n...\n"),
        ("~\n", "a:\n  b: 1\n"),
        ("{}\n", "a:\n  b: 1\n"),
        ("x: 1", "x: 1\na:\n  b: 1"),
        ("x: 1\r\n", "x: 1\r\na:\r\n  b: 1\r\n"),
        ("\ufeffx: 1\n", "\ufeffx: 1\na:\n  b: 1\n"),
        ("a:\n", "a:\n  b: 1\n"),
        ("a: # mine\n\nx: 1\n", "a: # mine\n  b: 1\n\nx: 1\n"),
        ("a: null # mine\n", "a: # mine\n  b: 1\n"),
        ("a: {} # mine\n", "a: # mine\n  b: 1\n"),
        ("a: { # mine\n}\n", 'a: { # mine\n  "b": 1\n}\n'),
        ("a: {c: 1} # mine\n", 'a: {c: 1, "b": 1} # mine\n'),
        ("a:\n  {c: 1,\n   d: 2}\n", 'a:\n  {c: 1,\n   d: 2, "b": 1}\n'),
        ("a:\n    c: |\n      text\n\nx: 1\n", "a:\n    c: |\n      text\n    b: 1\n\nx: 1\n"),
        ("a:\n  c: |+\n    text\n\nx: 1\n", "a:\n  c: |+\n    text\n\n  b: 1\nx: 1\n"),
        ("a:\n  c: |\n    text", "a:\n  b: 1\n  c: |\n    text"),
        ("a:\n  c: |\n    text\nd: 1", "a:\n  c: |\n    text\n  b: 1\nd: 1"),
        ("x:\n    y:\n        z: 1\n", "x:\n    y:\n        z: 1\na:\n    b: 1\n"),
        ("a: &x\n  c: 1\n", "a: &x\n  c: 1\n  b: 1\n"),
        ('{"a": {"c": 1}}', '{"a": {"c": 1, "b": 1}}'),
        ("a: {c: 1}\na: {d: 1}\n", 'a: {c: 1}\na: {d: 1, "b": 1}\n'),
    ],
)
def test_put_follows_the_style_of_the_file(text: str, edited: str) -> None:
    assert YAML.put(text, ("a", "b"), 1) == edited


CONTINUE = """\
name: Local Assistant
version: 1.0.0
schema: v1
models:
  - name: Autodetect # any
    provider: ollama
mcpServers:
{servers}rules:
  - "Be brief"
"""


@pytest.mark.parametrize(
    ("servers", "edited"),
    [
        (
            "- name: other\n  command: npx\n",
            "- name: other\n  command: npx\n- name: anamnesis\n  args:\n    - mcp\n",
        ),
        (
            "  - name: other # mine\n    command: npx\n  # - name: off\n",
            "  - name: other # mine\n    command: npx\n  # - name: off\n  - name: anamnesis\n    args:\n      - mcp\n",
        ),
        (
            "  -\n    name: other\n\n",
            "  -\n    name: other\n  - name: anamnesis\n    args:\n      - mcp\n\n",
        ),
        (
            "  [{name: other}] # mine\n",
            '  [{name: other}, {"name": "anamnesis", "args": ["mcp"]}] # mine\n',
        ),
    ],
)
def test_a_server_is_added_to_a_list_however_it_is_written(servers: str, edited: str) -> None:
    text = CONTINUE.format(servers=servers)
    result = YAML.append(text, ("mcpServers",), {"name": "anamnesis", "args": ["mcp"]})
    assert result == CONTINUE.format(servers=edited)
    assert YAML.drop_item(result, ("mcpServers",), 1, prune=True) == text


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("a:\n  b: 1\n", "a: {}\n"),
        ("a: # mine\n  b: 1\nc: 2\n", "a: {} # mine\nc: 2\n"),
        ("a:\n  # mine\n  b:\n    c: 1\n  # ours\n", "a: {}\n  # mine\n  # ours\n"),
        ("a:\n  x: 1\n\n  b: 2 # two\n\n  y: 3\n", "a:\n  x: 1\n\n\n  y: 3\n"),
        ("a:\n  b: |\n    text\n\n    more\n  y: 3\n", "a:\n  y: 3\n"),
        ("a: {x: 1, b: 2}\n", "a: {x: 1}\n"),
        ("a: {b: 2} # mine\n", "a: {} # mine\n"),
        ("a:\n  b: 1\n  b: 2\n  c: 3\n", "a:\n  c: 3\n"),
        ("a:\n  x: |\n    text\n  b: 1", "a:\n  x: |\n    text\n"),
        ("a:\n  x: 0\n  b: 1", "a:\n  x: 0"),
    ],
)
def test_drop_removes_one_entry_and_nothing_beside_it(text: str, edited: str) -> None:
    assert YAML.drop(text, ("a", "b")) == edited


def test_an_element_keeps_its_dash_when_its_first_key_is_removed() -> None:
    assert YAML.drop("a:\n  - b: 1\n    c: 2\n", ("a", 0, "b")) == "a:\n  - c: 2\n"
    assert YAML.drop("a:\n  - b: 1\n", ("a", 0, "b")) == "a:\n  - {}\n"
    with pytest.raises(Unparsable, match="line 2 has a comment that would be lost"):
        YAML.drop("a:\n  - b: 1 # mine\n    c: 2\n", ("a", 0, "b"))


def test_empty_parents_are_removed_only_with_prune_and_without_comments() -> None:
    assert YAML.drop("a:\n  b:\n    c: 1\n", ("a", "b", "c")) == "a:\n  b: {}\n"
    assert YAML.drop("a:\n  b:\n    c: 1\n", ("a", "b", "c"), prune=True) == ""
    assert YAML.drop("a:\n  x: 1\n  b:\n    c: 1\n", ("a", "b", "c"), prune=True) == "a:\n  x: 1\n"
    assert YAML.drop("a: # mine\n  b: 1\n", ("a", "b"), prune=True) == "a: {} # mine\n"
    assert YAML.drop("a:\n  b: 1\n...\n", ("a", "b"), prune=True) == "{}\n...\n"


@pytest.mark.parametrize(
    ("text", "value", "edited"),
    [
        ("a: 1 # c\nb: 2\n", "x", "a: x # c\nb: 2\n"),
        ("a: 1 # c\nb: 2\n", {"x": [1]}, "a: # c\n  x:\n    - 1\nb: 2\n"),
        ("a: # c\n  x: 1\nb: 2\n", 3, "a: 3 # c\nb: 2\n"),
        ("a:\n- 1\n- 2\nb: 2\n", [4], "a:\n- 4\nb: 2\n"),
        ("a: |\n  text\n  more\nb: 2\n", {"x": 1}, "a:\n  x: 1\nb: 2\n"),
        ("a: [1,\n  2] # c\n", {}, "a: {} # c\n"),
        ("? a\n: 1\n", 2, "? a\n: 2\n"),
    ],
)
def test_put_over_a_value_of_another_form(text: str, value: object, edited: str) -> None:
    assert YAML.put(text, ("a",), value) == edited


STRINGS = [
    "C:\\a",
    "it's \\",
    "yes",
    "y",
    "null",
    "1",
    "1e3",
    "0o7",
    "12:30",
    "2001-01-01",
    "- x",
    "a: b",
    "a #b",
    "#",
    "",
    " x ",
]


@pytest.mark.parametrize(
    "value", [*STRINGS, "line\nfeed\r\t", "\x00\x7f\u2028\ufeff", "é😀", "@x", "%x", "&x", "*x", "!x", "=", "<<"]
)
def test_every_string_is_read_back_unchanged(value: str) -> None:
    assert YAML.read(YAML.put("", ("a", value), [value]))["a"][value] == [value]
    assert YAML.read(YAML.put("a: {b: c}", ("a", value), [value]))["a"][value] == [value]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n b: 2\n", "line 2, column 3: mapping values are not allowed here"),
        ("a:\n\tb: 2\n", "line 2, column 1: found character '\\t' that cannot start any token"),
        ("a: 1\n---\nb: 2\n", "line 2, column 1: but found another document"),
        ("a: !mine 1\n", "line 1, column 4: could not determine a constructor for the tag '!mine'"),
        ("a: \x00\n", "unacceptable character #x0000: special characters are not allowed"),
        ("[" * 5000, "the file is nested too deeply to be read"),
        ("a: text\n", "a is a plain value, not an object. a.b cannot be put there."),
        ("- a\n", "the whole file is a list, not an object. a.b cannot be put there."),
        ("x: &x {c: 1}\na: *x\n", "a repeats another part of the file by an alias. Edit it by hand."),
        ("a: &x {c: 1}\nx: *x\n", "the file is written in a way that cannot be edited safely. Edit it by hand."),
        ("x: &x {b: {c: 1}}\na: {<<: *x}\n", "b is written in a way that cannot be edited safely. Edit it by hand."),
        ("--- {}\n", "the file is written in a way that cannot be edited safely. Edit it by hand."),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused_with_line_and_reason(text: str, message: str) -> None:
    with pytest.raises(Unparsable) as refused:
        YAML.put(text, ("a", "b"), 1)
    assert str(refused.value) == message


def test_a_date_is_read_as_text() -> None:
    assert YAML.read("a: 2001-99-99\nb: 2001-01-01\n") == {"a": "2001-99-99", "b": "2001-01-01"}


def test_keys_with_question_marks_are_refused_rather_than_broken() -> None:
    with pytest.raises(Unparsable, match="cannot be edited safely"):
        YAML.drop("b: 2\n? a\n: 3\n", ("a",))


def test_aliases_that_multiply_cost_no_more_than_their_text() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60))]
    text = "\n".join(lines) + "\n"
    assert YAML.put(text, ("b",), 1) == text + "b: 1\n"
