"""A change that the hub cannot process holds up no other, waits with the reason, and is sent again."""

from __future__ import annotations

import pytest
from tests.exchange.conftest import Machines
from tests.exchange.small_hub import SmallHub, Space

from anamnesis.notes.spaces import with_space


@pytest.mark.parametrize("failure", [500, 503, 413, 400])
def test_all_other_notes_arrive_also_the_later_ones(machine: Machines, hub: SmallHub, failure: int) -> None:
    one = machine("one")
    hub.fails_at, hub.failure = ["cursed", "doomed"], failure
    notes = [one.write(text) for text in ("a", "cursed", *"bcdefg", "doomed", "h")]
    done = one.sync()
    assert (done.reached, done.waiting, done.sent.total) == (True, 2, 8)
    late = one.write("late")
    assert one.sync().waiting == 2
    assert {*hub.spaces["~you"].live()} == {*notes, late} - {notes[1], notes[8]}
    waiting = one.standing().waiting
    assert {each.note for each in waiting} == {notes[1], notes[8]}
    assert all("The database took too long" in each.reason for each in waiting)


def test_it_is_sent_again_once_the_hub_can_process_it(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    hub.fails_at = ["cursed"]
    note = one.write("cursed")
    assert one.sync().waiting == 1
    hub.fails_at = []
    assert one.sync().waiting == 0
    assert hub.text("~you", note)


def test_one_that_the_hub_refuses_for_good_is_sent_again_when_it_was_edited(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    hub.fails_at, hub.failure = ["cursed"], 400
    note = one.write("cursed")
    one.sync()
    before = hub.requests.count("/v1/changes")
    one.sync()
    assert hub.requests.count("/v1/changes") == before
    one.store.update(note, body="blessed")
    assert one.sync().waiting == 0
    assert hub.text("~you", note)


def test_a_hub_that_answers_nothing_is_asked_no_more_than_twice(machine: Machines, hub: SmallHub) -> None:
    one = machine("one")
    one.sync()
    for text in "abcdef":
        one.write(text)
    hub.cut = lambda path, _: path in ("/v1/changes", "/v1/me")
    before = len(hub.requests)
    assert not one.sync().reached
    assert one.standing().waiting == ()
    assert hub.requests[before:].count("/v1/changes") <= 2  # and once more on a new connection


def test_a_deletion_in_the_space_that_a_note_left_is_repeated(machine: Machines, hub: SmallHub) -> None:
    """Otherwise the note would stay in both."""
    hub.spaces["core"] = Space({"you": "writer"})
    one = machine("one")
    note = one.write("a")
    one.sync()
    one.store.update(note, extra=with_space(one.store.get(note), "core").extra)
    hub.fails_at = ['"text": null']
    assert one.sync().waiting == 1
    hub.fails_at = []
    assert one.sync().waiting == 0
    assert (hub.text("~you", note) is None, bool(hub.text("core", note))) == (True, True)
