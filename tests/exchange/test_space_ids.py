"""The exchange state belongs to a space's id: spaces can be renamed, and a name can be given to another space."""

from __future__ import annotations

from tests.exchange.conftest import Machines
from tests.exchange.small_hub import SmallHub, Space
from tests.exchange.test_two_spaces import move

from anamnesis.exchange.account import read_account
from anamnesis.exchange.state import HubDatabase, HubState


def test_a_renamed_space_keeps_its_notes_and_unsent_changes(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    one, two = machine("one"), machine("two", "mate")
    note = one.write("first\nsecond\nthird")
    move(one, note, "core")
    one.sync(), two.sync()
    hub.spaces["kernel"] = hub.spaces.pop("core")
    one.store.update(note, body="first here\nsecond\nthird")
    two.store.update(note, body="first\nsecond\nthird there")
    assert two.sync().detail == one.sync().detail == "synced"
    two.sync()
    assert one.bodies() == two.bodies() == {note: "first here\nsecond\nthird there"}
    assert [each.name for each in one.standing().spaces] == ["~you", "kernel"]
    assert one.standing().notes == {"kernel": 1}
    assert [*hub.spaces["~you"].live()] == []


def test_two_spaces_that_swap_their_names_are_told_apart(machine: Machines, hub: SmallHub) -> None:
    """The cursor of one must not skip versions of the other."""
    hub.spaces |= {"core": Space({"you": "writer"}), "team": Space({"you": "writer", "mate": "writer"})}
    one, two = machine("one"), machine("two", "mate")
    notes = {name: one.write(name) for name in ("core", "team")}
    for name, note in notes.items():
        move(one, note, name)
    for number in range(5):
        one.store.update(notes["core"], body=f"core {number}")
        one.sync()
    two.sync()
    two.store.update(notes["team"], body="team, changed")
    two.sync()
    hub.spaces["core"], hub.spaces["team"] = hub.spaces["team"], hub.spaces["core"]
    one.sync(), two.sync()
    assert one.bodies() == {notes["core"]: "core 4", notes["team"]: "team, changed"}
    assert two.bodies() == {notes["team"]: "team, changed"}
    one.store.update(notes["core"], body="core 5")
    one.sync(), two.sync()
    assert "core 5" in (hub.text("team", notes["core"]) or "")
    assert [*two.bodies()] == [notes["team"]]


def test_another_space_of_the_same_name_gets_no_notes_of_the_first(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = first = Space({"you": "writer"})
    one, two = machine("one"), machine("two", "mate")
    note = one.write("for the first")
    move(one, note, "core")
    one.sync()
    hub.spaces["core"] = other = Space({"you": "writer", "mate": "writer"})
    hub.put("core", "N1", None)
    assert f"you were removed from the space core (no. {first.id}), and its notes stay here" in one.sync().detail
    one.store.update(note, body="for the first, changed")
    one.sync(), two.sync()
    assert other.live() == {}
    assert two.bodies() == {}
    assert one.bodies() == {note: "for the first, changed"}
    assert one.reasons() == [f"You are no longer a member of the space core (no. {first.id})."]
    fresh = one.write("for the second")
    move(one, fresh, "core")
    one.sync(), two.sync()
    assert two.bodies() == {fresh: "for the second"}


def test_a_space_that_is_replaced_during_an_exchange_gets_no_notes_of_the_first(
    machine: Machines, hub: SmallHub
) -> None:
    hub.spaces["core"] = first = Space({"you": "writer"})
    one = machine("one")
    note, gone = one.write("for the first"), one.write("deleted")
    for each in (note, gone):
        move(one, each, "core")
    one.sync()
    one.store.update(note, body="for the first, changed")
    one.store.delete(gone)
    other = Space({"you": "writer", "mate": "writer"})

    def replace_space(path: str, when: str) -> bool:
        if path == "/v1/changes" and when == "before":
            hub.spaces["core"] = other
        return False

    hub.cut = replace_space
    one.sync()
    assert other.versions == {}
    one.sync()
    assert other.versions == {}
    fault = f"You are no longer a member of the space core (no. {first.id})."
    assert sorted(one.reasons()) == [f"It was deleted here. {fault}", fault]
    assert one.bodies() == {note: "for the first, changed"}


def test_spaces_that_swap_names_during_an_exchange_get_their_notes_with_the_next(
    machine: Machines, hub: SmallHub
) -> None:
    hub.spaces |= {"core": Space({"you": "writer"}), "team": Space({"you": "writer"})}
    one = machine("one")
    note = one.write("a")
    move(one, note, "core")
    one.sync()
    one.store.update(note, body="b")
    swaps = [True]

    def swap(path: str, when: str) -> bool:
        if path == "/v1/changes" and when == "before" and swaps:
            hub.spaces["core"], hub.spaces["team"] = hub.spaces["team"], hub.spaces["core"]
            swaps.pop()
        return False

    hub.cut = swap
    assert one.sync().waiting == 1
    assert one.sync().waiting == 0
    assert hub.spaces["core"].live() == {}
    assert "b" in (hub.text("team", note) or "")


def test_a_note_of_a_removed_space_can_be_moved_to_another_of_the_same_name(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer"})
    one = machine("one")
    note = one.write("a")
    move(one, note, "core")
    one.sync()
    hub.spaces["core"] = Space({"you": "writer"})
    one.sync()
    account = read_account(one.store.root)
    assert account
    database = HubDatabase(one.store.root)
    HubState(database, account).release([note])  # as `anamnesis move` does
    database.close()
    move(one, note, "core")
    one.sync()
    assert [*hub.spaces["core"].live()] == [note]
    assert one.reasons() == []


def test_a_member_who_returns_resumes_the_exchange(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    one = machine("one")
    note = one.write("a")
    move(one, note, "core")
    one.sync()
    del hub.spaces["core"].members["you"]
    one.sync()
    hub.spaces["kernel"] = hub.spaces.pop("core")
    hub.spaces["kernel"].members["you"] = "writer"
    one.store.update(note, body="b")
    one.sync()
    assert "b" in (hub.text("kernel", note) or "")
    assert len(hub.spaces["kernel"].versions[note]) == 2


def test_a_restored_hub_may_reuse_an_id(machine: Machines, hub: SmallHub) -> None:
    """A space that the backup lacks is not a later space with the same id."""
    hub.spaces["core"] = lost = Space({"you": "writer"})
    one = machine("one")
    note = one.write("a")
    move(one, note, "core")
    one.sync()
    del hub.spaces["core"]
    hub.id = "hub-restored"
    hub.spaces["other"] = Space({"you": "writer", "mate": "writer"}, id=lost.id)
    for _ in range(2):
        one.sync()
    assert hub.spaces["other"].live() == {}
    assert one.bodies() == {note: "a"}
