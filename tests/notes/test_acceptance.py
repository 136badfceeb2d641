"""Decisions about texts of others: united without loss, in doubt not accepted, and about one text alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.notes import Memory
from anamnesis.notes.acceptance import (
    ACCEPTED,
    DECISIONS,
    WITHDRAWN,
    Decision,
    Text,
    decided,
    fingerprint,
    read_decisions,
    text_of,
    written,
)

NOTE = Memory("N1", "semantic", "Title", "Body.\n", project="p")
DIGEST = "0123456789abcdef" * 2
SOME = st.dictionaries(
    st.builds(Text, st.sampled_from(["N1", "N2"]), st.just(DIGEST)),
    st.builds(Decision, st.integers(1, 3), st.integers(0, 2)),
)


@given(SOME, SOME, SOME)
def test_uniting_files_is_the_same_in_any_order(one: object, two: object, three: object) -> None:
    files = [written(each) for each in (one, two, three)]  # type: ignore[arg-type]
    united = written(read_decisions(*files))
    assert united == written(read_decisions(written(read_decisions(files[2], files[1])), files[0]))
    assert read_decisions(united, united) == read_decisions(*files)
    assert fingerprint(read_decisions(*files)) == fingerprint(read_decisions(*reversed(files)))


def test_of_two_decisions_with_the_same_number_the_more_cautious_counts() -> None:
    lines = [f"N1 {DIGEST} 2 {decision}" for decision in DECISIONS]
    for some in (lines, lines[::-1]):
        (found,) = read_decisions("\n".join(some)).values()
        assert DECISIONS[found.place] == WITHDRAWN


def test_a_decision_can_be_withdrawn_and_made_again() -> None:
    known: dict[Text, Decision] = {}
    for number, decision in enumerate((ACCEPTED, WITHDRAWN, ACCEPTED), 1):
        added = decided(known, [text_of(NOTE)], decision)
        assert [*added.values()] == [Decision(number, DECISIONS.index(decision))]
        known |= added
        assert decided(known, [text_of(NOTE)], decision) == {}
    assert decided({}, [text_of(NOTE)], WITHDRAWN) == {}


@pytest.mark.parametrize(
    "fields", [{"title": "Another"}, {"body": "Body, changed."}, {"id": "N2"}, {"project": "global"}]
)
def test_another_text_is_not_accepted(fields: dict[str, str]) -> None:
    assert text_of(replace(NOTE, **fields)) != text_of(NOTE)  # type: ignore[arg-type]


@pytest.mark.parametrize("fields", [{"tags": ["reviewed"]}, {"body": "Body."}, {"body": "Body.\r\n"}, {"project": "q"}])
def test_tags_and_line_ends_are_not_the_text(fields: dict[str, object]) -> None:
    assert text_of(replace(NOTE, **fields)) == text_of(NOTE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# N1",
        f"N1 {DIGEST} 0 own",
        f"N1 {DIGEST} 1 mine",
        f"../N1 {DIGEST} 1 own",
        "N1 abc 1 own",
        f"N1 {DIGEST} x own",
    ],
)
def test_a_line_in_another_form_is_no_decision(line: str) -> None:
    assert read_decisions(f"{line}\n") == {}
