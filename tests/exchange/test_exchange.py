"""Exchange of notes between machines through a hub: nothing is lost, and concurrent changes are merged."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.exchange.conftest import Machines
from tests.exchange.small_hub import SmallHub, Space

from anamnesis.exchange.account import read_account
from anamnesis.exchange.state import HubDatabase, HubState, Invitation
from anamnesis.notes import Memory, parse, render
from anamnesis.notes.merge import CONFLICT_TAG, conflict_of
from anamnesis.notes.spaces import space_line, space_of, with_space
from anamnesis.store.spaces import lines_of_project, unshared, who_reads
from anamnesis.sync.conflicts import list_conflicts


def test_a_note_is_the_same_file_on_another_machine(machine: Machines) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("body\nwith lines", tags=["a"])
    assert one.sync().sent.counts == {"new": 1}
    done = two.sync()
    assert done.received.counts == {"new": 1}
    assert done.detail == "synced"
    assert two.text(note) == one.text(note)
    assert two.store.search("body")[0].id == note


def test_an_exchange_with_nothing_to_do_is_one_request(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    one.write("x")
    one.sync()
    hub.requests.clear()
    one.sync()
    assert hub.requests == ["/v1/sync"]


def test_our_own_changes_are_not_received_again(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    for number in range(3):
        one.write(f"body {number}")
    one.sync()
    assert one.standing().spaces[0].cursor == hub.spaces["~you"].seq == 3


def test_changes_and_deletions_are_exchanged_and_deleted_notes_go_to_the_trash(machine: Machines) -> None:
    one, two = machine("one"), machine("two")
    kept, gone = one.write("kept"), one.write("gone")
    one.sync(), two.sync()
    two.store.update(kept, body="changed")
    two.store.delete(gone)
    assert two.sync().sent.counts == {"changed": 1, "deleted": 1}
    one.sync()
    assert one.bodies() == {kept: "changed"}
    assert [each.id for each in one.store.trashed()] == [gone]
    one.store.restore(gone)
    one.sync(), two.sync()
    assert two.bodies() == {kept: "changed", gone: "gone"}


def test_changes_to_different_lines_are_merged(machine: Machines) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("a\nb\nc\nd\ne")
    one.sync(), two.sync()
    one.store.update(note, body="A\nb\nc\nd\ne")
    two.store.update(note, body="a\nb\nc\nd\nE")
    one.sync(), two.sync(), one.sync()
    assert one.bodies() == two.bodies() == {note: "A\nb\nc\nd\nE"}
    assert one.text(note) == two.text(note)


def test_changes_to_the_same_line_keep_both_versions(machine: Machines) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("a")
    one.sync(), two.sync()
    one.store.update(note, body="one")
    two.store.update(note, body="two")
    one.sync()
    done = two.sync()
    assert done.conflicted
    assert "conflicts" in done.detail
    one.sync()
    assert one.bodies() == two.bodies()
    assert sorted(one.bodies().values()) == ["one", "two"]
    (conflict,) = list_conflicts(one.store)
    assert conflict.id == note
    assert CONFLICT_TAG in conflict.other.tags


def test_changes_to_the_same_title_keep_both_and_the_newer_type_is_named(machine: Machines) -> None:
    one, two = machine("one"), machine("two")
    title, typed = one.write("", title="Always squash"), one.write("a")
    one.sync(), two.sync()
    for each in (one, two):
        each.store.update(title, title=f"Of {each.settings.machine_id}")
    one.store.put(replace(one.store.get(typed), type="procedural", updated_at="2031-01-01T00:00:00+00:00"))
    two.store.put(replace(two.store.get(typed), type="episodic", updated_at="2032-01-01T00:00:00+00:00"))
    one.sync()
    done = two.sync()
    one.sync()
    assert done.conflicted
    assert done.decided == (f"type of {typed}: kept `episodic` (newer), not `procedural`",)
    for each in (one, two):
        assert {note.title for note in each.notes()} >= {"Of one", "Of two"}
        assert [conflict.id for conflict in list_conflicts(each.store)] == [title]


def test_a_change_wins_over_a_deletion_on_either_side(machine: Machines) -> None:
    one, two = machine("one"), machine("two")
    first, second = one.write("first"), one.write("second")
    one.sync(), two.sync()
    one.store.delete(first)
    one.store.update(second, body="second, changed")
    two.store.update(first, body="first, changed")
    two.store.delete(second)
    one.sync(), two.sync(), one.sync()
    assert one.bodies() == two.bodies() == {first: "first, changed", second: "second, changed"}


def test_a_machine_local_note_never_leaves_and_one_that_becomes_local_is_deleted_elsewhere(
    machine: Machines, hub: SmallHub
) -> None:
    one, two = machine("one"), machine("two")
    one.write("secret plan", scope="machine-local")
    note = one.write("public")
    one.sync(), two.sync()
    assert [*hub.spaces["~you"].live()] == [note]
    one.store.move(note, "machine-local")
    one.sync(), two.sync()
    assert not hub.spaces["~you"].live()
    assert len(one.bodies()) == 2
    assert two.bodies() == {}


def test_an_edit_elsewhere_wins_over_keeping_a_note_here(machine: Machines) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("one")
    one.sync(), two.sync()
    one.store.move(note, "machine-local")
    two.store.update(note, body="of two")
    two.sync(), one.sync(), two.sync()
    assert one.bodies() == two.bodies() == {note: "of two"}
    assert one.text(note) == two.text(note)
    assert [each.id for each in one.store.trashed()] == [note], "the version on which the edit was made"


@pytest.mark.parametrize("is_sent", [True, False], ids=["deleted at the hub before", "not yet"])
def test_what_was_written_in_a_note_kept_here_stays_here_when_it_is_edited_elsewhere(
    machine: Machines, hub: SmallHub, is_sent: bool
) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("one")
    one.sync(), two.sync()
    one.store.move(note, "machine-local")
    if is_sent:
        one.sync()
    one.store.update(note, body="private")
    two.store.update(note, body="of two")
    two.sync()
    assert one.sync().conflicted
    two.sync()
    assert two.bodies() == {note: "of two"} == hub_bodies(hub)
    assert one.text(note) == two.text(note)
    (kept,) = (one.store.get(each) for each in one.bodies() if each != note)
    assert (kept.body, kept.scope, conflict_of(kept)) == ("private", "machine-local", note)
    assert one.sync().sent.total == 0


def test_an_edit_that_a_note_kept_here_has_and_the_one_that_comes_back_lacks_stays_here(machine: Machines) -> None:
    one, two, three = (machine(name) for name in ("one", "two", "three"))
    note = one.write("a")
    for each in (one, two, three):
        each.sync()
    two.store.update(note, body="a\nof two")
    two.sync(), one.sync()
    one.store.move(note, "machine-local")
    one.sync()
    three.store.update(note, body="of three\na")
    three.sync(), one.sync()
    assert sorted(one.bodies().values()) == ["a\nof two", "of three\na"]


def hub_bodies(hub: SmallHub) -> dict[str, str]:
    return {note: parse(text).body for note, text in hub.spaces["~you"].live().items()}


def test_a_version_that_cannot_be_parsed_leaves_a_note_kept_here_until_one_that_can(
    machine: Machines, hub: SmallHub
) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("one")
    one.sync(), two.sync()
    one.store.move(note, "machine-local")
    hub.put("~you", note, "from a newer release")
    one.sync(), one.sync()
    assert one.bodies() == {note: "one"}
    hub.put("~you", note, two.text(note).replace("one\n", "of two\n"))
    one.sync(), one.sync()
    assert one.bodies() == {note: "of two"}


def test_a_note_kept_here_whose_version_the_hub_sends_again_stays_here(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    note = one.write("one")
    one.sync()
    one.store.move(note, "machine-local")
    hub.id = "restored"
    one.sync(), one.sync()
    assert [each.scope for each in one.notes()] == ["machine-local"]
    assert not hub.spaces["~you"].live()


def test_a_note_without_front_matter_is_exchanged_and_its_file_stays_as_it_is(machine: Machines) -> None:
    one, two = machine("one"), machine("two")
    file = one.store.memory_dir / "semantic" / "shopping list.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text("# Shopping\n\nmilk\n")
    one.sync(), two.sync()
    (note,) = two.notes()
    assert note.title == "Shopping"
    assert file.read_text() == "# Shopping\n\nmilk\n"
    two.store.delete(note.id)
    two.sync(), one.sync()
    assert one.notes() == []
    assert "milk" in (one.store.root / one.store.trashed()[0].path).read_text()


@pytest.mark.parametrize("text", ["\ufeff", "\r\n", "aliases: [x]"], ids=["bom", "crlf", "foreign"])
def test_texts_are_exchanged_byte_for_byte(machine: Machines, text: str) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("a\nb")
    path = one.store.root / (one.store.file(note) or pytest.fail()).path
    data = path.read_text("utf-8")
    changed = {"\ufeff": f"\ufeff{data}", "\r\n": data.replace("\n", "\r\n")}.get(
        text, data.replace("tags:", f"{text}\ntags:")
    )
    path.write_bytes(changed.encode())
    one.sync(), two.sync()
    assert (two.store.root / (two.store.file(note) or pytest.fail()).path).read_bytes() == changed.encode()


def test_an_edit_in_place_is_sent(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    note = one.write("before")
    one.sync()
    path = one.store.root / (one.store.file(note) or pytest.fail()).path
    with path.open("r+b") as file:
        data = file.read().replace(b"before", b"after, in place")
        file.seek(0)
        file.write(data)
    one.sync()
    assert "after, in place" in (hub.text("~you", note) or "")


def test_a_file_that_is_edited_during_an_exchange_is_merged_not_overwritten(machine: Machines, hub: SmallHub) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("a\nb\nc\nd\ne")
    one.sync(), two.sync()
    two.store.update(note, body="a\nb\nc\nd\nE")
    two.sync()
    path = one.store.root / (one.store.file(note) or pytest.fail()).path

    def edit(request: str, when: str) -> bool:
        if request == "/v1/sync" and when == "after" and b"\nA\n" not in path.read_bytes():
            path.write_bytes(path.read_bytes().replace(b"\na\n", b"\nA\n"))
        return False

    hub.cut = edit
    one.sync()
    assert one.bodies() == {note: "A\nb\nc\nd\nE"}
    one.sync(), two.sync()
    assert two.bodies() == {note: "A\nb\nc\nd\nE"}


def test_an_unreadable_file_is_neither_overwritten_nor_a_deletion(machine: Machines, hub: SmallHub) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("a")
    one.sync(), two.sync()
    path = one.store.root / (one.store.file(note) or pytest.fail()).path
    good = path.read_bytes()
    path.write_bytes(b"---\nid: " + note.encode() + b"\n<<<<<<< x\n")
    one.sync()
    assert hub.text("~you", note)
    two.store.update(note, body="b")
    two.sync(), one.sync()
    assert path.read_bytes().endswith(b"<<<<<<< x\n")
    assert "cannot be read" in one.reasons()[0]
    path.write_bytes(good)
    one.sync()
    assert one.bodies() == {note: "b"}
    assert one.reasons() == []


def test_a_secret_is_redacted_at_the_hub_and_then_here(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    note = one.write("x")
    path = one.store.root / (one.store.file(note) or pytest.fail()).path
    path.write_text(path.read_text().replace("\nx\n", "\nghp_" + "a1B2" * 9 + "\n"))
    one.sync()
    assert "ghp_" not in path.read_text()
    assert path.read_text() == hub.text("~you", note)
    assert one.sync().sent.total == 0


def test_a_refused_text_stays_queued_and_is_sent_after_an_edit(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    note = one.write("REFUSE me")
    assert one.sync().waiting == 1
    assert one.reasons() == ["Not this one."]
    hub.requests.clear()
    one.sync()
    assert hub.requests == ["/v1/sync"]
    one.sync(retries=True)
    assert "/v1/changes" in hub.requests
    one.store.update(note, body="fine")
    assert one.sync().waiting == 0
    assert one.reasons() == []


def test_notes_of_a_space_reach_its_members_and_nobody_else(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "reader"})
    one, two = machine("one"), machine("two", "mate")
    own, shared = one.write("own"), one.write("shared")
    one.store.update(shared, extra=with_space(one.store.get(shared), "core").extra)
    one.sync(), two.sync()
    assert two.bodies() == {shared: "shared"}
    assert [*hub.spaces["~you"].live()] == [own]


def test_a_readers_edit_stays_local_and_later_versions_are_merged_into_it(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "reader"})
    one, two = machine("one"), machine("two", "mate")
    note = one.write("a\nb\nc\nd\ne")
    one.store.update(note, extra=with_space(one.store.get(note), "core").extra)
    one.sync(), two.sync()
    two.store.update(note, body="a\nb\nc\nd\nE")
    assert two.sync().waiting == 1
    assert two.reasons() == ["You may only read the space core."]
    one.store.update(note, body="A\nb\nc\nd\ne")
    one.sync(), two.sync()
    assert two.bodies() == {note: "A\nb\nc\nd\nE"}
    hub.spaces["core"].members["mate"] = "writer"
    two.sync(), one.sync()
    assert one.bodies() == {note: "A\nb\nc\nd\nE"}
    assert two.reasons() == []


def test_a_note_that_names_another_space_moves_there_on_all_machines(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    one, two, three = machine("one"), machine("two"), machine("three", "mate")
    note = one.write("a")
    one.sync(), two.sync()
    two.store.update(note, body="a, changed")
    one.store.update(note, extra=with_space(one.store.get(note), "core").extra)
    one.sync(), two.sync(), three.sync(), one.sync()
    assert not hub.spaces["~you"].live()
    assert one.bodies() == two.bodies() == three.bodies() == {note: "a, changed"}
    assert one.text(note) == two.text(note) == three.text(note)
    two.store.update(note, extra=with_space(two.store.get(note), "~you").extra)
    two.sync(), one.sync(), three.sync()
    assert not hub.spaces["core"].live()
    assert one.bodies() == {note: "a, changed"}
    assert three.bodies() == {}
    assert len(three.store.trashed()) == 1


def test_a_project_that_a_space_is_given_takes_no_note_along(machine: Machines, hub: SmallHub) -> None:
    """Neither one that the hub has nor one written offline; an edit or the user's other machine does not either."""
    one, laptop, mate = machine("one"), machine("laptop"), machine("two", "mate")
    synced, unsent = one.write("a", project="acme/web"), one.write("b", project="acme/web")
    one.sync(), laptop.sync()
    late = one.write("c", project="acme/web")
    hub.spaces["core"] = Space({"you": "writer", "mate": "reader"}, ["acme/web", "global"])
    diary = one.write("Dear diary.")
    one.sync(), laptop.sync(), mate.sync()
    laptop.store.update(synced, body="a, edited")
    one.store.update(unsent, tags=["edited"])
    for each in (laptop, one, laptop, mate):
        each.sync()
    assert {*hub.spaces["~you"].live()} == {synced, unsent, late, diary}
    assert mate.bodies() == {} and not hub.spaces["core"].versions
    assert [(each.project, each.spaces, {*each.notes}) for each in unshared(laptop.store)] == [
        ("acme/web", ["core"], {synced, unsent, late})
    ]
    assert unshared(mate.store) == []


def test_a_note_stays_in_the_space_that_its_project_was_taken_from(machine: Machines, hub: SmallHub) -> None:
    """Also one that an earlier release sent there, which names no space."""
    hub.spaces["core"] = Space({"you": "writer", "mate": "reader"}, ["acme/web"])
    one, two = machine("one"), machine("two", "mate")
    hub.put("core", "OLD", render(Memory("OLD", "semantic", "T", "old", project="acme/web")), "you")
    one.sync()
    new = one.write("new", project="acme/web", extra=lines_of_project(one.store, "acme/web", "portable", {}))
    hub.spaces["core"].projects = []
    one.store.update("OLD", body="old, edited")
    one.sync(), two.sync()
    assert two.bodies() == {"OLD": "old, edited", new: "new"}
    assert unshared(one.store) == []


def test_a_project_of_two_spaces_or_of_one_to_read_sends_nothing(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer"}, ["acme", "solo"])
    hub.spaces["ops"] = Space({"you": "writer"}, ["acme"])
    hub.spaces["all"] = Space({"you": "reader"}, ["acme", "solo", "read"])
    one = machine("one")
    one.sync()
    none: dict[str, str] = {}
    for project, expected in (
        ("acme", none),
        ("solo", space_line("core")),
        ("read", none),
        ("Solo", space_line("core")),
    ):
        assert lines_of_project(one.store, project, "portable", {}) == expected, project
    assert lines_of_project(one.store, "solo/part", "portable", {}) == {}
    hub.spaces["~you"].projects = ["own"]
    hub.spaces["core"].projects.append("own")
    assert "~you" not in one.sync().detail
    assert lines_of_project(one.store, "own", "portable", {}) == {}
    assert lines_of_project(one.store, "solo", "machine-local", {}) == {}
    assert lines_of_project(one.store, "solo", "portable", space_line("~own")) == space_line("~own")
    note = one.write("a", project="acme")
    assert "core and ops have its project" in who_reads(one.store, one.store.get(note))
    assert [each.spaces for each in unshared(one.store)] == [["core", "ops"]]


def test_a_removed_member_keeps_the_notes_and_gets_a_message(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    one, two = machine("one"), machine("two", "mate")
    note = one.write("a")
    one.store.update(note, extra=with_space(one.store.get(note), "core").extra)
    one.sync(), two.sync()
    del hub.spaces["core"].members["mate"]
    assert "removed from the space core" in two.sync().detail
    assert two.bodies() == {note: "a"}
    two.store.update(note, body="mine")
    assert two.sync().waiting == 1
    assert "no longer a member" in two.reasons()[0]
    assert hub.text("~mate", note) is None
    hub.spaces["core"].members["mate"] = "writer"
    two.sync()
    assert "mine" in (hub.text("core", note) or "")


def test_a_note_for_a_missing_space_stays_queued(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    note = one.write("a")
    one.store.update(note, extra=with_space(one.store.get(note), "core").extra)
    assert one.sync().waiting == 1
    assert one.reasons() == ["You have no space core at the hub."]
    assert not hub.spaces["~you"].live()
    hub.spaces["core"] = Space({"you": "owner"})
    one.sync()
    assert [*hub.spaces["core"].live()] == [note]


def test_the_other_version_of_a_conflict_goes_to_the_space_of_the_note(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    one, two = machine("one"), machine("two", "mate")
    note = "NOTE"
    hub.put("core", note, render(Memory(note, "semantic", "T", "a", project="acme")), "you")  # it names no space
    one.sync(), two.sync()
    one.store.update(note, body="one")
    two.store.update(note, body="two")
    one.sync(), two.sync(), one.sync()
    assert len(hub.spaces["core"].live()) == 2
    assert not hub.spaces["~you"].live()
    assert not hub.spaces["~mate"].live()
    assert one.bodies() == two.bodies()


def test_a_home_that_lost_its_files_receives_them_again(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    for number in range(30):
        one.write(f"note {number}")
    one.sync()
    before = one.bodies()
    for file in one.store.memory_dir.rglob("*.md"):
        file.unlink()
    done = one.sync()
    assert "30 notes missing here were restored" in done.detail
    assert one.bodies() == before
    assert len(hub.spaces["~you"].live()) == 30


def test_many_notes_that_a_person_deleted_are_deleted_at_the_hub(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    for number in range(30):
        one.write(f"note {number}")
    one.sync()
    for note in one.bodies():
        one.store.delete(note)
    one.sync()
    assert not hub.spaces["~you"].live()


def test_a_lost_index_or_hub_db_loses_nothing(machine: Machines, hub: SmallHub, tmp_path: Path) -> None:
    one, two = machine("one"), machine("two")
    note, gone = one.write("a\nb\nc\nd\ne"), one.write("gone")
    one.sync(), two.sync()
    one.store.delete(gone)
    one.store.reindex()
    one.sync()
    assert [*hub.spaces["~you"].live()] == [note]
    for file in tmp_path.glob("one/hub.db*"):
        file.unlink()
    one.store.update(note, body="a\nb\nc\nd\nE")
    one.sync(), two.sync(), one.sync()
    assert one.bodies() == two.bodies()
    assert "a\nb\nc\nd\nE" in one.bodies().values()


def test_another_hub_gets_no_notes_of_the_first(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer"})
    other = SmallHub()
    try:
        other.id = "hub-two"
        other.add_user("you")
        one = machine("one")
        one.write("own")
        shared = one.write("shared")
        one.store.update(shared, extra=with_space(one.store.get(shared), "core").extra)
        one.sync()
        again = machine("one", at=other)
        assert again.sync().waiting == 1
        assert other.spaces["~you"].live() == {}
        assert f"the space core of another login of this home, you at {hub.url}" in again.reasons()[0]
        back = machine("one", at=hub)
        back.store.update(shared, body="changed")
        back.sync()
        assert "changed" in (hub.text("core", shared) or "")
        assert space_of(back.store.get(shared)) == "core"
    finally:
        other.close()


def test_a_restored_hub_receives_the_notes_that_its_backup_lacks(machine: Machines, hub: SmallHub) -> None:
    one, two = machine("one"), machine("two")
    old = one.write("old")
    one.sync(), two.sync()
    saved = {note: [*versions] for note, versions in hub.spaces["~you"].versions.items()}
    one.write("new")
    one.store.update(old, body="old, changed")
    one.sync(), two.sync()
    hub.spaces["~you"] = Space({"you": "owner"}, seq=1, versions=saved)
    hub.id = "hub-restored"
    one.sync(), two.sync(), one.sync(), two.sync()
    assert one.bodies() == two.bodies()
    assert {"new", "old, changed"} <= {*one.bodies().values()}
    assert len(hub.spaces["~you"].live()) == len(one.bodies())


def test_a_purged_note_stays_away_and_is_deleted_at_the_hub(machine: Machines, hub: SmallHub) -> None:
    from anamnesis.store.purging import purge

    one, two = machine("one"), machine("two")
    note = one.write("a")
    one.sync(), two.sync()
    purge(one.store, note)
    two.store.update(note, body="b")
    two.sync(), one.sync()
    assert one.bodies() == {}
    assert not hub.spaces["~you"].live()
    two.sync()
    assert two.bodies() == {}


def test_pages_of_several_spaces_are_all_received(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer"})
    hub.page = 3
    one, two = machine("one"), machine("two")
    for number in range(8):
        note = one.write(f"n {number}")
        if number % 2:
            one.store.update(note, extra=with_space(one.store.get(note), "core").extra)
    one.sync(), two.sync()
    assert two.bodies() == one.bodies()


def test_different_clocks_lose_nothing(machine: Machines) -> None:
    one, two = machine("one"), machine("two")
    note = one.write("a\nb\nc\nd\ne")
    one.sync(), two.sync()
    early = one.store.get(note)
    one.store.update(note, body="A\nb\nc\nd\ne")
    slow = two.store.get(note)
    from dataclasses import replace

    two.store.put(replace(slow, body="a\nb\nc\nd\nE", updated_at="2020-01-01T00:00:00+00:00"))
    one.sync(), two.sync(), one.sync()
    assert early.updated_at
    assert one.bodies() == two.bodies() == {note: "A\nb\nc\nd\nE"}


def test_only_the_owner_can_read_the_files_of_an_exchange(machine: Machines) -> None:
    one, two = machine("one"), machine("two")
    one.write("a")
    one.sync(), two.sync()
    for path in (two.store.root / "hub.json", two.store.root / "hub.db", *two.store.memory_dir.rglob("*.md")):
        assert os.stat(path).st_mode & 0o077 == 0, path


def test_a_state_that_knew_no_invitations_learns_them(machine: Machines) -> None:
    one = machine("one")
    note = one.write("kept")
    one.sync()
    with closing(sqlite3.connect(one.store.root / "hub.db", isolation_level=None)) as db:
        db.execute("DROP TABLE invitations")
        db.execute("PRAGMA user_version = 1")
    offered = Invitation("core", "writer", "mate", ("acme/api",))
    assert (one.standing().invitations, one.standing().notes) == ((), {"~you": 1})
    account = read_account(one.store.root)
    assert account
    with closing(HubDatabase(one.store.root)) as database:
        state = HubState(database, account)
        state.save_invitations([offered])
        assert (state.untold(), [*state.agreed([note])]) == (["core"], [note])
        state.mark_told({})
        state.save_invitations([offered._replace(role="reader")])
        assert state.untold() == []
    assert one.standing().invitations == (offered._replace(role="reader"),)
    one.sync()
    assert one.standing().invitations == ()
