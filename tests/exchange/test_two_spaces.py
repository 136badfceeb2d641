"""A note that is in two spaces at once: nothing of either is lost, and nothing private is shared."""

from __future__ import annotations

import pytest
from tests.exchange.conftest import Machine, Machines
from tests.exchange.small_hub import SmallHub, Space

from anamnesis.notes import render
from anamnesis.notes.spaces import with_space


def move(machine: Machine, note: str, space: str) -> None:
    machine.store.update(note, extra=with_space(machine.store.get(note), space).extra)


def test_a_note_taken_back_while_a_teammate_changes_it_stays_out_and_the_teammate_keeps_the_change(
    machine: Machines, hub: SmallHub
) -> None:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"})
    one, laptop, two = machine("one"), machine("laptop"), machine("two", "mate")
    note = one.write("shared")
    move(one, note, "core")
    for each in (one, laptop, two):
        each.sync()
    move(one, note, "~you")
    one.store.update(note, body="shared, and private")
    two.store.update(note, body="shared, and changed by mate")
    for each in (one, two, one, laptop, two, one, laptop):
        each.sync()
    assert one.bodies() == laptop.bodies() == {note: "shared, and private"}
    assert not hub.spaces["core"].live()
    (copy,) = two.bodies()
    assert copy != note
    assert two.bodies() == {copy: "shared, and changed by mate"}
    assert [*hub.spaces["~mate"].live()] == [copy]
    assert two.standing().news == (
        f"you took “T” out of the space core: your changed version is a note of your own, {copy}.",
    )


def test_two_machines_do_not_delete_a_note_in_both_spaces_while_one_of_them_moves_it(
    machine: Machines, hub: SmallHub
) -> None:
    """The first creates it in the new space, the second sees it in both, then the first deletes it in the old one."""
    hub.spaces["core"] = Space({"you": "writer"})
    one, two = machine("one"), machine("two")
    note = one.write("a")
    move(one, note, "core")
    one.sync()
    move(one, note, "~you")

    def complete_the_move(path: str, when: str) -> bool:
        if path == "/v1/changes" and when == "before" and hub.text("core", note):
            hub.put("core", note, None)
        return False

    hub.cut = lambda path, when: path == "/v1/changes" and when == "before" and bool(hub.text("~you", note))
    assert one.sync().waiting == 1
    hub.cut = complete_the_move
    two.sync()
    for each in (one, two, one):
        each.sync()
    assert one.bodies() == two.bodies() == {note: "a"}
    assert [*hub.spaces["~you"].live()] == [note]
    assert [*hub.spaces["core"].live()] == []


def test_a_copy_under_the_same_id_in_another_space_is_left_alone(machine: Machines, hub: SmallHub) -> None:
    hub.spaces["core"] = Space({"you": "writer"})
    hub.spaces["team"] = Space({"you": "writer", "mate": "writer"})
    one, two = machine("one"), machine("two", "mate")
    note = one.write("in core")
    move(one, note, "core")
    one.sync()
    copy = with_space(one.store.get(note), "team")
    hub.put("team", note, render(copy))
    for each in (one, two, one):
        each.sync()
    assert hub.text("core", note)
    assert hub.text("team", note)
    assert two.bodies() == {note: "in core"}
    one.store.update(note, body="changed in core")
    one.sync(), two.sync()
    assert "changed" in (hub.text("core", note) or "")
    assert two.bodies() == {note: "in core"}


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_a_member_who_moves_a_note_of_another_gets_a_copy(machine: Machines, hub: SmallHub, role: str) -> None:
    hub.spaces["core"] = Space({"you": role, "mate": "writer"})
    one, two = machine("one"), machine("two", "mate")
    note = two.write("a")
    move(two, note, "core")
    two.sync(), one.sync()
    move(one, note, "~you")
    one.sync(), two.sync()
    assert two.bodies() == {note: "a"}
    assert two.standing().news == ()
    (copy,) = one.bodies().keys() - {note}
    assert one.bodies() == {note: "a", copy: "a"}
    assert one.text(note) == two.text(note)
    assert [*hub.spaces["~you"].live()] == [copy]
    assert one.standing().news == (f"“T” is mate's and stays in the space core: you have a copy in ~you, {copy}.",)
    assert one.sync().sent.total == 0
    assert one.reasons() == []
