"""The note as a value: its fields, their normalisation at construction, and which notes may be stored."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anamnesis.errors import AnamnesisError, InvalidNote
from anamnesis.notes import Memory, check_id, validate

ANY_TEXT = st.text(st.characters())


def note(**fields: Any) -> Memory:
    return Memory(**{"id": "a", "type": "semantic", "title": "t", "body": "b", **fields})


def test_fields_and_defaults_are_the_specified_ones_in_their_order() -> None:
    memory = Memory("a", "semantic", "t", "b")
    specified = {
        "id": "a",
        "type": "semantic",
        "title": "t",
        "body": "b",
        "project": "global",
        "machine_id": "unknown",
        "scope": "portable",
        "tags": [],
        "created_at": "",
        "updated_at": "",
        "prov_source": "human",
        "prov_model": "",
        "prov_session": "",
        "confidence": 1.0,
        "supersedes": "",
    }
    fields = dataclasses.asdict(memory)
    assert dict(list(fields.items())[:15]) == specified
    assert list(fields)[:15] == list(specified)


def test_a_note_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        note().title = "other"  # type: ignore[misc]


def test_lone_surrogates_become_replacement_characters_in_every_text() -> None:
    memory = note(
        title="a\ud800b",
        body="\udfff",
        project="p\udc80",
        machine_id="\ud834",
        tags=["x\ud800", "y"],
        prov_model="\ud800",
        prov_session="\ud800",
        created_at="\ud800",
    )
    assert (memory.title, memory.body, memory.project, memory.machine_id) == ("a�b", "�", "p�", "�")
    assert (memory.tags, memory.prov_model, memory.prov_session) == (["x�", "y"], "�", "�")
    assert memory.created_at == "�"


def test_surrogates_in_foreign_lines_become_replacement_characters() -> None:
    assert note(extra={"title": "mood: \ud800\n"}).extra == {"title": "mood: �\n"}


@given(ANY_TEXT)
def test_construction_of_a_constructed_note_changes_nothing(text: str) -> None:
    once = note(title=text, body=text, project=text, created_at=text, tags=[text, text], supersedes=text)
    assert dataclasses.replace(once) == once


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("2026-06-24T18:33:07+00:00", "2026-06-24T18:33:07+00:00"),
        ("2026-06-24T18:33:07Z", "2026-06-24T18:33:07+00:00"),
        ("2026-06-24T20:33:07+02:00", "2026-06-24T18:33:07+00:00"),
        ("2026-06-24 18:33:07", "2026-06-24T18:33:07+00:00"),
        ("2026-06-24", "2026-06-24T00:00:00+00:00"),
        ("last summer", "last summer"),
        ("", ""),
        ("2026-13-45", "2026-13-45"),
    ],
)
def test_times_are_kept_in_the_one_form_that_sorts_as_text(written: str, stored: str) -> None:
    assert note(created_at=written, updated_at=written).created_at == stored


@pytest.mark.parametrize("written", ["0001-01-01T00:00:00+02:00", "9999-12-31T23:59:59-05:00"])
def test_a_time_that_utc_cannot_hold_stays_as_it_was_written(written: str) -> None:
    assert note(created_at=written).created_at == written


@given(st.datetimes(), st.datetimes())
def test_stored_times_sort_as_the_moments_they_name(first: datetime, second: datetime) -> None:
    one, other = note(created_at=str(first)).created_at, note(created_at=str(second)).created_at
    assert (one < other) == (first < second)


def test_repeated_and_empty_tags_are_dropped_and_the_order_kept() -> None:
    assert note(tags=["b", "a", "", "b", "a"]).tags == ["b", "a"]


def test_one_tag_given_as_a_string_is_one_tag() -> None:
    assert note(tags="css").tags == ["css"]


@pytest.mark.parametrize(
    ("supersedes", "kept", "as_list"),
    [
        ("", "", []),
        ([], "", []),
        ("x", "x", ["x"]),
        (["x"], "x", ["x"]),
        (["x", "y", "x"], ["x", "y"], ["x", "y"]),
    ],
)
def test_supersedes_may_be_one_id_or_many(
    supersedes: str | list[str], kept: str | list[str], as_list: list[str]
) -> None:
    memory = note(supersedes=supersedes)
    assert memory.supersedes == kept
    assert memory.superseded == as_list


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"type": "../.."}, "type"),
        ({"type": ""}, "type"),
        ({"scope": "everywhere"}, "scope"),
        ({"prov_source": "dream"}, "prov_source"),
        ({"title": " \n"}, "title"),
        ({"confidence": float("nan")}, "confidence"),
        ({"confidence": float("inf")}, "confidence"),
        ({"supersedes": ["ok", "../x"]}, "../x"),
        ({"id": "../x"}, "../x"),
    ],
)
def test_a_refused_note_names_the_field_at_fault(fields: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidNote, match=named.replace(".", r"\.")):
        validate(note(**fields))


@pytest.mark.parametrize("good", ["01J9Z8YPM7Q3X2V4WT6B5N0KGD", "a", "native-memory_3.md", "A" * 128])
def test_ids_safe_as_file_names_pass(good: str) -> None:
    assert check_id(good) == good


@pytest.mark.parametrize(
    "bad",
    [
        *("", ".", "..", "../x", "a/b", "a\\b", "/etc/passwd", "C:x", "-rf", ".hidden"),
        *("a.", "a\0b", "a\n", "a b", "é", "a\ud800", "A" * 129),
    ],
)
def test_ids_that_could_leave_their_folder_are_refused(bad: str) -> None:
    with pytest.raises(InvalidNote, match="is not a note id"):
        check_id(bad)


@given(ANY_TEXT)
def test_an_id_is_either_one_path_segment_or_refused(text: str) -> None:
    try:
        check_id(text)
    except AnamnesisError:
        return
    assert not {"/", "\\", "\0", ":"} & set(text)
    assert not text.startswith((".", "-"))
    assert 0 < len(text.encode()) <= 128
