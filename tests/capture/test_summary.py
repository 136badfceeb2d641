"""The text of a session's note, and which sessions get none."""

from __future__ import annotations

import pytest

from anamnesis.capture import HeuristicSummarizer, ParsedSession, SummaryResult, is_trivial_session

LONG_ANSWER = "Hello! I am ready to help with your code, whenever you like."


def summarize(session: ParsedSession) -> SummaryResult:
    summary = HeuristicSummarizer().summarize(session)
    assert summary is not None
    return summary


def test_the_note_says_what_was_asked_changed_and_achieved() -> None:
    session = ParsedSession(
        first_prompt="Why does login fail?\nIt worked yesterday.",
        prompts=["Why does login fail?\nIt worked yesterday.", "then fix it,\n  please", "and test it"],
        git_branch="fix/login",
        files_touched=["src/login.py", "tests/test_login.py"],
        files_created=["tests/test_login.py"],
        last_outcome="The cookie had expired.\nFixed.",
    )
    assert summarize(session) == SummaryResult(
        title="Why does login fail?",
        body="""\
**Ask:** Why does login fail?
It worked yesterday.

**Then:**
- then fix it, please
- and test it
**Branch:** fix/login
**Files touched (2):**
- src/login.py
- tests/test_login.py (new)

**Outcome:** The cookie had expired.
Fixed.""",
    )


def test_unknown_parts_are_omitted() -> None:
    assert summarize(ParsedSession(first_prompt="why?", last_outcome="Because.")) == SummaryResult(
        "why?", "**Ask:** why?\n\n\n**Outcome:** Because."
    )
    assert summarize(ParsedSession()) == SummaryResult(
        "Session summary",
        "**Ask:** (no user prompt captured)\n\n\n**Outcome:** (no assistant output captured)",
    )


def test_long_texts_are_clipped() -> None:
    session = ParsedSession(prompts=["a" * 601, "b" * 201, "c" * 200], last_outcome="d" * 601)
    body = summarize(session).body
    assert f"**Ask:** {'a' * 600} ...\n" in body
    assert f"\n- {'b' * 200} ...\n- {'c' * 200}\n" in body
    assert body.endswith(f"**Outcome:** {'d' * 600} ...")


def test_long_lists_say_how_many_more_there_are() -> None:
    asks, files = [f"ask {number}" for number in range(12)], [f"file{number}" for number in range(43)]
    lines = summarize(ParsedSession(prompts=asks, files_touched=files)).body.splitlines()
    start, middle = lines.index("**Then:**"), lines.index("**Files touched (43):**")
    assert lines[start + 1 : middle] == [*(f"- ask {number}" for number in range(1, 9)), "- and 3 more"]
    assert lines[middle + 1 : -2] == [*(f"- file{number}" for number in range(40)), "- and 3 more"]


def test_lists_within_the_limit_are_complete() -> None:
    session = ParsedSession(prompts=["x"] * 9, files_touched=[f"file{number}" for number in range(40)])
    assert " more" not in summarize(session).body


@pytest.mark.parametrize(
    "session",
    [
        ParsedSession(),
        ParsedSession(last_outcome="No response."),
        ParsedSession(first_prompt="/effort"),
        ParsedSession(first_prompt="/effort", last_outcome="Set effort level to high."),
        ParsedSession(prompts=["/status", "/usage"], last_outcome="ok"),
        *(
            ParsedSession(prompts=[ask], last_outcome=LONG_ANSWER, turns=1)
            for ask in ("hi", "Hello!", "hey there", "thanks", "Thank you so much :)", "ok", "OK.", "test", "👍")
        ),
        ParsedSession(prompts=["hi", "thanks, bye"], last_outcome=LONG_ANSWER, turns=2),
    ],
)
def test_a_session_in_which_nothing_was_done_is_trivial(session: ParsedSession) -> None:
    assert is_trivial_session(session)


@pytest.mark.parametrize(
    "session",
    [
        ParsedSession(files_touched=["a.py"]),
        ParsedSession(first_prompt="/effort", files_touched=["a.py"]),
        ParsedSession(prompts=["hi"], files_touched=["a.py"]),
        ParsedSession(last_outcome=LONG_ANSWER),
        ParsedSession(first_prompt="/standup", last_outcome=LONG_ANSWER),
        ParsedSession(first_prompt="2+2?", last_outcome="4"),
        ParsedSession(first_prompt="why does login fail?"),
        ParsedSession(prompts=["hi", "why does login fail?"], last_outcome="No."),
        ParsedSession(prompts=["test"], last_outcome="3 of 200 tests fail.", turns=3),
        ParsedSession(prompts=["/fix the login bug"]),
        ParsedSession(prompts=["ok do it"]),
        ParsedSession(prompts=["[pasted]"], last_outcome="I see."),
    ],
)
def test_a_session_in_which_something_was_asked_or_done_is_not(session: ParsedSession) -> None:
    assert not is_trivial_session(session)
