"""A session's title is a sentence or a phrase: its first real ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import superlinear

from anamnesis.capture import HeuristicSummarizer, ParsedSession
from anamnesis.capture.title import LONGEST_TITLE, title_of

LOG = '2026-09-03 11:02:17 ERROR failed\nTraceback (most recent call last):\n  File "w.py", line 3\nValueError: x\n'


@pytest.mark.parametrize(
    ("ask", "title"),
    [
        ("Fix  the\tbug \n and more", "Fix the bug"),
        ("Why does login fail?\nIt worked yesterday.", "Why does login fail?"),
        ("[pasted]\nwhat is this?", "what is this?"),
        ("[Image #1] [Image #2]\n\nmake it so", "make it so"),
        ("[Image #1] make it so", "make it so"),
        ("[pasted]", "[pasted]"),
        ("日本語", "日本語"),
        ("/fix the login bug", "/fix the login bug"),
        ("@src/app.py fix the typo", "@src/app.py fix the typo"),
        ("# Task\n\nAdd a dark mode toggle\n\n## Details\n- always on top", "Add a dark mode toggle"),
        ("Add an endpoint for refunds. Always write the test first.", "Add an endpoint for refunds"),
    ],
)
def test_it_is_the_first_sentence_that_says_something(ask: str, title: str) -> None:
    assert title_of([ask]) == title


@pytest.mark.parametrize(
    ("ask", "title"),
    [
        ("Hi Claude, can you please fix the login?", "fix the login"),
        ("hey! fix the login", "fix the login"),
        ("ok so please fix the login", "fix the login"),
        ("I want you to fix the login.", "fix the login"),
        ("Bitte repariere den Login", "repariere den Login"),
        ("请帮我修复登录", "修复登录"),
        ("hello", "hello"),
    ],
)
def test_greetings_and_polite_words_are_left_out(ask: str, title: str) -> None:
    assert title_of([ask]) == title


@pytest.mark.parametrize(
    ("ask", "title"),
    [
        ("We use Django. The admin is slow. Please fix the N+1 queries.", "fix the N+1 queries"),
        ("I have a problem. The login fails on Safari.", "The login fails on Safari"),
        ("the websocket drops after a minute. figure out why and fix it", "the websocket drops after a minute"),
        ("CI takes 25 minutes. get it under 10", "CI takes 25 minutes"),
        (f"{LOG}\nwhy does the worker stop?", "why does the worker stop?"),
        ("$ make test\nmake: *** [test] Error 2\n\nhow do I run the tests?", "how do I run the tests?"),
        ("```\nAlways use tabs.\n```\nexplain the rule", "explain the rule"),
    ],
)
def test_a_request_is_preferred_to_its_context_and_pasted_lines_do_not_count(ask: str, title: str) -> None:
    assert title_of([ask]) == title


@pytest.mark.parametrize(
    ("ask", "title"),
    [
        ("Duplicates in an intersection\n\nThe answer is empty. Why is that so?", "Duplicates in an intersection"),
        ("# Change the theme to red\n\n## Overview\nUse one token.", "Change the theme to red"),
        ("I have a question\n\nwhy is the sky blue?", "why is the sky blue?"),
        ("please have a look\n\nthe build is broken", "have a look"),
        ("hey claude\n\nfix the login", "fix the login"),
    ],
)
def test_a_first_line_that_stands_alone_is_the_title(ask: str, title: str) -> None:
    assert title_of([ask]) == title


@pytest.mark.parametrize(
    ("ask", "title"),
    [
        (
            "have a look at the failing upload test in tests/test_upload.py and find out why it only fails on CI",
            "have a look at the failing upload test in tests/test_upload.py",
        ),
        (
            "refactor the payment module so that providers can be exchanged, and add tests for each of them (Stripe,",
            "refactor the payment module so that providers can be exchanged",
        ),
        (
            "Implement the following plan for the migration of the reporting database to the new cluster of the team",
            "Implement the following plan for the migration of the reporting database…",
        ),
        (
            "Rename the configuration loader's option `strict mode of the parser` everywhere it is mentioned now",
            "Rename the configuration loader's option `strict mode of the parser` everywhere…",
        ),
        ("x" * 81, "x" * 79 + "…"),
        ("word " * 20, "word " * 15 + "word…"),
        ("x" * 80, "x" * 80),
    ],
)
def test_a_long_sentence_ends_at_a_clause_or_with_an_ellipsis(ask: str, title: str) -> None:
    assert title_of([ask]) == title


def test_asks_without_content_are_skipped() -> None:
    assert title_of(["[pasted]", "shorten it"]) == "shorten it"
    summary = HeuristicSummarizer().summarize(ParsedSession(prompts=["thanks", "hi", "why does login fail?"]))
    assert summary is not None
    assert summary.title == "why does login fail?"


def test_a_session_without_asks_has_a_default_title() -> None:
    summary = HeuristicSummarizer().summarize(ParsedSession(last_outcome="Done."))
    assert summary is not None
    assert summary.title == "Session summary"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=400))
def test_any_ask_has_a_title_of_one_line(ask: str) -> None:
    title = title_of([ask])
    assert len(title) <= LONGEST_TITLE
    assert len(title.splitlines()) <= 1
    assert bool(title) == bool(ask.strip())


@pytest.mark.parametrize(
    "part", ["hi ", "ok, ", "please ", "a, ", "( ", "` ", ". ", "[pasted] ", "- ", "and ", "\n", "x"]
)
def test_time_grows_with_the_text(part: str) -> None:
    assert not superlinear(lambda text: title_of([text]), lambda size: part * (size // len(part)), largest=250_000)
