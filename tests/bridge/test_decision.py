"""What becomes of two sides: the one that changed wins, of two that changed nothing is lost, and equal ones agree."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anamnesis.bridge.decision import Outcome, Pair, Translation, decide
from anamnesis.bridge.journal import UNKNOWN, Twin
from anamnesis.bridge.mapping import all_writable, fingerprint, noted, observed, sync_id_of
from anamnesis.engram.record import Observation
from anamnesis.notes import Memory, front_of, render
from anamnesis.notes.merge import CONFLICT_TAG, conflict_of

NOW = "2026-06-01 12:00:00"
EARLY, LATE = "2026-01-02 03:04:05", "2026-05-05 05:05:05"
AGREED = b"agreed"
TEXT = "one\ntwo\nthree\nfour\nfive"


def key_of(row: Observation) -> str:
    return row.project or "global"


AS = Translation(
    note=partial(noted, key_of=key_of, machine_id="here", clean=all_writable), row=observed, clean=all_writable, now=NOW
)
ROW = Observation(
    *(1, "obs-1f2e3d4c5b6a7988", "s1", "decision", "Title", TEXT, None, "anamnesis", "project", "a/b"),
    *(1, 1, EARLY, EARLY, EARLY, None),
)
NOTE = AS.note(ROW, None, "")


def twin_of(row: Observation, note: Memory | None, revision: int = 0) -> Twin:
    return Twin(
        row.id,
        NOTE.id,
        fingerprint(row),
        AGREED if note else None,
        front_of(note or NOTE, render(note or NOTE)),
        revision,
    )


def agreed(note: Memory | None = NOTE, row: Observation | None = ROW, **changes: Any) -> Pair:
    """Two sides that agreed once, and of which some is different now."""
    hash = None if note is None else AGREED if note == NOTE else b"other"
    values: dict[str, Any] = {"note_hash": hash, "twin": twin_of(ROW, NOTE), **changes}
    return Pair(NOTE.id, note, row=row, **values)


def test_nothing_happens_to_two_that_are_as_they_agreed() -> None:
    assert decide(agreed(), AS) == Outcome(NOTE, ROW)


def test_two_that_are_both_gone_are_gone() -> None:
    assert decide(agreed(None, None), AS) == Outcome(None, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Other"},
        {"content": "other"},
        {"type": "bugfix"},
        {"project": None},
        {"topic_key": None},
        {"duplicate_count": 2},
        {"updated_at": "2019-01-01 00:00:00"},
        {"session_id": "s2"},
    ],
)
def test_an_observation_that_changed_alone_is_told_by_the_note_also_if_its_clock_went_backwards(
    changes: dict[str, Any],
) -> None:
    row = replace(ROW, **changes)
    outcome = decide(agreed(row=row), AS)
    assert outcome.row == row
    assert outcome.note
    assert observed(outcome.note, row) == row
    assert outcome.aside is None


@pytest.mark.parametrize("changes", [{"title": "Other"}, {"body": "other"}, {"project": "x/y"}])
def test_a_note_that_changed_alone_is_told_by_the_observation_also_within_the_same_second(
    changes: dict[str, Any],
) -> None:
    note = replace(NOTE, **changes)
    outcome = decide(agreed(note), AS)
    assert outcome == Outcome(note, observed(note, ROW))
    assert outcome.row != ROW
    assert outcome.row
    assert outcome.row.id == ROW.id


def test_a_note_without_the_fields_of_engram_keeps_its_identity_there_and_no_more() -> None:
    outcome = decide(agreed(replace(NOTE, engram={})), AS)
    assert outcome.note and outcome.row
    assert outcome.note.engram == {"sync_id": ROW.sync_id}
    assert (outcome.row.sync_id, outcome.row.topic_key, outcome.row.type) == (ROW.sync_id, None, "semantic")


def test_tags_of_a_note_change_nothing_in_the_observation() -> None:
    note = replace(NOTE, tags=["new"])
    assert decide(agreed(note), AS) == Outcome(note, ROW)


def test_a_note_that_was_removed_deletes_its_observation_softly() -> None:
    outcome = decide(agreed(None), AS)
    assert outcome == Outcome(None, replace(ROW, deleted_at=NOW, updated_at=NOW))


def test_a_note_that_was_removed_leaves_a_deleted_observation_as_it_is() -> None:
    row = replace(ROW, deleted_at=LATE)
    pair = agreed(None, row, twin=twin_of(row, NOTE))
    assert decide(pair, AS) == Outcome(None, row)


def test_an_observation_that_was_deleted_softly_hides_its_note() -> None:
    row = replace(ROW, deleted_at=LATE)
    outcome = decide(agreed(row=row), AS)
    assert outcome.note
    assert outcome.note.is_hidden
    assert replace(outcome.note, engram=NOTE.engram) == NOTE


def test_an_observation_that_has_gone_takes_its_note_along() -> None:
    assert decide(agreed(row=None), AS) == Outcome(None, None)


def test_a_note_that_was_changed_outlives_its_observation() -> None:
    note = replace(NOTE, body="changed")
    assert decide(agreed(note, None), AS) == Outcome(note, observed(note))


def test_a_hidden_note_without_an_observation_makes_none() -> None:
    note = replace(NOTE, engram={**NOTE.engram, "deleted_at": LATE})
    assert decide(agreed(note, None), AS) == Outcome(note, None)
    assert decide(Pair(NOTE.id, note, b"x", None, None), AS) == Outcome(note, None)


def test_an_observation_that_was_changed_outlives_the_file_of_its_note_with_what_only_the_note_knew() -> None:
    note = replace(NOTE, tags=["kept"], extra={"tags": "aliases: [x]\n"})
    row = replace(ROW, content="changed")
    outcome = decide(agreed(None, row, twin=twin_of(ROW, note)), AS)
    assert outcome == Outcome(replace(note, body="changed"), row)


def test_a_deleted_observation_makes_no_note() -> None:
    row = replace(ROW, deleted_at=LATE)
    assert decide(Pair(NOTE.id, None, None, row, None), AS) == Outcome(None, row)
    assert decide(agreed(None, row), AS) == Outcome(None, row)


def test_an_observation_that_is_no_longer_deleted_gets_its_note_back() -> None:
    hidden = replace(ROW, deleted_at=LATE)
    pair = agreed(None, ROW, twin=twin_of(hidden, None), note_hash=None)
    assert decide(pair, AS) == Outcome(replace(NOTE, body=TEXT), ROW)


def test_a_note_that_comes_back_brings_its_observation_back() -> None:
    hidden = replace(ROW, deleted_at=LATE)
    pair = agreed(NOTE, hidden, twin=twin_of(hidden, None))
    assert decide(pair, AS) == Outcome(NOTE, ROW)


def test_a_new_observation_makes_a_note_and_a_new_note_an_observation() -> None:
    assert decide(Pair(NOTE.id, None, None, ROW, None), AS) == Outcome(NOTE, ROW)
    assert decide(Pair(NOTE.id, NOTE, b"x", None, None), AS) == Outcome(NOTE, replace(ROW, id=0))


def test_the_note_has_the_id_that_was_found_for_it_and_its_observation_a_sync_id_of_its_own() -> None:
    """Another observation of the same identity may be the twin of the note that would be expected."""
    outcome = decide(Pair("another", None, None, ROW, None), AS)
    assert outcome.note
    assert outcome.note.id == "another"
    assert outcome.row == replace(ROW, sync_id=sync_id_of("another"))


@pytest.mark.parametrize(
    ("type", "kind", "settled"),
    [
        ("semantic", "bugfix", ("procedural", "bugfix", "bugfix")),
        ("episodic", "decision", ("episodic", None, "episodic")),
        ("episodic", "bugfix", ("procedural", "bugfix", "bugfix")),
    ],
)
def test_of_two_types_the_word_of_engram_wins_unless_only_the_other_was_changed(
    type: str, kind: str, settled: tuple[str, str | None, str]
) -> None:
    outcome = decide(agreed(replace(NOTE, type=type, engram={**NOTE.engram, "type": kind})), AS)
    assert outcome.note and outcome.row
    assert (outcome.note.type, outcome.note.engram.get("type"), outcome.row.type) == settled
    assert observed(outcome.note).type == outcome.row.type


def test_two_that_say_the_same_agree_whatever_is_remembered() -> None:
    for twin in (None, twin_of(replace(ROW, content="before"), NOTE), twin_of(ROW, None)):
        assert decide(Pair(NOTE.id, NOTE, b"x", ROW, twin), AS) == Outcome(NOTE, ROW)


def test_two_changes_of_different_lines_are_both_there() -> None:
    note = replace(NOTE, body=TEXT.replace("one", "ONE"), updated_at=LATE)
    row = replace(ROW, content=TEXT.replace("five", "FIVE"))
    outcome = decide(agreed(note, row, versions=(ROW,)), AS)
    assert outcome.note
    assert outcome.note.body == "ONE\ntwo\nthree\nfour\nFIVE"
    assert outcome.row == observed(outcome.note, row)
    assert outcome.aside is None


@pytest.mark.parametrize("is_note_newer", [True, False])
def test_of_two_changes_of_one_line_the_newer_prevails_and_the_other_is_set_aside(is_note_newer: bool) -> None:
    note = replace(NOTE, body="of the note", updated_at=LATE if is_note_newer else EARLY)
    row = replace(ROW, content="of the row", updated_at=EARLY if is_note_newer else LATE)
    outcome = decide(agreed(note, row, versions=(ROW,)), AS)
    bodies = ["of the note", "of the row"]
    assert outcome.note
    assert outcome.aside
    assert [outcome.note.body, outcome.aside.body] == (bodies if is_note_newer else bodies[::-1])
    assert conflict_of(outcome.aside) == NOTE.id
    assert CONFLICT_TAG in outcome.aside.tags
    assert observed(outcome.aside).sync_id != ROW.sync_id
    assert outcome.row == observed(outcome.note, row)


@pytest.mark.parametrize("is_note_newer", [True, False])
def test_of_two_titles_the_newer_prevails_and_the_other_is_set_aside(is_note_newer: bool) -> None:
    note = replace(NOTE, title="Of the note", updated_at=LATE if is_note_newer else EARLY)
    row = replace(ROW, title="Of the row", updated_at=EARLY if is_note_newer else LATE)
    outcome = decide(agreed(note, row, versions=(ROW,)), AS)
    assert outcome.note
    assert outcome.note.title == ("Of the note" if is_note_newer else "Of the row")
    assert outcome.aside
    assert outcome.aside.title == ("Of the row" if is_note_newer else "Of the note")


def test_a_note_that_was_edited_is_not_deleted_and_one_that_was_hidden_and_edited_is_there_again() -> None:
    note = replace(NOTE, body="changed")
    outcome = decide(agreed(note, replace(ROW, deleted_at=LATE, updated_at=LATE), versions=(ROW,)), AS)
    assert outcome.note
    assert not outcome.note.is_hidden
    assert outcome.note.body == "changed"
    assert outcome.row
    assert outcome.row.deleted_at is None


def test_a_note_that_was_written_before_a_kill_is_no_change_of_its_own() -> None:
    """The observation went on meanwhile: the note follows it, and no version is set aside."""
    middle = replace(ROW, content="middle", updated_at=LATE)
    last = replace(ROW, content="last", updated_at=LATE)
    note = AS.note(middle, NOTE, "")
    outcome = decide(agreed(note, last, versions=(ROW, middle)), AS)
    assert outcome == Outcome(replace(note, body="last"), last)


def test_where_the_agreed_text_is_not_known_both_versions_are_kept() -> None:
    """A journal was lost: a text that nobody changed cannot be told from one that somebody did."""
    note = replace(NOTE, body="of the note", updated_at=LATE)
    row = replace(ROW, content="of the row")
    outcome = decide(agreed(note, row, twin=twin_of(ROW, NOTE, UNKNOWN)), AS)
    assert outcome.aside
    assert outcome.aside.body == "of the row"


BODIES = st.lists(st.sampled_from(["one", "two", "new", "", "x"]), max_size=5).map("\n".join)
TIMES = st.sampled_from([EARLY, LATE, "2019-01-01 00:00:00"])
ROWS = st.builds(
    partial(replace, ROW),
    title=st.sampled_from(["Title", "Other", ""]),
    content=BODIES,
    type=st.sampled_from(["decision", "bugfix"]),
    updated_at=TIMES,
    deleted_at=st.none() | TIMES,
    topic_key=st.sampled_from([None, "a/b", "c"]),
)
NOTES = st.builds(
    partial(replace, NOTE),
    title=st.sampled_from(["Title", "Mine"]),
    body=BODIES,
    type=st.sampled_from(["semantic", "episodic"]),
    updated_at=TIMES,
    tags=st.lists(st.sampled_from(["a", "b"]), unique=True),
    engram=st.sampled_from([NOTE.engram, {}, {**NOTE.engram, "deleted_at": LATE}]),
)


@given(st.none() | NOTES, st.none() | ROWS, st.none() | ROWS)
def test_whatever_is_decided_the_two_say_the_same_and_deciding_again_changes_nothing(
    note: Memory | None, row: Observation | None, base: Observation | None
) -> None:
    twin = twin_of(base, AS.note(base, None, "")) if base else None
    versions = (base,) if base and row and fingerprint(base) != fingerprint(row) else ()
    outcome = decide(Pair(NOTE.id, note, b"x" if note else None, row, twin, versions), AS)
    if outcome.note and outcome.row:
        assert observed(outcome.note, outcome.row) == outcome.row
        assert outcome.note.is_hidden == bool(outcome.row.deleted_at)
    elif outcome.note:
        assert outcome.note.is_hidden
    elif outcome.row:
        assert outcome.row.deleted_at
    now = replace(twin_of(outcome.row, outcome.note), note_hash=b"y" if outcome.note else None) if outcome.row else None
    again = decide(Pair(NOTE.id, outcome.note, b"y" if outcome.note else None, outcome.row, now), AS)
    assert again == Outcome(outcome.note, outcome.row)


@given(NOTES, ROWS, st.none() | ROWS)
def test_the_lines_of_both_are_in_what_remains(note: Memory, row: Observation, base: Observation | None) -> None:
    assume(base is None or fingerprint(base) != fingerprint(row))
    twin = twin_of(base, AS.note(base, None, "")) if base else None
    outcome = decide(Pair(NOTE.id, note, b"x", row, twin, (base,) if base else ()), AS)
    assume(not base or AS.row(note, base) != base)
    known = {*base.content.split("\n")} if base else set()
    kept = {line for each in (outcome.note, outcome.aside) if each for line in each.body.split("\n")}
    assert {*note.body.split("\n"), *row.content.split("\n")} - known <= kept
