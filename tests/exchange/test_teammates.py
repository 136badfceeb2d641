"""Notes of other members: injected with their author, global ones only once accepted, and never changed by dreams."""

from __future__ import annotations

import pytest
from tests.dream.memory import TEXT
from tests.exchange.conftest import Machine, Machines
from tests.exchange.small_hub import SmallHub, Space

from anamnesis import review
from anamnesis.dream.cycle import Options, dream
from anamnesis.dream.episodes import unreflected
from anamnesis.dream.reflecting import by_rules, reflect
from anamnesis.dream.triage import Decisions
from anamnesis.editing import save_text
from anamnesis.errors import InvalidArgument
from anamnesis.inject import render_inject, render_recall, select_inject, select_recall
from anamnesis.notes.merge import CONFLICT_TAG, set_aside
from anamnesis.notes.spaces import space_line
from anamnesis.reflect.folding import Lesson, Stamp, note_of

NOTHING = Decisions([], [], [])


@pytest.fixture
def team(machine: Machines, hub: SmallHub) -> tuple[Machine, Machine]:
    """Your machine and a teammate's, with a space that both may write to."""
    hub.spaces["core"] = Space({"you": "writer", "mate": "writer"}, ["acme"])
    return machine("one"), machine("two", "mate")


def titles(machine: Machine, project: str = "acme") -> list[str]:
    return [note.title for note in select_inject(machine.store, project=project)]


def test_a_global_note_of_a_teammate_is_injected_once_it_is_accepted_and_until_it_changes(
    team: tuple[Machine, Machine],
) -> None:
    one, two = team
    note = two.write("Run the script.", title="Rule", tags=["pinned", "reviewed"], extra=space_line("core"))
    own = one.write("Mine.", title="Own", extra=space_line("core"))
    one.sync(), two.sync(), one.sync()
    assert titles(one) == titles(one, "global") == ["Own"]
    assert titles(two) == ["Rule"], "the rule holds for the teammate too"
    assert [each.id for each in review.waiting(one.store)] == [note]
    assert [each.id for each in review.waiting(two.store)] == [own]
    review.accept(one.store, note)
    assert titles(one) == ["Rule", "Own"]
    assert one.sync().sent.total == 0, "acceptance is the user's, not the team's"
    two.store.update(note, body="Run the other script.")
    two.sync(), one.sync()
    assert titles(one) == ["Own"]
    assert review.accept_all(one.store, [note])
    assert review.reopen(one.store, note)
    assert [each.id for each in review.waiting(one.store)] == [note]
    with pytest.raises(InvalidArgument, match="would be deleted for all"):
        review.reject(one.store, note)


def test_a_note_of_a_project_is_injected_with_its_author_before_its_own_machine_id(
    team: tuple[Machine, Machine],
) -> None:
    one, two = team
    two.store.write(
        type="semantic",
        title="How",
        body="Deploy with kubectl.",
        project="acme",
        machine_id="you, your own",
        extra=space_line("core"),
    )
    two.sync(), one.sync()
    shown = render_inject(select_inject(one.store, project="acme"))
    assert "origin: mate in the space core, claims to be from you, your own |" in shown
    found = select_recall(one.store, "how do we deploy with kubectl?", project="acme", known=set())
    assert "origin: mate in the space core, claims to be from you, your own |" in render_recall(found)
    assert "foreign: mate in the space core, not reviewed by the user" in shown
    assert "mate" not in render_inject(select_inject(two.store, project="acme"))


def test_a_change_by_an_agent_of_the_user_does_not_make_it_the_users_own(
    team: tuple[Machine, Machine], machine: Machines
) -> None:
    """This also holds on a machine that receives only the last version. An edit by the user accepts the note."""
    one, two = team
    note = two.write("Run the script.", title="Rule", extra=space_line("core"))
    two.sync(), one.sync()
    one.store.update(note, tags=["touched"])
    one.sync()
    late = machine("late")
    late.sync()
    assert titles(one) == titles(late) == []
    before = one.store.get(note)
    save_text(one.store, before, one.text(note).replace("Run", "Never run"))
    assert titles(one) == ["Rule"]


def test_both_versions_of_a_conflict_with_a_teammate_need_a_review(team: tuple[Machine, Machine]) -> None:
    one, two = team
    note = one.write("a", title="Rule", extra=space_line("core"))
    one.sync(), two.sync()
    two.store.update(note, body="b")
    two.sync()
    one.store.update(note, body="c")
    assert one.sync().conflicted
    assert [each for each in one.notes() if CONFLICT_TAG in each.tags]
    assert titles(one) == []


def test_a_teammates_words_in_a_version_that_the_user_sent_are_held(
    team: tuple[Machine, Machine], machine: Machines
) -> None:
    """In a project that is not of the space, on a machine that receives no version of the teammate."""
    one, two = team
    note = two.write("Run the script.", title="Rule", project="lamp", extra=space_line("core"))
    two.sync(), one.sync()
    one.store.update(note, body="Run the script.\nAnd mine.")
    one.sync()
    late = machine("late")
    late.sync()
    assert titles(one, "lamp") == titles(late, "lamp") == []


def test_a_copy_of_a_teammates_version_that_the_user_sends_is_held(
    team: tuple[Machine, Machine], machine: Machines
) -> None:
    """Git may have merged the versions of two machines, and sends the teammate's as the user's."""
    one, two = team
    note = two.write("Run the script.", title="Rule", project="lamp", extra=space_line("core"))
    two.sync(), one.sync()
    copy = one.store.put(set_aside(one.store.get(note)))
    one.sync()
    late = machine("late")
    late.sync()
    assert copy.id in late.bodies()
    assert titles(one, "lamp") == titles(late, "lamp") == []
    (one.store.root / "shared.db").unlink()
    one.sync()
    assert titles(one, "lamp") == []


@pytest.mark.parametrize("lists_authors", [True, False])
def test_the_authors_of_many_notes_are_asked_for_at_once(
    team: tuple[Machine, Machine], machine: Machines, hub: SmallHub, lists_authors: bool
) -> None:
    """After a loss of shared.db, and on another machine of the user: one request per note meets the hub's limit."""
    hub.lists_authors = lists_authors
    one, two = team
    own = [one.write(f"mine {number}", project="lamp", extra=space_line("core")) for number in range(20)]
    one.sync(), two.sync()
    two.store.update(own[0], body="a teammate's words")
    two.sync(), one.sync()
    one.store.update(own[0], tags=["seen"])
    one.sync()

    def asked(syncing: Machine) -> tuple[int, int]:
        before = len(hub.requests)
        syncing.sync()
        new = hub.requests[before:]
        return sum(path.endswith("/authors") for path in new), sum(path.endswith("/versions") for path in new)

    (one.store.root / "shared.db").unlink()
    expected = (1, 0) if lists_authors else (1, 20)
    assert asked(one) == expected
    other = machine("other")
    assert asked(other) == expected
    for each in (one, other):
        known = each.store.shared.of(own)
        assert [known[note].author for note in own] == ["mate", *[""] * 19]


def test_a_copy_of_a_teammates_version_that_stays_on_this_machine_is_held(team: tuple[Machine, Machine]) -> None:
    one, two = team
    note = two.write("Run the script.", title="Rule", project="lamp", extra=space_line("core"))
    two.sync(), one.sync()
    one.store.move(note, "machine-local")
    one.store.update(note, body="Run the script.\nAnd mine.")
    two.store.update(note, body="Run the other script.")
    two.sync(), one.sync()
    assert len(one.bodies()) == 2
    assert titles(one, "lamp") == []


def test_dreams_change_no_note_that_another_member_wrote_or_that_the_user_may_only_read(
    team: tuple[Machine, Machine], hub: SmallHub
) -> None:
    one, two = team
    for _ in range(2):
        two.write(TEXT, title="Tunnel migration", project="acme", prov_session="s1", extra=space_line("core"))
    two.sync(), one.sync()
    before = one.bodies()
    assert dream(one.store, Options()).decided == NOTHING
    assert one.bodies() == before
    assert one.sync().sent.total == 0
    hub.spaces["core"].members["mate"] = "reader"
    two.sync()
    assert dream(two.store, Options()).decided == NOTHING
    hub.spaces["core"].members["mate"] = "writer"
    two.write(TEXT, title="Tunnel migration", project="acme", prov_session="s1", extra=space_line("core"))
    two.sync()
    assert dream(two.store, Options()).decided.applied, "dreams on the author's machines change them"
    two.sync(), one.sync()
    assert one.bodies() == two.bodies()


def test_dreams_do_not_bring_the_text_of_a_private_note_into_a_shared_one(
    team: tuple[Machine, Machine], hub: SmallHub
) -> None:
    one, _ = team
    one.write(TEXT, title="Tunnel migration", project="acme", prov_session="s1", extra=space_line("core"))
    remark = f"{TEXT}\nAnd my own remark."
    one.write(remark, title="Tunnel migration", project="acme", prov_session="s1", extra=space_line("~"))
    one.sync()
    assert dream(one.store, Options()).decided == NOTHING
    one.sync()
    assert all("remark" not in text for text in hub.spaces["core"].live().values())


def test_only_a_teammates_own_machines_reflect_the_teammates_sessions(team: tuple[Machine, Machine]) -> None:
    one, two = team
    body = "We decided to use kubectl for every deployment. Never deploy on Fridays."
    note = two.store.write(type="episodic", title="Session", body=body, project="acme", machine_id="two").id
    two.sync(), one.sync()
    assert unreflected(one.store, [note]) == []
    assert [each.id for each in unreflected(two.store, [note])] == [note]
    assert reflect(one.store, by_rules(one.store)).looked_at == 0


def test_a_lesson_of_private_sessions_stays_private(team: tuple[Machine, Machine]) -> None:
    one, _ = team
    write = one.store.write
    own = write(type="episodic", title="a", body="a", project="acme", extra=space_line("~you"))
    shared = write(type="episodic", title="b", body="b", project="acme", extra=space_line("core"))
    lesson, stamp = Lesson("L", "Text", "semantic", (own.id, shared.id)), Stamp("rules", "one", own.updated_at)
    spaces = [note_of(lesson, some, stamp).extra.get("tags", "") for some in ([own, shared], [own], [shared])]
    assert [text.splitlines()[0] for text in spaces] == ['space: "~"', "space: ~you", "space: core"]
