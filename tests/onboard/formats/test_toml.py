"""TOML as people and programs write it: what an edit changes, and what it refuses."""

from __future__ import annotations

import pytest

from anamnesis.onboard.formats import Unparsable, engine

TOML = engine("toml")
PATH = ("mcp_servers", "anamnesis")
SERVER = {"command": r"C:\Users\Zoë\anamnesis.exe", "args": ["mcp"], "env": {"ANAMNESIS_HOME": "D:/m"}}
BLOCK = """\
[mcp_servers.anamnesis]
command = 'C:\\Users\\Zoë\\anamnesis.exe'
args = ["mcp"]
env = { ANAMNESIS_HOME = "D:/m" }
"""

CODEX = '''\
#:schema https://example.org/config.json
model = "gpt-5"   # the big one
notify = [
  "notify-send",  # a program
  "Codex",
]

[mcp_servers.other]
command = "npx"
args = ["-y", "other"]
# env = { KEY = "value" }

[mcp_servers.other.env]
"API.KEY" = 'x'

[projects."/home/zoë/a.b"]
trust_level = "trusted"
notes = """
[mcp_servers.anamnesis]  # not a table
"""

[hooks.state."/x:session_start:0:0"]
trusted_hash = "sha256:1"'''


def test_a_table_is_added_at_the_end_and_removed_again() -> None:
    edited = TOML.put(CODEX, PATH, SERVER)
    assert edited == CODEX + "\n\n" + BLOCK.removesuffix("\n")
    assert TOML.drop(edited, PATH, prune=True) == CODEX


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("", BLOCK),
        ("\n", "\n\n" + BLOCK),
        ("# mine", "# mine\n\n" + BLOCK.removesuffix("\n")),
        ("[mcp_servers]\n", "[mcp_servers]\n\n" + BLOCK),
        ("mcp_servers.a.command = 'x'\n", "mcp_servers.a.command = 'x'\n\n" + BLOCK),
        ("[a]\r\nb = 1\r\n", "[a]\r\nb = 1\r\n\r\n" + BLOCK.replace("\n", "\r\n")),
    ],
)
def test_put_follows_the_style_of_the_file(text: str, edited: str) -> None:
    assert TOML.put(text, PATH, SERVER) == edited


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("m = {} # c\n", "m = {x = 1} # c\n"),
        ("m = { a = 'y' }\n", "m = { a = 'y', x = 1 }\n"),
        ("m = { \"a.b\" = {}, 'c' = [1] }\n", "m = { \"a.b\" = {}, 'c' = [1], x = 1 }\n"),
        ("[m]\na = 1 # one\n# b = 2\n\n[n]\n", "[m]\na = 1 # one\nx = 1\n# b = 2\n\n[n]\n"),
        ("[m] # table\n[n]\n", "[m] # table\nx = 1\n[n]\n"),
        ("m.a = 1\n\n[n]\n", "m.a = 1\nm.x = 1\n\n[n]\n"),
        ("# top\n\n# about n\n[m.n]\n", "# top\n\nm.x = 1\n# about n\n[m.n]\n"),
        ("[k]\nz.y = 1\n[m]\nb.c = 1", "[k]\nz.y = 1\n[m]\nb.c = 1\nx = 1"),
    ],
)
def test_a_key_is_added_in_the_notation_of_its_table(text: str, edited: str) -> None:
    assert TOML.put(text, ("m", "x"), 1) == edited
    assert TOML.drop(edited, ("m", "x")) == text


def test_an_existing_table_is_updated_in_place_with_its_subtables() -> None:
    text = """\
[mcp_servers.a]
command = "a"

# ours
[mcp_servers.anamnesis]
command = "old"
# seen

[other]
x = 1

[mcp_servers.anamnesis.env]
A = "b"

# last
"""
    assert (
        TOML.put(text, PATH, SERVER)
        == f"""\
[mcp_servers.a]
command = "a"

# ours
{BLOCK}# seen

[other]
x = 1

# last
"""
    )


@pytest.mark.parametrize(
    ("text", "value", "edited"),
    [
        ("a = 1 # c\n", {"b": 2}, "a = { b = 2 } # c\n"),
        ("a = [\n 1, # c\n]\n", "x", 'a = "x"\n'),
        ("[a]\nb = 1\n[c]\n", 3, "a = 3\n[c]\n"),
        ("a.b = 1\na.c = 2\nd = 3\n", {"e": 4}, "d = 3\n\n[a]\ne = 4\n"),
        ("[[a]]\nb = 1\n[c]\n[[a]]\n", [{"b": 2}], "[[a]]\nb = 2\n[c]\n"),
        ("[[a]]\nb = 1\n", [{"b": 2}, {}], "[[a]]\nb = 2\n\n[[a]]\n"),
    ],
)
def test_put_over_a_value_of_another_form(text: str, value: object, edited: str) -> None:
    assert TOML.put(text, ("a",), value) == edited


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("", '[[hooks]]\nevent = "Stop"\ntimeout = 5\n'),
        ("x = 1", 'x = 1\n\n[[hooks]]\nevent = "Stop"\ntimeout = 5'),
        (
            "[[hooks]]\nevent = 'A' # mine\n\n[loop]\nn = 1\n",
            "[[hooks]]\nevent = 'A' # mine\n\n[loop]\nn = 1\n\n[[hooks]]\nevent = \"Stop\"\ntimeout = 5\n",
        ),
        ("hooks = []\n", 'hooks = [{ event = "Stop", timeout = 5 }]\n'),
        (
            "hooks = [\n    {event = 'A'}, # mine\n] # all\n",
            "hooks = [\n    {event = 'A'}, # mine\n    { event = \"Stop\", timeout = 5 },\n] # all\n",
        ),
    ],
)
def test_a_hook_is_added_to_an_array_of_tables_however_it_is_written(text: str, edited: str) -> None:
    entry = {"event": "Stop", "timeout": 5}
    assert TOML.append(text, ("hooks",), entry) == edited
    last = len(TOML.read(edited)["hooks"]) - 1
    assert TOML.drop_item(edited, ("hooks",), last, prune=text != "hooks = []\n") == text


def test_one_table_of_an_array_is_removed_with_its_subtables() -> None:
    text = "[[h]]\na = 1\n[h.x]\nb = 1\n[[h.y]]\nc = 1\n\n# two\n[[h]]\na = 2\n[h.x]\nb = 2\n"
    assert TOML.drop_item(text, ("h",), 0) == "\n# two\n[[h]]\na = 2\n[h.x]\nb = 2\n"
    assert TOML.drop_item(text, ("h",), 1) == "[[h]]\na = 1\n[h.x]\nb = 1\n[[h.y]]\nc = 1\n\n# two\n"


def test_a_subtable_is_added_to_its_element_of_an_array() -> None:
    text = "[[h]]\na = 1\n\n[[h]]\na = 2\n"
    edited = TOML.put(text, ("h", 0, "x"), {"y": 1})
    assert edited == "[[h]]\na = 1\n\n[h.x]\ny = 1\n\n[[h]]\na = 2\n"
    assert TOML.drop(edited, ("h", 0, "x")) == text
    assert TOML.put(text, ("h", 0, "b"), 1) == "[[h]]\na = 1\nb = 1\n\n[[h]]\na = 2\n"


def test_empty_parents_are_removed_only_with_prune_and_without_comments() -> None:
    assert TOML.drop("[m]\n\n[m.a]\nx = 1\n", ("m", "a")) == "[m]\n"
    assert TOML.drop("[m]\n\n[m.a]\nx = 1\n", ("m", "a"), prune=True) == ""
    assert TOML.drop("[m] # mine\n\n[m.a]\nx = 1\n", ("m", "a"), prune=True) == "[m] # mine\n"
    assert TOML.drop("m = {a = 1} # mine\n", ("m", "a"), prune=True) == "m = {} # mine\n"
    assert TOML.drop("n = {m = {a = 1}, b = 2} # mine\n", ("n", "m", "a"), prune=True) == "n = {b = 2} # mine\n"


@pytest.mark.parametrize(
    "value", ["C:\\a", "it's \\", 'say "hi"', "tab\t\x00\x7f\u2028", "line\nfeed\r", "", "'''", "é😀"]
)
def test_every_string_is_read_back_unchanged(value: str) -> None:
    assert TOML.read(TOML.put("", ("a", value), [value]))["a"][value] == [value]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb =\n", "Invalid value (at line 2, column 4)"),
        ("[m]\n[m]\n", "Cannot declare ('m',) twice (at line 2, column 3)"),
        ("m = 1\n", "m is a plain value, not an object. m.x cannot be put there."),
        ("[[m]]\n", "m is a list, not an object. m.x cannot be put there."),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused_with_line_and_reason(text: str, message: str) -> None:
    with pytest.raises(Unparsable) as refused:
        TOML.put(text, ("m", "x"), {"y": 1})
    assert str(refused.value) == message


def test_dotted_keys_between_brackets_are_refused_rather_than_guessed() -> None:
    with pytest.raises(Unparsable, match="b is written in a way that cannot be edited safely"):
        TOML.put("a = { b.c = 1 }", ("a", "b", "d"), 2)
