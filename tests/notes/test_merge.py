"""Two changes of one note are merged by field, in either order, and no text is lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from anamnesis.notes import Memory, parse, render, validate
from anamnesis.notes.marks import (
    CONTRADICTS,
    GONE,
    OUTDATED,
    STALE,
    UPDATED_BY,
    UPDATES,
    linked,
    marks_of,
    with_link,
    with_mark,
    with_marks,
    without_link,
)
from anamnesis.notes.merge import CONFLICT_TAG, conflict_of, merge, without_conflict_tag

BASE = Memory(
    "01HZX4T9V3Q6W8Y2B5D7F9H1K3",
    "semantic",
    "Retries",
    "one\ntwo\nthree",
    tags=["http"],
    created_at="2026-03-01T10:00:00+00:00",
    updated_at="2026-03-01T10:00:00+00:00",
)
LATER, LATEST = "2026-03-02T10:00:00+00:00", "2026-03-03T10:00:00+00:00"

# Few values for each field, so that two sides often change the same, and often alike.
WORDS = st.sampled_from(["a", "b", "c"])
LINES = st.lists(st.sampled_from(["one", "two", "three", "four", "", "---", "id: x"]), max_size=6)
FOREIGN = st.dictionaries(
    st.sampled_from(["", "title", "confidence", "updated_at", "tags"]),
    st.lists(st.sampled_from(["aliases: [x]\n", "# mine\n", "stars: 5\n"]), min_size=1, max_size=2, unique=True).map(
        "".join
    ),
    max_size=1,
)
TIME = st.sampled_from(["", "yesterday", BASE.created_at, LATER, LATEST])
MARKED = st.dictionaries(st.sampled_from([UPDATES, STALE]), st.sampled_from(["one", "two", "one two"]), max_size=2)
VERSIONS = st.builds(
    Memory,
    id=st.just(BASE.id),
    type=st.sampled_from(["semantic", "procedural", "episodic"]),
    title=WORDS,
    body=LINES.map("\n".join) | LINES.map("\r\n".join),
    project=WORDS,
    machine_id=WORDS,
    tags=st.lists(st.sampled_from(["a", "b", "c", CONFLICT_TAG]), max_size=4),
    created_at=TIME,
    updated_at=TIME,
    prov_source=st.sampled_from(["human", "import"]),
    prov_model=WORDS,
    prov_session=WORDS,
    confidence=st.sampled_from([0.5, 1.0]),
    supersedes=st.lists(WORDS, max_size=2),
    engram=st.dictionaries(
        st.sampled_from(["type", "sync_id", "topic_key", "revision_count", "deleted_at", "later"]),
        WORDS | st.integers(1, 3) | st.none(),
        max_size=3,
    ),
    extra=FOREIGN,
    newline=st.sampled_from(["\n", "\r\n"]),
)
BASES = VERSIONS | st.none()
IDS = st.lists(st.sampled_from([f"01HZX4T9V3Q6W8Y2B5D7F9H1K{last}" for last in "456"]), unique=True)


def lines(memory: Memory | None) -> Counter[str]:
    return Counter(memory.body.split("\n")) if memory else Counter()


def foreign(memory: Memory | None) -> set[str]:
    return {line for text in memory.extra.values() for line in text.splitlines()} if memory else set()


class TestLaws:
    @given(BASES, VERSIONS, VERSIONS)
    def test_which_version_is_called_one_and_which_two_makes_no_difference(
        self, base: Memory | None, one: Memory, two: Memory
    ) -> None:
        assert merge(base, one, two) == merge(base, two, one)

    @given(BASES, VERSIONS)
    def test_the_same_change_twice_is_that_change(self, base: Memory | None, version: Memory) -> None:
        merged = merge(base, version, version)
        assert (merged.note, merged.other) == (version, None)

    @given(VERSIONS, VERSIONS)
    @example(BASE, replace(BASE, created_at=LATER, body="put anew"))
    @example(BASE, replace(BASE, updated_at="2025-01-01T00:00:00+00:00", body="by a slow clock"))
    def test_a_side_that_changed_nothing_yields_to_the_other(self, base: Memory, version: Memory) -> None:
        merged = merge(base, base, version)
        assert (merged.note, merged.other) == (version, None)

    @given(BASES, VERSIONS, VERSIONS)
    def test_every_line_is_kept_or_was_taken_out_by_a_side(self, base: Memory | None, one: Memory, two: Memory) -> None:
        merged = merge(base, one, two)
        kept = lines(merged.note) + lines(merged.other)
        for side, other in ((one, two), (two, one)):
            for line in lines(side).keys() - kept.keys():
                assert lines(base)[line] > lines(other)[line]

    @given(BASES, VERSIONS, VERSIONS)
    def test_every_title_that_a_side_gave_is_kept(self, base: Memory | None, one: Memory, two: Memory) -> None:
        merged = merge(base, one, two)
        kept = {note.title for note in (merged.note, merged.other) if note}
        assert {one.title, two.title} - {base.title if base else None} <= kept

    @given(BASES, VERSIONS, VERSIONS)
    def test_a_value_that_a_side_gave_is_kept_or_named_as_decided(
        self, base: Memory | None, one: Memory, two: Memory
    ) -> None:
        merged = merge(base, one, two)
        assert not (merged.other and merged.decided)
        kept = [note for note in (merged.note, merged.other, base) if note]
        for name in ("type", "project", "confidence", "prov_model"):
            for value in {getattr(one, name), getattr(two, name)} - {getattr(each, name) for each in kept}:
                now = getattr(merged.note, name)
                assert f"{name} of {BASE.id}: kept `{now}` (newer), not `{value}`" in merged.decided

    @given(VERSIONS, VERSIONS, VERSIONS)
    def test_tags_are_united_but_for_those_a_side_took_away(self, base: Memory, one: Memory, two: Memory) -> None:
        added = {*one.tags, *two.tags} - {*base.tags}
        kept = {*base.tags} & {*one.tags} & {*two.tags}
        tags = merge(base, one, two).note.tags
        assert {*tags} == added | kept
        assert len(tags) == len({*tags})

    @given(VERSIONS, IDS, IDS, IDS)
    def test_links_of_both_sides_are_united_without_a_conflict(
        self, version: Memory, before: list[str], mine: list[str], theirs: list[str]
    ) -> None:
        base, one, two = (with_mark(version, UPDATES, " ".join(ids)) for ids in (before, mine, theirs))
        two = with_mark(two, STALE, "gone")
        merged = merge(base, one, two)
        assert merged == merge(base, two, one)
        assert merged.other is None
        kept = {*before} & {*mine} & {*theirs}
        assert {*linked(merged.note, UPDATES)} == kept | ({*mine, *theirs} - {*before})
        assert marks_of(merged.note)[STALE] == "gone"
        assert foreign(with_marks(merged.note, {})) == foreign(version)

    @given(VERSIONS, VERSIONS)
    def test_without_a_common_past_all_tags_are_united(self, one: Memory, two: Memory) -> None:
        assert {*merge(None, one, two).note.tags} == {*one.tags, *two.tags}

    @given(BASES, VERSIONS, VERSIONS)
    def test_foreign_front_matter_is_kept_or_was_taken_out_by_a_side(
        self, base: Memory | None, one: Memory, two: Memory
    ) -> None:
        merged = merge(base, one, two)
        kept = foreign(merged.note) | foreign(merged.other)
        for side, other in ((one, two), (two, one)):
            for line in foreign(side) - kept:
                assert line in foreign(base)
                assert line not in foreign(other)

    @given(VERSIONS, VERSIONS, VERSIONS, st.sampled_from(["type", "title", "project", "confidence", "prov_model"]))
    def test_a_field_has_the_value_of_the_side_that_changed_it_and_of_both_the_newer(
        self, base: Memory, one: Memory, two: Memory, name: str
    ) -> None:
        assume(one.updated_at < two.updated_at)
        before, older, newer = (getattr(version, name) for version in (base, one, two))
        expected = newer if newer != before else older
        assert getattr(merge(base, one, two).note, name) == expected

    @given(VERSIONS, VERSIONS, VERSIONS, st.sampled_from(["type", "topic_key", "later"]))
    def test_a_field_of_engram_has_the_value_of_the_side_that_changed_it_and_of_both_the_newer(
        self, base: Memory, one: Memory, two: Memory, name: str
    ) -> None:
        assume(one.updated_at < two.updated_at and base not in (one, two))
        before, older, newer = ({name: version.engram.get(name, "absent")} for version in (base, one, two))
        expected = newer if newer != before else older
        assert {name: merge(base, one, two).note.engram.get(name, "absent")} == expected

    @given(BASES, VERSIONS, VERSIONS)
    def test_what_both_sides_changed_is_deleted_only_if_both_deleted_it_and_counts_never_go_back(
        self, base: Memory | None, one: Memory, two: Memory
    ) -> None:
        assume(base not in (one, two))
        merged = merge(base, one, two).note
        assert merged.is_hidden == (one.is_hidden and two.is_hidden)
        counts = [count for side in (one, two) if isinstance(count := side.engram.get("revision_count"), int)]
        if counts:
            assert merged.engram["revision_count"] == max(counts)

    @given(BASES, VERSIONS, VERSIONS)
    def test_what_comes_out_can_be_written_and_read(self, base: Memory | None, one: Memory, two: Memory) -> None:
        merged = merge(base, one, two)
        for note in (merged.note, merged.other):
            if note:
                validate(note)
                assert parse(render(note)) == note

    @given(BASES, VERSIONS, VERSIONS)
    def test_the_version_set_aside_leads_to_its_note_and_is_else_as_it_was(
        self, base: Memory | None, one: Memory, two: Memory
    ) -> None:
        aside = merge(base, one, two).other
        assume(aside)
        assert aside
        assert aside.id != BASE.id
        assert aside.id == getattr(merge(base, two, one).other, "id", None)
        assert CONFLICT_TAG in aside.tags
        assert conflict_of(aside) == conflict_of(parse(render(aside))) == BASE.id
        assert conflict_of(without_conflict_tag(aside)) == ""
        assert aside.engram.keys().isdisjoint({"sync_id", "topic_key"})
        assert replace(without_conflict_tag(aside), id=BASE.id, engram={}) in [
            replace(without_conflict_tag(side), engram={}) for side in (one, two)
        ]

    @given(BASES, VERSIONS, VERSIONS, VERSIONS)
    def test_different_versions_set_aside_have_different_ids(
        self, base: Memory | None, one: Memory, two: Memory, three: Memory
    ) -> None:
        asides = [aside for other in (two, three) if (aside := merge(base, one, other).other)]
        assert len({aside.id for aside in asides}) == len({render(aside) for aside in asides})


def test_changes_of_different_fields_and_lines_are_one_note() -> None:
    one = replace(BASE, title="Retries, with jitter", body="ONE\ntwo\nthree", updated_at=LATER)
    two = replace(BASE, type="procedural", body="one\ntwo\nTHREE", tags=["http", "backoff"], updated_at=LATEST)
    merged = merge(BASE, one, two)
    assert merged.other is None
    assert render(merged.note) == (
        "---\n"
        "id: 01HZX4T9V3Q6W8Y2B5D7F9H1K3\n"
        "type: procedural\n"
        "title: Retries, with jitter\n"
        "project: global\n"
        "machine_id: unknown\n"
        "scope: portable\n"
        "prov_source: human\n"
        "confidence: 1.0\n"
        "created_at: '2026-03-01T10:00:00+00:00'\n"
        "updated_at: '2026-03-03T10:00:00+00:00'\n"
        "tags:\n"
        "- http\n"
        "- backoff\n"
        "---\n"
        "ONE\n"
        "two\n"
        "THREE\n"
    )


def test_a_title_changed_on_both_sides_is_a_conflict_and_one_changed_alike_or_on_one_side_is_none() -> None:
    one = replace(BASE, title="Retry twice", body="one\ntwo\nTHREE", updated_at=LATER)
    two = replace(BASE, title="Retry never", body="ONE\ntwo\nthree", updated_at=LATEST)
    merged = merge(BASE, one, two)
    assert (merged.note.title, merged.note.body) == ("Retry never", "ONE\ntwo\nTHREE")
    assert merged.other
    assert (merged.other.title, merged.other.body) == ("Retry twice", one.body)
    assert merge(BASE, one, replace(two, title=one.title)).other is None
    assert merge(BASE, one, replace(two, title=BASE.title)).note.title == one.title
    assert merge(None, one, replace(one, title="Retry never")).other


def test_a_field_that_gave_way_is_named_unless_a_conflicting_version_keeps_it() -> None:
    one = replace(BASE, type="episodic", prov_model="m", engram={"topic_key": "a"}, updated_at=LATER)
    two = replace(BASE, type="procedural", engram={"topic_key": "b"}, updated_at=LATEST)
    assert merge(BASE, one, two).decided == (
        f"type of {BASE.id}: kept `procedural` (newer), not `episodic`",
        f"engram.topic_key of {BASE.id}: kept `b` (newer), not `a`",
    )
    assert merge(BASE, replace(one, title="An"), replace(two, title="Another")).decided == ()


def test_where_both_changed_the_same_line_the_newer_stays_and_the_other_is_a_note_of_its_own() -> None:
    one = replace(BASE, body="one\ntwo of A\nthree", updated_at=LATER)
    two = replace(BASE, body="one\ntwo of B\nthree", updated_at=LATEST)
    merged = merge(BASE, one, two)
    assert merged.note == two
    assert merged.other
    assert render(merged.other) == (
        "---\n"
        f"id: {merged.other.id}\n"
        "type: semantic\n"
        "title: Retries\n"
        "project: global\n"
        "machine_id: unknown\n"
        "scope: portable\n"
        "prov_source: human\n"
        "confidence: 1.0\n"
        "created_at: '2026-03-01T10:00:00+00:00'\n"
        "updated_at: '2026-03-02T10:00:00+00:00'\n"
        "tags:\n"
        "- http\n"
        "- conflict\n"
        "conflict_of: 01HZX4T9V3Q6W8Y2B5D7F9H1K3\n"
        "---\n"
        "one\n"
        "two of A\n"
        "three\n"
    )


def test_two_texts_added_at_the_same_place_are_both_kept() -> None:
    one = replace(BASE, body="one\ntwo\nthree\nfour of A", updated_at=LATER)
    two = replace(BASE, body="one\ntwo\nthree\nfour of B", updated_at=LATEST)
    merged = merge(BASE, one, two)
    assert merged.other
    assert (merged.note.body, merged.other.body) == (two.body, one.body)


def test_a_note_with_the_line_ends_of_windows_keeps_them() -> None:
    base = replace(BASE, body="one\r\ntwo\r\nthree", newline="\r\n")
    one = replace(base, body="ONE\r\ntwo\r\nthree", updated_at=LATER)
    two = replace(base, body="one\r\ntwo\r\nTHREE", updated_at=LATEST)
    merged = merge(base, one, two)
    assert merged.other is None
    assert render(merged.note).endswith("---\r\nONE\r\ntwo\r\nTHREE\r\n")


def test_within_one_second_the_machines_still_choose_the_same_version() -> None:
    one, two = (replace(BASE, body=f"one\n{word}\nthree", updated_at=LATER) for word in ("A", "B"))
    assert merge(BASE, one, two) == merge(BASE, two, one)


def test_a_version_set_aside_twice_leads_to_the_note_it_was_last_a_version_of() -> None:
    aside = merge(None, replace(BASE, body="A"), replace(BASE, body="B", updated_at=LATER)).other
    assert aside
    again = merge(None, aside, replace(aside, body="C", updated_at=LATEST)).other
    assert again
    assert conflict_of(again) == aside.id
    assert again.tags.count(CONFLICT_TAG) == 1


@pytest.mark.parametrize(
    "memory",
    [
        replace(BASE, tags=[CONFLICT_TAG]),
        replace(BASE, extra={"tags": "conflict_of: 01HZX4T9V3Q6W8Y2B5D7F9H1K4\n"}),
        replace(BASE, tags=[CONFLICT_TAG], extra={"tags": "x: |\n  conflict_of: y\n"}),
    ],
    ids=["a tag of the user's", "a link without the tag", "a text of the user's"],
)
def test_a_note_is_no_version_of_another_without_both_tag_and_link(memory: Memory) -> None:
    assert conflict_of(memory) == ""


def test_settling_keeps_foreign_front_matter() -> None:
    extra = {"title": "aliases: [x]\n", "tags": "stars: 5\nconflict_of: 01HZX4T9V3Q6W8Y2B5D7F9H1K4\n# mine\n"}
    note = without_conflict_tag(replace(BASE, tags=["http", CONFLICT_TAG], extra=extra))
    assert note == replace(BASE, extra={"title": "aliases: [x]\n", "tags": "stars: 5\n# mine\n"})


ONE, TWO = "01JAAAAAAAAAAAAAAAAAAAAAAA", "01JBBBBBBBBBBBBBBBBBBBBBBB"


def test_marks_of_two_machines_are_no_conflict() -> None:
    """Each machine's dream may have marked the note for a reason of its own."""
    ours = with_link(replace(BASE, tags=["http", OUTDATED]), UPDATED_BY, TWO)
    theirs = with_mark(with_link(replace(BASE, tags=["http", GONE]), UPDATED_BY, ONE), STALE, "src/a.py")
    merged = merge(BASE, ours, theirs)

    assert merged == merge(BASE, theirs, ours)
    assert merged.other is None
    assert marks_of(merged.note) == {UPDATED_BY: f"{ONE} {TWO}", STALE: "src/a.py"}
    assert merged.note.tags == ["http", OUTDATED, GONE]


def test_a_mark_that_one_side_removed_stays_removed_beside_an_edit() -> None:
    marked = with_link(BASE, CONTRADICTS, ONE, TWO)
    unmarked = without_link(marked, CONTRADICTS, ONE)
    edited = replace(with_mark(marked, STALE, "gone"), body="one\ntwo\nfour", updated_at=LATER)
    merged = merge(marked, unmarked, edited)

    assert merged.other is None
    assert marks_of(merged.note) == {CONTRADICTS: TWO, STALE: "gone"}
    assert merged.note.body == edited.body


def test_own_front_matter_beside_marks_still_conflicts() -> None:
    ours = with_link(replace(BASE, extra={"tags": "stars: 5\n"}), UPDATES, ONE)
    theirs = with_link(replace(BASE, extra={"tags": "stars: 4\n"}), UPDATES, ONE)
    merged = merge(BASE, ours, theirs)

    assert merged.other is not None
    assert marks_of(merged.note) == {UPDATES: ONE}


@given(st.lists(VERSIONS, min_size=3, max_size=3), st.lists(MARKED, min_size=3, max_size=3))
def test_marks_change_nothing_else_of_a_merge(versions: list[Memory], marks: list[dict[str, str]]) -> None:
    plain = merge(*versions)
    marked = merge(*(with_marks(note, some) for note, some in zip(versions, marks, strict=True)))

    assume(len({*map(render, versions)}) == 3)
    assert with_marks(marked.note, {}) == plain.note
    assert marked.other == plain.other
