"""JSON as people and programs write it: what an edit changes, and what it refuses."""

from __future__ import annotations

import pytest

from anamnesis.onboard.formats import Unparsable, engine

JSON = engine("json")
SERVER = {"command": "/bin/anamnesis", "args": ["mcp"]}

ZED = """\
// Zed settings
//
// For information on how to configure Zed, see the documentation.
{
  "theme": "One Dark", // dark at night
  "context_servers": {
    "other": {
      "command": "npx",
      "args": ["-y", "other"],
    },
    // "disabled": { "command": "x" },
  },
  /* fonts */
  "buffer_font_size": 15,
}
"""


def test_an_entry_is_added_after_the_last_one_in_the_style_of_the_file() -> None:
    edited = JSON.put(ZED, ("context_servers", "anamnesis"), SERVER)
    assert (
        edited
        == """\
// Zed settings
//
// For information on how to configure Zed, see the documentation.
{
  "theme": "One Dark", // dark at night
  "context_servers": {
    "other": {
      "command": "npx",
      "args": ["-y", "other"],
    },
    // "disabled": { "command": "x" },
    "anamnesis": {
      "command": "/bin/anamnesis",
      "args": [
        "mcp"
      ]
    },
  },
  /* fonts */
  "buffer_font_size": 15,
}
"""
    )
    assert JSON.drop(edited, ("context_servers", "anamnesis"), prune=True) == ZED


def test_a_comment_after_the_last_entry_stays_with_it() -> None:
    text = '{\n\t"a": 1 // one\n}\n'
    assert JSON.put(text, ("b",), 2) == '{\n\t"a": 1, // one\n\t"b": 2\n}\n'


def test_a_hook_is_added_to_the_list_of_its_event_and_no_other() -> None:
    text = """\
{
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "notify"}]}
        ]
    }
}"""
    entry = {"hooks": [{"type": "command", "command": "anamnesis hook stop"}]}
    both = JSON.append(JSON.append(text, ("hooks", "Stop"), entry), ("hooks", "SessionEnd"), entry)
    both = JSON.append(both, ("permissions", "allow"), "mcp__anamnesis")
    assert (
        both
        == """\
{
    "permissions": {"allow": ["Bash(ls:*)", "mcp__anamnesis"]},
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "notify"}]},
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": "anamnesis hook stop"
                    }
                ]
            }
        ],
        "SessionEnd": [
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": "anamnesis hook stop"
                    }
                ]
            }
        ]
    }
}"""
    )
    back = JSON.drop_item(both, ("permissions", "allow"), 1, prune=True)
    back = JSON.drop_item(back, ("hooks", "SessionEnd"), 0, prune=True)
    assert JSON.drop_item(back, ("hooks", "Stop"), 1, prune=True) == text


def test_a_number_in_a_path_names_an_element() -> None:
    text = '{"hooks": {"Stop": [{"hooks": [1, 2]}]}}'
    assert JSON.drop_item(text, ("hooks", "Stop", 0, "hooks"), 1) == '{"hooks": {"Stop": [{"hooks": [1]}]}}'
    assert (
        JSON.put(text, ("hooks", "Stop", 0, "timeout"), 5) == '{"hooks": {"Stop": [{"hooks": [1, 2], "timeout": 5}]}}'
    )
    assert JSON.drop_item(text, ("hooks", "Stop"), -1) == text
    assert JSON.drop_item(text, ("hooks", "Stop"), 1) == text


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("", '{\n  "a": {\n    "b": "é"\n  }\n}\n'),
        (" \r\n", '{\r\n  "a": {\r\n    "b": "é"\r\n  }\r\n}\r\n'),
        ("// mine", '// mine\n{\n  "a": {\n    "b": "é"\n  }\n}\n'),
        ("null\n", '{\n  "a": {\n    "b": "é"\n  }\n}\n'),
        ("{}", '{\n  "a": {\n    "b": "é"\n  }\n}'),
        ("{\n}\n", '{\n  "a": {\n    "b": "é"\n  }\n}\n'),
        ('\ufeff{"x":1}', '\ufeff{"x":1,"a":{"b":"é"}}'),
        ('{"x": 1}\r\n', '{"x": 1, "a": {"b": "é"}}\r\n'),
        ('{"a":{}}', '{"a":{"b":"é"}}'),
        ('{ "a": null }', '{ "a": {"b": "é"} }'),
        ('{\n    "a": {},\n    "x": "\\u00fc"\n}', '{\n    "a": {\n        "b": "é"\n    },\n    "x": "\\u00fc"\n}'),
        ('{"a": {"b": 1}, "a": {"c": 2}}', '{"a": {"b": 1}, "a": {"c": 2, "b": "é"}}'),
        ('{"a": {"b": 1, "b": 2}}', '{"a": {"b": 1, "b": "é"}}'),
        ('{\n"a": {\n"x": 1\n}\n}', '{\n"a": {\n"x": 1,\n"b": "é"\n}\n}'),
        ('{"x": 1 // one\n}', '{"x": 1, // one\n  "a": {\n    "b": "é"\n  }\n}'),
    ],
)
def test_put_follows_the_style_of_the_file(text: str, edited: str) -> None:
    assert JSON.put(text, ("a", "b"), "é") == edited


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ('{"b": 1}', "{}"),
        ('{"a": 1, "b": 2}', '{"a": 1}'),
        ('{ "b": 2, "c": 3 }', '{ "c": 3 }'),
        ('{"a": 1, "b": 2, "c": 3}', '{"a": 1, "c": 3}'),
        ('{"b": 1, "a": 0, "b": 2}', '{"a": 0}'),
        ('{\n  "a": 1,\n  "b": 2\n}', '{\n  "a": 1\n}'),
        ('{\n  "a": 1,\n  "b": 2,\n}', '{\n  "a": 1,\n}'),
        ('{\n  "b": 2, "c": 3\n}', '{\n  "c": 3\n}'),
        ('{\n  "a": 1, // one\n  // above\n  "b": 2 // two\n}', '{\n  "a": 1 // one\n  // above\n  // two\n}'),
        ('{\n  // above\n  "b": 2, "c": 3\n}', '{\n  // above\n  "c": 3\n}'),
        ('{ /* left */ "b": 2 /* right */ }', "{ /* left */ /* right */ }"),
        ('{"a": 1, "b": /* inside */ 2 /* behind */, "c": 3}', '{"a": 1, /* behind */ "c": 3}'),
        ('{"a": 1}', '{"a": 1}'),
        ("", ""),
        ("[1]", "[1]"),
        ('"b"', '"b"'),
    ],
)
def test_drop_removes_one_entry_and_no_comment_beside_it(text: str, edited: str) -> None:
    assert JSON.drop(text, ("b",)) == edited


def test_empty_parents_are_removed_only_with_prune_and_without_comments() -> None:
    assert JSON.drop('{"a": {"b": {"c": 1}}}', ("a", "b", "c")) == '{"a": {"b": {}}}'
    assert JSON.drop('{"a": {"b": {"c": 1}}}', ("a", "b", "c"), prune=True) == "{}"
    assert JSON.drop('{"a": {"x": 0, "b": {"c": 1}}}', ("a", "b", "c"), prune=True) == '{"a": {"x": 0}}'
    assert JSON.drop('{"a": { /* mine */ "b": 1}}', ("a", "b"), prune=True) == '{"a": { /* mine */}}'


def test_an_existing_entry_is_updated_in_place() -> None:
    text = '{\n  "mcp": {\n    "anamnesis": {"command": "old"}, // ours\n    "z": {}\n  }\n}'
    edited = JSON.put(text, ("mcp", "anamnesis"), SERVER)
    assert edited == text.replace('{"command": "old"}', '{"command": "/bin/anamnesis", "args": ["mcp"]}')


def test_a_key_may_contain_dots() -> None:
    assert JSON.put('{"amp.x": 1}', ("amp.mcpServers", "a"), 2) == '{"amp.x": 1, "amp.mcpServers": {"a": 2}}'


def test_true_is_not_one_and_one_is_not_a_float() -> None:
    assert JSON.put('{"a": true}', ("a",), 1) == '{"a": 1}'
    assert JSON.put('{"a": 1.0}', ("a",), 1) == '{"a": 1}'
    assert JSON.put('{"a": 1.0}', ("a",), 1.0) == '{"a": 1.0}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: a comma or } is missing"),
        ('{"a": 1', "line 1, column 8: a comma or } is missing"),
        ('{"a" 1}', "line 1, column 6: a colon is missing"),
        ('{"a": }', "line 1, column 7: a value is missing"),
        ("{a: 1}", "line 1, column 2: 'a' is not expected here"),
        ("{1: 1}", "line 1, column 2: a key in double quotes or } is missing"),
        ('{"a": 01}', "line 1, column 7: this text or number is not JSON"),
        ('{"a": NaN}', "line 1, column 7: 'N' is not expected here"),
        ('{"a": "tab\there"}', "line 1, column 7: '\"' is not expected here"),
        ("{} {}", "line 1, column 4: there is something after the end"),
        ("\r\n\r\n/* open", "line 3, column 1: '/' is not expected here"),
        ("<<<<<<< HEAD\n{}", "line 1, column 1: '<' is not expected here"),
        ("[" * 100_000, "the file is nested too deeply to be read"),
        ("[]", "the whole file is a list, not an object. a.b cannot be put there."),
        ('{"a": "mine"}', "a is a plain value, not an object. a.b cannot be put there."),
        ('{"a": [1]}', "a is a list, not an object. a.b cannot be put there."),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused_with_line_and_reason(text: str, message: str) -> None:
    with pytest.raises(Unparsable) as refused:
        JSON.put(text, ("a", "b"), 1)
    assert str(refused.value) == message


def test_an_object_is_not_turned_into_a_list() -> None:
    with pytest.raises(Unparsable, match="hooks is an object, not a list"):
        JSON.append('{"hooks": {}}', ("hooks",), 1)
