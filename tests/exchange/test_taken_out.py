"""What a member takes out of a space stays out, and what somebody else wrote stays in; nobody loses a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from tests.exchange.conftest import Machine, Machines
from tests.exchange.small_hub import SmallHub, Space

from anamnesis import review
from anamnesis.inject import select_inject
from anamnesis.notes.spaces import space_line, with_space
from anamnesis.sync.conflicts import list_conflicts, resolve


class Team(NamedTuple):
    """You and a mate, and a space that both may write."""

    you: Machine
    mate: Machine
    core: Space

    def share(self, body: str = "Shared.") -> str:
        note = self.you.write(body, title="Plan", extra=space_line("core"))
        self.you.sync(), self.mate.sync()
        return note


@pytest.fixture
def team(machine: Machines, hub: SmallHub) -> Team:
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer", "late": "reader"})
    hub.add_user("late")
    return Team(machine("one"), machine("two", "mate"), hub.spaces["core"])


def move(machine: Machine, note: str, space: str = "~") -> None:
    machine.store.update(note, extra=with_space(machine.store.get(note), space).extra)


Taking = Callable[[Machine, str], object]
TAKING: dict[str, Taking] = {
    "moved": move,
    "deleted": lambda machine, note: machine.store.delete(note),
    "kept": lambda machine, note: machine.store.move(note, "machine-local"),
}


@pytest.mark.parametrize("how", TAKING)
@pytest.mark.parametrize("undoing", ["stale edit", "restore", "restore without hub.db"])
def test_neither_a_stale_edit_nor_a_restore_brings_it_back(team: Team, hub: SmallHub, how: str, undoing: str) -> None:
    you, mate, core = team
    note = team.share()
    TAKING[how](you, note)
    you.sync()
    if undoing == "stale edit":
        mate.store.update(note, body="Changed.")
    else:
        mate.sync()
        assert mate.bodies() == {}
        mate.store.restore(note)
    if undoing == "restore without hub.db":
        for file in mate.store.root.glob("hub.db*"):
            file.unlink()
    mate.sync(), you.sync()
    (copy,) = mate.bodies()
    assert copy != note
    assert mate.bodies() == {copy: "Changed." if undoing == "stale edit" else "Shared."}
    assert core.live() == {}
    assert [*hub.spaces["~mate"].live()] == [copy]
    told = mate.standing().news[-1]
    assert copy in told and "you took " in told and " out of the space core" in told
    assert you.bodies() == ({} if how == "deleted" else {note: "Shared."})
    assert mate.sync().sent.total == 0
    assert mate.reasons() == you.reasons() == []
    move(mate, copy, "core")
    mate.sync(), you.sync()
    assert [*core.live()] == [copy], "a move shares it again"
    assert copy in you.bodies()


@pytest.mark.parametrize("how", TAKING)
def test_an_edit_that_was_sent_meanwhile_does_not_bring_it_back_either(team: Team, how: str) -> None:
    you, mate, core = team
    note = team.share()
    mate.store.update(note, body="Changed.")
    TAKING[how](you, note)
    mate.sync(), you.sync(), mate.sync()
    assert core.live() == {}
    assert mate.bodies() == {}
    assert you.bodies() == {"moved": {note: "Changed."}, "deleted": {}, "kept": {note: "Shared."}}[how]
    assert [each.id for each in mate.store.trashed()] == [note]
    mate.store.restore(note)
    mate.sync()
    assert [*mate.bodies().values()] == ["Changed."]
    assert core.live() == {}


def test_an_edit_wins_over_a_note_that_lost_its_file_without_being_deleted(team: Team) -> None:
    you, mate, _ = team
    note = team.share()
    file = you.store.file(note)
    assert file
    (you.store.root / file.path).unlink()
    mate.store.update(note, body="Changed.")
    mate.sync(), you.sync()
    assert you.bodies() == {note: "Changed."}


def test_the_same_holds_among_the_machines_of_the_one_who_took_it_out(team: Team, machine: Machines) -> None:
    you, _, core = team
    laptop = machine("laptop")
    note = team.share()
    laptop.sync()
    laptop.store.update(note, body="Changed.")
    you.store.move(note, "machine-local")
    you.sync(), laptop.sync()
    assert core.live() == {}
    assert [*laptop.bodies().values()] == ["Changed."]
    you.store.move(note, "portable")
    you.sync()
    assert [*core.live()] == [note], "who took it out may bring it back"


@pytest.mark.parametrize("how", ["moved", "kept"])
@pytest.mark.parametrize("is_changed", [False, True], ids=["unchanged", "changed there"])
def test_what_another_member_wrote_is_copied_and_stays(
    team: Team, machine: Machines, hub: SmallHub, how: str, is_changed: bool
) -> None:
    you, mate, core = team
    laptop = machine("laptop", "mate")
    note = team.share()
    laptop.sync()
    mate.store.update(note, tags=["mine"])
    TAKING[how](mate, note)
    if is_changed:
        you.store.update(note, body="Changed.")
        you.sync()
    for each in (mate, you, laptop, mate):
        each.sync()
    shared = "Changed." if is_changed else "Shared."
    assert you.bodies() == {note: shared}
    assert mate.text(note) == you.text(note)
    assert you.standing().news == ()
    (copy,) = mate.bodies().keys() - {note}
    assert mate.store.get(copy).tags == ["mine"]
    assert laptop.bodies() == ({note: shared, copy: mate.bodies()[copy]} if how == "moved" else {note: shared})
    assert [*core.live()] == [note]
    for each in (mate, laptop):
        assert [told.id for told in select_inject(each.store, project="acme")] == [], "nobody has accepted the text"
    (told,) = mate.standing().news
    assert told.startswith("“Plan” is you's and stays in the space core: you have a copy ")


def test_its_author_takes_it_out_also_if_another_member_has_changed_it(team: Team) -> None:
    you, mate, core = team
    note = team.share()
    mate.store.update(note, body="Changed.")
    mate.sync(), you.sync()
    move(you, note)
    you.sync(), mate.sync()
    assert (you.bodies(), mate.bodies(), core.live()) == ({note: "Changed."}, {}, {})


def test_another_members_deletion_is_told_to_all_until_somebody_reads_it(team: Team, machine: Machines) -> None:
    you, mate, _ = team
    note = team.share()
    late = machine("late", "late")
    late.sync()
    mate.store.delete(note)
    mate.sync()
    for each in (you, late):
        each.sync()
        assert each.bodies() == {}
        (sentence,) = each.sync().news
        assert sentence.startswith("mate took “Plan” out of the space core, and it is in your trash")
    assert mate.standing().news == ()


def conflict(team: Team) -> tuple[str, str]:
    """A note that both members changed, and its other version, which both have."""
    note = team.share()
    team.you.store.update(note, body="Yours.")
    team.mate.store.update(note, body="The mate's.")
    team.you.sync(), team.mate.sync(), team.you.sync()
    (found,) = list_conflicts(team.you.store)
    return note, found.other.id


def choose(machine: Machine, keep: str) -> None:
    (found,) = list_conflicts(machine.store)
    resolve(machine.store, found, keep)


@pytest.mark.parametrize("later", ["this", "other"])
@pytest.mark.parametrize("first", ["this", "other", "both"])
def test_the_first_choice_about_a_conflict_stands_and_the_later_member_is_told(
    team: Team, first: str, later: str
) -> None:
    you, mate, _ = team
    note, other = conflict(team)
    found = you.bodies()
    choice = {"this": {note: found[note]}, "other": {note: found[other]}, "both": found}
    choose(you, first)
    choose(mate, later)
    you.sync(), mate.sync(), you.sync()
    assert you.bodies() == mate.bodies() == choice[first]
    assert you.standing().news == ()
    if first == later:
        assert mate.standing().news == ()
        return
    (sentence,) = mate.standing().news
    assert sentence.startswith("you resolved the conflict about “Plan” before you, and that choice stands")
    if first != "both" or later == "other":
        assert f"anamnesis history {note}" in sentence
        assert choice[later][note] in [each.note.body for each in mate.store.kept.versions(note)]


def test_a_copy_that_was_kept_on_one_machine_first_is_foreign_on_all(team: Team, machine: Machines) -> None:
    note = team.share("Unread.")
    team.mate.store.move(note, "machine-local")
    team.mate.sync()
    (copy,) = (each.id for each in team.mate.store.list() if each.id != note)
    team.mate.store.move(copy, "portable")
    laptop = machine("three", "mate")
    team.mate.sync(), laptop.sync()
    origins = laptop.store.origins(laptop.store.list())
    assert laptop.bodies() == {note: "Unread.", copy: "Unread."}
    assert origins[note].is_unreviewed and origins[copy].is_unreviewed


def test_who_reads_a_note_is_told_of_a_resolved_conflict_and_not_that_the_note_is_out(
    team: Team, machine: Machines
) -> None:
    late = machine("three", "late")
    note, other = conflict(team)
    late.sync()
    choose(team.you, "this")
    team.you.sync(), late.sync()
    assert note in late.bodies() and other not in late.bodies()
    assert late.standing().news == (
        "you resolved the conflict about “Plan” in the space core, and the note with the other version is in your"
        f" trash; `anamnesis restore {other}` makes it a note of your own.",
    )


def test_a_choice_for_both_after_the_first_keeps_the_other_as_a_note_of_its_own(team: Team) -> None:
    you, mate, _ = team
    note, other = conflict(team)
    found = you.bodies()
    choose(you, "this")
    choose(mate, "both")
    you.sync(), mate.sync(), you.sync()
    assert you.bodies() == {note: found[note]}
    assert sorted(mate.bodies().values()) == sorted(found.values())
    assert other not in mate.bodies()
    assert "your changed version is a note of your own" in mate.standing().news[0]


def test_an_edit_after_the_later_choice_is_merged_with_the_first(team: Team) -> None:
    you, mate, _ = team
    note, _ = conflict(team)
    choose(you, "this")
    choose(mate, "other")
    mate.store.update(note, body="Something else.")
    you.sync(), mate.sync(), you.sync()
    assert you.bodies() == mate.bodies() == {note: "Something else."}


@pytest.mark.parametrize("how", ["moved", "kept"])
def test_what_a_removed_member_takes_over_is_marked_as_the_others(team: Team, machine: Machines, how: str) -> None:
    you, mate, core = team
    note = team.share()
    del core.members["mate"]
    mate.sync()
    TAKING[how](mate, note)
    mate.sync(), mate.sync()
    (copy,) = mate.notes()
    assert (copy.id != note, copy.body) == (True, "Shared.")
    origin = mate.store.origins([copy])[copy.id]
    assert origin.source == "you in the space core" and origin.is_unreviewed
    assert you.bodies() == {note: "Shared."}
    assert mate.reasons() == []
    if how == "moved":
        other = machine("three", "mate")
        other.sync()
        assert [each.is_unreviewed for each in other.store.origins(other.notes()).values()] == [True]


def test_a_copy_of_what_no_session_was_told_is_told_on_no_machine_before_its_acceptance(
    team: Team, machine: Machines
) -> None:
    """The project of a note need not belong to the space; in a project, an import would be told with a label."""
    you, mate, _ = team
    note = you.write("Shared.", project="lamp", extra=space_line("core"))
    you.sync(), mate.sync()
    move(mate, note)
    mate.sync()
    other = machine("three", "mate")
    other.sync()
    (copy,) = (each for each in other.notes() if each.id != note)
    for each in (mate, other):
        assert select_inject(each.store, project="lamp") == []
    review.accept(other.store, copy.id)
    assert [each.body for each in select_inject(other.store, project="lamp")] == ["Shared."]
