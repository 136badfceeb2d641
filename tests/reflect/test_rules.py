"""Episodes folded by rules, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from tests.reflect.labelled import episode, read

from anamnesis.notes import Memory, render
from anamnesis.notes.marks import COVERED_BY, SOURCES, linked
from anamnesis.reflect.folding import Folding
from anamnesis.reflect.rules import by_rules

PNPM = "We use pnpm in this repo, never npm."
LOCK = "Fixed by taking the advisory lock before the row lock."


def stating(name: str, *statements: str, day: int = 1, **given: object) -> Memory:
    time = f"2026-08-{day:02}T10:00:00+00:00"
    body = "\n".join(["**Ask:** x", "", "**Rules and caveats:**", *(f"- {each} (user)" for each in statements)])
    return replace(episode(name, body, **given), created_at=time, updated_at=time)


def fold(episodes: Sequence[Memory], notes: Sequence[Memory] = (), deleted: Sequence[str] = ()) -> list[Folding]:
    return by_rules(episodes, lambda *_: notes, deleted.__contains__)


def test_a_statement_becomes_a_note_with_its_provenance_and_its_episode_is_tagged() -> None:
    source = stating("a", PNPM)
    (folding,) = fold([source])
    (note,) = folding.learned
    assert (note.type, note.title, note.project) == ("semantic", "We use pnpm in this repo, never npm", "shop")
    assert note.body.startswith(PNPM)
    assert (note.prov_source, note.prov_model, note.confidence) == ("reflection", "rules", 0.8)
    assert linked(note, SOURCES) == [source.id]
    assert (note.created_at, note.updated_at) == (source.created_at, source.updated_at)
    assert folding.after == (note, replace(source, tags=["reflected"]))


def test_what_recurs_in_several_sessions_is_one_note_first_and_surer() -> None:
    sources = [stating("a", PNPM, day=1), stating("b", f"Always: {LOCK}", PNPM, day=2), stating("c", PNPM, day=3)]
    (folding,) = fold(sources)
    assert [note.confidence for note in folding.learned] == [0.9, 0.8]
    assert linked(folding.learned[0], SOURCES) == sorted(source.id for source in sources)
    assert folding.learned[0].updated_at == "2026-08-03T10:00:00+00:00"
    assert len(folding.episodes) == 3


def test_two_episodes_of_one_session_are_one_session() -> None:
    (folding,) = fold([stating("a", PNPM, prov_session="s"), stating("b", PNPM, prov_session="s")])
    assert folding.learned[0].confidence == 0.8


def test_episodes_that_share_nothing_are_folded_apart() -> None:
    assert len(fold([stating("a", PNPM), stating("b", LOCK)])) == 2


def test_an_episode_without_anything_durable_is_left_alone() -> None:
    assert fold([episode("a", "**Ask:** Rename it.\n\n**Outcome:** Renamed.")]) == []


def test_what_a_note_holds_is_not_written_again_but_linked() -> None:
    held = Memory("n1", "semantic", "Tools", f"About tools. {PNPM} And so on.", project="shop")
    source = stating("a", PNPM)
    (folding,) = fold([source], [held])
    assert (folding.learned, folding.confirmed) == ((), ())
    (after,) = folding.after
    assert after.tags == ["reflected"]
    assert linked(after, COVERED_BY) == ["n1"]


def test_a_note_of_rules_is_surer_with_each_further_session_and_as_if_all_had_come_at_once() -> None:
    episodes = [stating(name, PNPM, day=day) for day, name in enumerate("abcd", 1)]
    (at_once,) = fold(episodes)
    (first,) = fold(episodes[:1])
    note = first.learned[0]
    for source in episodes[1:]:
        (folding,) = fold([source], [note])
        (note,) = folding.confirmed
    assert render(note) == render(at_once.learned[0])


def test_two_statements_that_one_note_holds_confirm_it_together() -> None:
    (first,) = fold([stating("a", PNPM)])
    both = replace(first.learned[0], body=f"{PNPM} {LOCK}")
    (folding,) = fold([stating("b", PNPM, day=2), stating("c", LOCK, day=3)], [both])
    assert len(linked(folding.confirmed[0], SOURCES)) == 3


def test_a_note_of_rules_that_says_less_is_superseded() -> None:
    (first,) = fold([stating("a", PNPM)])
    old = first.learned[0]
    (folding,) = fold([stating("b", "We use pnpm in this repo, never npm, because of its strict node_modules.")], [old])
    (note,) = folding.learned
    assert note.supersedes == old.id
    assert old.id in folding.about
    assert len(linked(note, SOURCES)) == 2


def test_a_note_that_a_person_pinned_is_neither_superseded_nor_confirmed() -> None:
    (first,) = fold([stating("a", PNPM)])
    pinned = replace(first.learned[0], tags=["pinned"])
    (folding,) = fold(
        [stating("b", PNPM, "We use pnpm in this repo, never npm, because of strict node_modules.")], [pinned]
    )
    assert folding.confirmed == ()
    assert all(not note.supersedes for note in folding.learned)


def test_a_note_that_somebody_deleted_is_not_written_again() -> None:
    (first,) = fold([stating("a", PNPM)])
    assert fold([stating("b", PNPM)], deleted=[first.learned[0].id]) == []


def test_what_is_on_one_machine_only_stays_there() -> None:
    local, portable = stating("a", PNPM, scope="machine-local"), stating("b", PNPM)
    foldings = fold([local, portable])
    assert {note.scope for folding in foldings for note in folding.learned} == {"machine-local", "portable"}
    assert all({note.scope for note in folding.learned} == {folding.episodes[0].scope} for folding in foldings)


def test_the_order_of_the_episodes_makes_no_difference() -> None:
    episodes = [each.episode for each in read("tuning")[:4]]
    results = {
        "".join(sorted(render(note) for folding in fold(order) for note in folding.after))
        for order in permutations(episodes)
    }
    assert len(results) == 1


@given(st.lists(st.sets(st.integers(0, 6), max_size=3), max_size=6))
def test_every_episode_is_folded_once_and_every_statement_written_once(stated: list[set[int]]) -> None:
    said = [f"Always restart the worker number{number} after a deployment." for number in range(7)]
    episodes = [stating(f"e{place}", *(said[each] for each in sorted(some))) for place, some in enumerate(stated)]
    foldings = fold(episodes)
    folded = [source.id for folding in foldings for source in folding.episodes]
    assert sorted(folded) == sorted(source.id for source, some in zip(episodes, stated, strict=True) if some)
    written = [note.body.split("\n")[0] for folding in foldings for note in folding.learned]
    assert sorted(written) == sorted({said[each] for some in stated for each in some})
