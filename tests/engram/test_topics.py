"""Topic keys have one form, and the suggestions are those that a running Engram made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.engram import topics

RECORDED = [
    (arguments, reply["text"].removeprefix("Suggested topic_key: "))
    for line in Path(__file__).with_name("golden").joinpath("stdio.jsonl").read_text("utf-8").splitlines()
    for step in [json.loads(line)]
    if step["scenario"] == "mcp-topics"
    for (_, arguments), reply in zip(step["calls"], step["result"]["replies"], strict=True)
]


@pytest.mark.parametrize(("arguments", "suggested"), RECORDED)
def test_engrams_suggestions_are_ours(arguments: dict[str, str], suggested: str) -> None:
    given = {"type": "", "title": "", "content": "", **arguments}
    assert topics.suggest(**given) == suggested


@pytest.mark.parametrize(
    ("type", "title", "content", "suggested"),
    [
        ("", "", "", "topic/general"),
        ("manual", "Debugging the thing", "", "bug/debugging-the-thing"),
        ("", "plain", "we chose this", "decision/plain"),
        ("bug", "bug", "", "bug/general"),
        ("bug", "bug-", "", "bug/general"),
        ("Ünknown!", "x", "", "nknown/x"),
        ("!!!", "x", "", "/x"),
    ],
)
def test_the_family_comes_from_the_type_or_from_a_sign_in_the_text(
    type: str, title: str, content: str, suggested: str
) -> None:
    assert topics.suggest(type, title, content) == suggested


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (" Architecture/Auth  Model ", "architecture/auth-model"), ("   ", ""), ("A\u00a0B", "a-b"),
        ("a\x1cb", "a\x1cb"), ("K" * 200, "k" * 120), ("x" + "é" * 100, "x" + "é" * 59),
    ],
)  # fmt: skip
def test_a_key_is_lower_case_with_dashes_and_cut_between_characters(given: str, stored: str) -> None:
    assert topics.normalise(given) == stored


@given(st.text())
def test_a_normal_key_stays_as_it_is_and_fits(text: str) -> None:
    key = topics.normalise(text)
    assert topics.normalise(key) == key
    assert len(key.encode()) <= 120


@given(st.text(), st.text(), st.text())
def test_a_suggestion_is_a_key(type: str, title: str, content: str) -> None:
    suggested = topics.suggest(type, title, content)
    assert topics.normalise(suggested) == suggested
    assert suggested.count("/") == 1
