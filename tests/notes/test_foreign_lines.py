"""Front matter that is not ours survives a rewrite: in its place, in its order, to the letter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anamnesis.notes import parse, render

WRITTEN = """\
---
# Who wrote this, and why.
aliases: [a, "b"]
id: a
type: semantic
title: t
# A comment between two keys of ours.
version: 1.10
project: global
machine_id: unknown
scope: portable
prov_source: human
confidence: 1.0
nested:
    deep: {x: 1,   y: [2, 3]}   # kept too
    text: |
      two
      lines

cssclass: 'wide'
created_at: '2026-06-24T18:33:07+00:00'
updated_at: '2026-06-24T18:33:07+00:00'
tags:
- css
publish: yes
due: 2026-07-01
# The end.
---
body
"""


def test_unknown_keys_and_comments_are_rewritten_verbatim_in_place_and_order() -> None:
    assert render(parse(WRITTEN)) == WRITTEN


def test_unknown_keys_and_comments_survive_a_change_of_known_ones() -> None:
    changed = replace(parse(WRITTEN), title="other: title", tags=["css", "grid"], confidence=0.5)
    expected = (
        WRITTEN.replace("title: t\n", "title: 'other: title'\n")
        .replace("- css\n", "- css\n- grid\n")
        .replace("confidence: 1.0", "confidence: 0.5")
    )
    assert render(changed) == expected


def test_unknown_keys_stay_behind_a_key_that_is_left_out_when_empty() -> None:
    text = WRITTEN.replace("nested:", "supersedes: z\nnested:")
    assert render(replace(parse(text), supersedes="")) == WRITTEN


@pytest.mark.parametrize(
    "line",
    [
        "version: 1.10",
        'aliases: [a, "b"]',
        "'quoted key': 1",
        "key with blanks: yes",
        "emoji😀: 😀",
        "empty:",
        "url: https://example.com/#anchor",
        "tag: !mine {a: b}",
        "anchored: &here [1]\nagain: *here",
        "folded: >\n  one\n  two",
        "text: |\n  # no comment\n  ---\n  id: not ours",
        "map:\n  id: not ours\n  tags: [not, ours]",
        'quoted: "one\n  two"',
    ],
)
@pytest.mark.parametrize("place", ["id: a", "title: t", "tags:\n- css"])
def test_any_foreign_entry_is_kept_to_the_letter(line: str, place: str) -> None:
    text = WRITTEN.replace(f"{place}\n", f"{place}\n{line}\n", 1)
    assert render(parse(text)) == text


def test_unknown_keys_of_a_flow_mapping_are_kept_as_lines() -> None:
    memory = parse("---\n{id: a, type: semantic, title: t, version: 1.10, list: [1, x]}\n---\nbody\n")
    written = render(memory)
    assert "\nversion: 1.10\nlist: [1, x]\n" in written
    assert parse(written) == memory


def test_unknown_keys_of_an_indented_mapping_are_kept() -> None:
    memory = parse("---\n  id: a\n  type: semantic\n  title: t\n  version: 1.10\n---\nbody\n")
    assert "\nversion: 1.10\n" in render(memory)
    assert parse(render(memory)) == memory


@pytest.mark.parametrize(
    "commented",
    [
        pytest.param("title: t  # why it is called so\n", id="behind a value"),
        pytest.param("title: t\n  # indented\n", id="indented"),
        pytest.param("tags:\n- css  # for the grid\n", id="behind an item"),
        pytest.param("tags:\n# both\n- css\n", id="above an item"),
    ],
)
def test_a_comment_at_a_known_key_survives(commented: str) -> None:
    comment = commented.partition("#")[2].partition("\n")[0]
    place = "tags:\n- css\n" if commented.startswith("tags") else "title: t\n"
    assert f"#{comment}" in render(parse(WRITTEN.replace(place, commented)))


@pytest.mark.parametrize(
    "line",
    [
        'title: "a # b"',
        "title: 'a # b'",
        'title: "a\n  # b"',
        "title: a#b",
        "title: |\n  a\n  # b",
        "title: |-\n  # b\n\n  c",
        "title: >\n  a\n  # b\n",
        "title: t\ntags: ['# a', \"b # c\"]",
        "title: t\ntags:\n- '# a'\n- |\n  # b\n- c#d",
        "title: t\ntags: 'a, # b'",
    ],
)
def test_a_hash_inside_a_value_is_no_comment(line: str) -> None:
    memory = parse(f"---\nid: a\ntype: semantic\n{line}\n---\nbody\n")
    assert memory.extra == {}
    assert "#" in memory.title + "".join(memory.tags)


def test_comments_at_known_keys_settle_after_one_rewrite() -> None:
    text = WRITTEN.replace("title: t\n", "title: t  # why\n\n  # indented\n").replace("- css", "- css # grid")
    once = render(parse(text))
    assert render(parse(once)) == once
    assert [once.count(comment) for comment in ("# why", "# indented", "# grid", "# The end.")] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "lines", ["engram: mine\n", "engram: [a, b]\n", "engram:\n  a: [1]\n", "engram:\n  a:\n    b: 1\n"]
)
def test_an_engram_of_another_shape_is_the_users_own(lines: str) -> None:
    text = f"---\nid: a\ntype: semantic\ntitle: t\n{lines}---\nb\n"
    memory = parse(text)
    assert memory.engram == {}
    assert lines in render(memory)
    assert parse(render(memory)) == memory


def test_a_comment_in_the_fields_of_engram_survives() -> None:
    memory = parse("---\nid: a\ntype: semantic\ntitle: t\nengram:\n  type: bugfix # mine\n  scope: personal\n---\nb\n")
    assert memory.engram == {"type": "bugfix", "scope": "personal"}
    assert "# mine\n" in render(memory)
