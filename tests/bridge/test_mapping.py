"""A note and an observation say the same: nothing of the one is lost in the other, whichever is changed."""

from __future__ import annotations

import string
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from anamnesis.bridge.mapping import (
    all_writable,
    fingerprint,
    note_id_of,
    note_type,
    noted,
    observed,
    project_name,
    sync_id_of,
)
from anamnesis.engram.record import Observation
from anamnesis.notes import Memory, moment_of, parse, render, ulid_of, validate
from anamnesis.notes.marks import HELD, marks_of, with_mark, with_marks
from anamnesis.notes.redaction import redact_all

TEXT = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(["", " ", "null", "7", "a\nb", "\x00"])
NULLABLE = TEXT | st.none()
STAMPS = st.datetimes().map(lambda time: time.strftime("%Y-%m-%d %H:%M:%S").zfill(19))
TIMES = STAMPS | TEXT | st.sampled_from(["2026-01-01T10:00:00.5Z", "2026-01-01T10:00:00+02:00"])
KINDS = (
    st.sampled_from(["decision", "bugfix", "session_summary", "passive", "manual", "", "semantic", "Pattern"]) | TEXT
)
PROJECTS = st.sampled_from(["anamnesis", "a/b", "global", "", "github.com/o/anamnesis"]) | NULLABLE
SYNC_IDS = st.from_regex("obs-[0-9a-f]{16}|obs-[0-9a-f]{32}|x", fullmatch=True)
SESSIONS = st.sampled_from(["", "s1", "manual-save", "manual-save-anamnesis"]) | TEXT

ROWS = st.builds(
    Observation,
    id=st.integers(1, 2**60),
    sync_id=SYNC_IDS,
    session_id=SESSIONS,
    type=KINDS,
    title=TEXT,
    content=TEXT,
    tool_name=NULLABLE,
    project=PROJECTS,
    scope=st.sampled_from(["project", "personal"]),
    topic_key=NULLABLE,
    revision_count=st.integers(1, 9),
    duplicate_count=st.integers(1, 9),
    last_seen_at=TIMES | st.none(),
    created_at=TIMES,
    updated_at=TIMES,
    deleted_at=STAMPS | st.none(),
)
ULIDS = st.integers(0, 2**128 - 1).map(ulid_of)
NOTES = st.builds(
    Memory,
    id=ULIDS | st.text(string.ascii_letters, min_size=1, max_size=20),
    type=st.sampled_from(["semantic", "procedural", "episodic"]),
    title=TEXT.filter(str.strip),
    body=TEXT,
    project=st.sampled_from(["global", "github.com/o/anamnesis", "anamnesis", "/srv/x"]) | TEXT.filter(bool),
    machine_id=TEXT,
    scope=st.sampled_from(["portable", "machine-local"]),
    tags=st.lists(TEXT, max_size=2),
    created_at=TIMES,
    updated_at=TIMES,
    prov_source=st.sampled_from(["human", "import"]),
    prov_model=TEXT,
    prov_session=TEXT,
    confidence=st.sampled_from([0.5, 1.0]),
    supersedes=st.lists(ULIDS, max_size=2),
    extra=st.sampled_from([{}, {"tags": "aliases: [x]\n"}]),
)


def key_of(row: Observation) -> str:
    return {"anamnesis": "github.com/o/anamnesis"}.get(row.project or "", row.project or "global")


def as_note(row: Observation, over: Memory | None = None) -> Memory:
    return noted(row, over, key_of=key_of, machine_id="here", clean=all_writable)


@given(ROWS)
def test_an_observation_is_the_same_after_it_has_been_a_note_in_a_file(row: Observation) -> None:
    note = as_note(row)
    validate(note)
    assert replace(observed(parse(render(note))), id=row.id) == row


@given(NOTES)
def test_a_note_is_the_same_after_it_has_been_an_observation(note: Memory) -> None:
    assert as_note(observed(note), note) == note


@given(ROWS, NOTES)
def test_an_observation_over_any_note_is_the_same_after_it_and_keeps_what_only_notes_have(
    row: Observation, over: Memory
) -> None:
    row = replace(row, sync_id=sync_id_of(over.id))
    note = as_note(row, over)
    validate(note)
    assert replace(observed(parse(render(note))), id=row.id) == row
    if HELD in marks_of(note) and HELD not in marks_of(over):  # such as an import that was held where it was
        note, over = with_mark(note, HELD, ""), with_marks(over, marks_of(over))
    for name in ("id", "tags", "machine_id", "scope", "confidence", "supersedes", "extra", "prov_source", "prov_model"):
        assert getattr(note, name) == getattr(over, name)


@given(ROWS, ROWS)
def test_one_change_after_the_other_is_as_the_last_alone(one: Observation, two: Observation) -> None:
    two = replace(two, sync_id=one.sync_id)
    assert replace(observed(as_note(two, as_note(one))), id=two.id) == two


@given(ROWS, st.sampled_from(["title", "body", "type", "project", "prov_session"]), TEXT)
def test_what_a_person_changes_in_a_note_prevails_over_what_engram_knew(row: Observation, name: str, text: str) -> None:
    value = "procedural" if name == "type" else text if text.strip() else "text"
    note = as_note(row)
    assume(getattr(note, name) != value)
    changes: dict[str, Any] = {name: value}
    changed = observed(replace(note, **changes), row)
    expected = {"body": "content", "prov_session": "session_id"}.get(name, name)
    assert getattr(changed, expected) == (project_name(value) if name == "project" else value)


@given(ROWS, TEXT)
def test_a_text_with_a_secret_stays_in_the_observation_until_the_note_says_something_else(
    row: Observation, text: str
) -> None:
    secret = f"{text} AKIAIOSFODNN7EXAMPLA ghp_0123456789abcdefghijklmnopqrstuvwxyz"
    row = replace(row, title=f"t {secret}", content=secret)
    note = noted(row, None, key_of=key_of, machine_id="here", clean=redact_all)
    assert "ghp_0123456789" not in render(note)
    assert observed(replace(note, tags=["new"]), row, redact_all).content == secret
    assert observed(replace(note, body="changed"), row, redact_all).content == "changed"


def test_a_byte_that_is_no_character_stays_in_the_observation() -> None:
    row = replace(as_observation(), content="cut \udcc3", title="t\udcff")
    note = as_note(row)
    assert (note.title, note.body) == ("t\ufffd", "cut \ufffd")
    assert observed(parse(render(note)), row) == row


@given(ULIDS)
def test_a_ulid_and_its_observation_have_the_same_128_bits(id: str) -> None:
    assert note_id_of(sync_id_of(id), "") == id


def test_random_bits_of_engram_are_not_taken_for_a_time() -> None:
    """Engram's migration made such a sync id for a row that had none."""
    assert moment_of(note_id_of(f"obs-{'c3' * 16}", "2024-03-01 10:00:00")) == "2024-03-01T10:00:00+00:00"


@given(st.text(string.ascii_letters, min_size=1), st.text(string.ascii_letters, min_size=1))
@example("01J9Z8YPM7Q3X2V4WT6B5N0KGD", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ")
def test_different_ids_have_different_observations(one: str, two: str) -> None:
    assert (sync_id_of(one) == sync_id_of(two)) == (one == two)


@given(ROWS, st.sampled_from([name for name in Observation.__slots__ if name != "id"]))
def test_the_fingerprint_tells_every_field_but_the_number(row: Observation, name: str) -> None:
    assert fingerprint(replace(row, id=7)) == fingerprint(row)
    changes: dict[str, Any] = {name: "another"}
    assert fingerprint(replace(row, **changes)) != fingerprint(row) or getattr(row, name) == "another"


@pytest.mark.parametrize(
    ("kind", "type"),
    [
        *(
            (kind, "semantic")
            for kind in ("decision", "architecture", "config", "discovery", "preference", "manual", "")
        ),
        *((kind, "procedural") for kind in ("bugfix", "pattern", "how-to", " Bugfix ")),
        *((kind, "episodic") for kind in ("session_summary", "passive")),
    ],
)
def test_the_types_of_engram_are_one_of_three(kind: str, type: str) -> None:
    assert note_type(kind) == type


@pytest.mark.parametrize(
    ("project", "name"),
    [
        ("github.com/oscardvs/Anamnesis", "anamnesis"),
        ("anamnesis", "anamnesis"),
        ("/srv/work/my--repo/", "my-repo"),
        ("global", None),
        ("", None),
        ("x/global", "global"),
    ],
)
def test_engram_calls_a_project_by_the_last_part_of_its_key(project: str, name: str | None) -> None:
    assert project_name(project) == name


def test_a_note_by_hand_needs_no_fields_of_engram() -> None:
    note = Memory("01J9Z8YPM7Q3X2V4WT6B5N0KGD", "semantic", "t", "b", project="github.com/o/anamnesis")
    assert as_note(observed(note), note).engram == {}


def as_observation() -> Observation:
    time = "2026-01-02 03:04:05"
    return Observation(
        *(1, "obs-1f2e3d4c5b6a7988", "s1", "decision", "Title", "Content", None, "anamnesis", "project", "a/b"),
        *(1, 1, time, time, time, None),
    )


def test_an_ordinary_observation_is_an_ordinary_note() -> None:
    assert render(as_note(as_observation())) == (
        "---\n"
        "id: 01KDYAK348TRTDWQF23S2ZX1DZ\n"
        "type: semantic\n"
        "title: Title\n"
        "project: github.com/o/anamnesis\n"
        "machine_id: here\n"
        "scope: portable\n"
        "prov_source: human\n"
        "confidence: 1.0\n"
        "prov_session: s1\n"
        "created_at: '2026-01-02T03:04:05+00:00'\n"
        "updated_at: '2026-01-02T03:04:05+00:00'\n"
        "tags: []\n"
        "engram:\n"
        "  sync_id: obs-1f2e3d4c5b6a7988\n"
        "  type: decision\n"
        "  topic_key: a/b\n"
        "---\n"
        "Content\n"
    )
