"""Whoever knows the id of a private note cannot put a note of theirs in its place."""

from __future__ import annotations

from tests.exchange.conftest import Machines
from tests.exchange.small_hub import SmallHub, Space

from anamnesis.notes import Memory, render
from anamnesis.notes.spaces import with_space

REASON = "Another member has a note with the same id in core: yours stays as it is, and theirs is not received."


def theirs(note: str, body: str = "Theirs.") -> str:
    return render(Memory(note, "semantic", "T", body, machine_id="other"))


def test_a_private_note_keeps_its_id_on_every_machine(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    one, fresh = machine("one"), machine("fresh")
    note = one.write("Private.")
    one.sync()
    hub.put("core", note, theirs(note))
    for each in (one, fresh, one, fresh):
        assert each.sync().waiting == 1
        assert each.bodies() == {note: "Private."}
        assert each.reasons() == [REASON]
    assert [*hub.spaces["~you"].live()] == [note]
    one.store.update(note, body="Private, and changed.")
    hub.put("core", note, theirs(note, "Theirs, and changed."))
    for each in (one, fresh):
        each.sync()
        assert each.bodies() == {note: "Private, and changed."}
    assert "Private" not in str(hub.spaces["core"].versions)


def test_it_is_received_once_the_private_note_is_gone(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    one = machine("one")
    note = one.write("Private.")
    one.sync()
    hub.put("core", note, theirs(note))
    one.sync()
    one.store.delete(note)
    one.sync()
    assert one.sync().waiting == 0
    assert one.bodies() == {note: "Theirs."}


def test_a_note_that_its_owner_shares_waits_too_and_stops_nothing(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    one = machine("one")
    note, other = one.write("Private."), one.write("Other.")
    one.sync()
    hub.put("core", note, theirs(note))
    for each in (note, other):
        one.store.update(each, extra=with_space(one.store.get(each), "core").extra)
    assert one.sync().waiting == 1
    assert (one.bodies()[note], one.reasons()) == ("Private.", [REASON])
    assert [*hub.spaces["~you"].live()] == [note]
    assert {*hub.spaces["core"].live()} == {note, other}


def test_a_note_that_its_owner_moved_and_a_teammate_changed_is_no_claim(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    one, two = machine("one"), machine("two")
    note = one.write("Shared.")
    for each in (one, two):
        each.sync()
    hub.put("core", note, theirs(note, "Shared."), "you")  # as one's machine has just done, before it deletes the other
    hub.put("core", note, theirs(note, "Shared, and changed."))
    two.sync()
    assert two.reasons() == []
    assert "Shared, and changed." in two.bodies().values()
