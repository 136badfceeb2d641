"""Reflection on a store: one change that can be undone; a person's notes are left alone, and a kill loses nothing."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from tests.killing import fork, wait_for
from tests.reflect.labelled import episode, read
from tests.reflect.test_rules import LOCK, PNPM, stating
from tests.store.test_changeset import tree

from anamnesis.dream import reviewing
from anamnesis.dream.cycle import Options, dream, rehearse
from anamnesis.dream.dream_journal import entries, report
from anamnesis.dream.reflecting import ReflectionResult, by_rules, reflect, take
from anamnesis.dream.undoing import undo
from anamnesis.errors import InvalidArgument
from anamnesis.inject import select_inject
from anamnesis.notes import Memory, as_dict
from anamnesis.notes.marks import COVERED_BY, EDITED_BY, SOURCES, linked, with_mark
from anamnesis.reflect.folding import Lesson, Stamp
from anamnesis.store import MemoryStore, changeset

_TODAY = date(2026, 11, 1)
LATER = "2026-10-01T00:00:00+00:00"
STAMP = Stamp("opus", "laptop", "2026-09-01T00:00:00+00:00")


def learned(outcome: ReflectionResult) -> list[Memory]:
    return [note for folding in outcome.done for note in folding.learned]


def test_durable_notes_are_injected_in_place_of_their_episodes_which_stay_found(store: MemoryStore) -> None:
    source = store.put(stating("a", PNPM))
    assert [note.id for note in select_inject(store, project="shop")] == [source.id]
    (note,) = learned(reflect(store, by_rules(store)))
    assert [each.id for each in select_inject(store, project="shop")] == [note.id]
    assert source.id in {each.id for each in store.search("pnpm")}
    assert store.get(source.id).updated_at == source.updated_at
    assert reflect(store, by_rules(store)).looked_at == 0


def test_only_the_episodes_of_the_project_are_looked_at(store: MemoryStore) -> None:
    here, there = store.put(stating("a", PNPM)), store.put(stating("b", LOCK, project="other"))
    (note,) = learned(reflect(store, by_rules(store), project="other"))
    assert (note.project, linked(note, SOURCES)) == ("other", [there.id])
    assert store.get(here.id).tags == []


def test_hidden_superseded_and_unreviewed_foreign_episodes_are_left_alone(store: MemoryStore) -> None:
    store.put(stating("a", PNPM, engram={"deleted_at": "2026-01-01"}))
    old = store.put(stating("b", PNPM))
    store.write(type="semantic", title="New", body="Says more.", supersedes=old.id, project="shop")
    store.put(stating("c", PNPM, prov_source="import"))
    assert reflect(store, by_rules(store)).looked_at == 0


def test_a_further_session_confirms_the_note_and_a_longer_statement_supersedes_it(store: MemoryStore) -> None:
    store.put(stating("a", PNPM))
    (note,) = learned(reflect(store, by_rules(store)))
    second = store.put(stating("b", PNPM, day=2))
    assert learned(reflect(store, by_rules(store))) == []
    assert store.get(note.id).confidence == 0.85
    assert linked(store.get(second.id), COVERED_BY) == [note.id]
    store.put(stating("c", "We use pnpm in this repo, never npm, because of its strict node_modules.", day=3))
    (longer,) = learned(reflect(store, by_rules(store)))
    assert store.superseding([note.id]) == {note.id: longer.id}
    assert len(linked(longer, SOURCES)) == 3


def test_an_undo_gives_every_byte_back_and_the_same_is_not_done_again(store: MemoryStore) -> None:
    store.put_all([each.episode for each in read("tuning")])
    before = tree(store)
    outcome = reflect(store, by_rules(store))
    assert len(learned(outcome)) == 14
    assert outcome.change
    (entry,) = entries(store)
    assert (entry["kind"], entry["state"], entry["looked_at"]) == ("reflection", "done", 10)
    assert report(store, outcome.change).startswith(f"# Reflection {outcome.change.id}\n")
    assert not undo(store, outcome.change).kept
    assert tree(store) == before
    assert reflect(store, by_rules(store)).done == []
    assert tree(store) == before


def test_a_note_that_was_deleted_is_not_learned_again(store: MemoryStore) -> None:
    store.put(stating("a", PNPM))
    (note,) = learned(reflect(store, by_rules(store)))
    store.delete(note.id)
    store.put(stating("b", PNPM, day=2))
    assert reflect(store, by_rules(store)).done == []


def test_a_note_that_a_person_changed_is_not_overwritten(store: MemoryStore) -> None:
    store.put(stating("a", PNPM))
    (note,) = learned(reflect(store, by_rules(store)))
    store.update(note.id, body="We moved to bun.", title="Bun")
    store.put(stating("b", PNPM))
    reflect(store, by_rules(store))
    assert store.get(note.id).body == "We moved to bun."


@pytest.mark.parametrize("tags", [["pinned"], []])
def test_an_episode_that_a_person_pinned_or_edited_is_proposed_and_the_others_are_folded(
    store: MemoryStore, tags: list[str]
) -> None:
    episode = stating("a", PNPM, tags=tags)
    own = store.put(episode if tags else with_mark(episode, EDITED_BY, "human"))
    other = store.put(stating("b", LOCK))
    outcome = reflect(store, by_rules(store))
    assert (store.get(own.id).tags, store.get(other.id).tags) == (tags, ["reflected"])
    assert len(outcome.review) == 1
    (kept,) = reviewing.listed(store, _TODAY)
    assert kept.proposal.kind == "reflect"
    change = reviewing.accept(store, [kept])
    assert store.get(own.id).tags == [*tags, "reflected"]
    assert report(store, change).startswith("# Review ")


def test_two_machines_write_the_same_bytes(store: MemoryStore, tmp_path: Path) -> None:
    store.put_all([*(each.episode for each in read("tuning")), stating("x", PNPM), stating("y", PNPM, day=3)])
    shutil.copytree(store.memory_dir, tmp_path / "other/memory")
    with MemoryStore(tmp_path / "other") as other:
        assert len(learned(reflect(store, by_rules(store)))) == len(learned(reflect(other, by_rules(other)))) == 14
        assert tree(store) == tree(other)


def test_a_machine_local_episode_teaches_this_machine_only(store: MemoryStore) -> None:
    store.put(stating("a", PNPM, scope="machine-local"))
    (note,) = learned(reflect(store, by_rules(store)))
    assert note.scope == "machine-local"
    store.put(stating("b", PNPM, day=2))
    (portable,) = learned(reflect(store, by_rules(store)))
    assert portable.scope == "portable"


def test_killed_at_any_moment_it_has_done_all_or_nothing(tmp_path: Path) -> None:
    start = tmp_path / "start"
    with MemoryStore(start) as store:
        store.put_all([stating("a", PNPM), stating("b", PNPM, day=2), stating("c", LOCK)])
        before = tree(store)
    for at in (*range(1, 40, 6), *range(40, 400, 12)):
        home = tmp_path / f"at{at}"
        shutil.copytree(start, home)

        def work(home: Path = home) -> None:
            with MemoryStore(home) as opened:
                reflect(opened, by_rules(opened))

        was_killed = wait_for(fork(work, at))
        with MemoryStore(home) as opened:
            changeset.recover(opened)
            after = tree(opened)
            assert after == before or len(after) == 5
            assert (after == before) == (len(opened.unreflected()) == 3)
            reflect(opened, by_rules(opened))
            assert len(tree(opened)) == 5
            assert opened.unreflected() == {}
        shutil.rmtree(home)
        if not was_killed:
            break
    else:
        raise AssertionError("Every process was killed: the last ones have to complete.")


def test_a_dream_folds_all_but_the_newest_two_episodes_and_can_be_undone(store: MemoryStore) -> None:
    store.put_all(
        [stating(f"e{day}", f"Always restart worker{day} after the deployment.", day=day) for day in (1, 2, 3)]
    )
    before = tree(store)
    outcome = dream(store, Options())
    (proposal,) = outcome.decided.applied
    assert proposal.kind == "reflect"
    assert len(store.unreflected()) == 2
    assert outcome.change
    undo(store, outcome.change)
    assert tree(store) == before
    store.put(stating("e4", "Something else happened.", day=4))
    assert [each.kind for each in dream(store, Options()).decided.applied] == ["reflect"]
    assert len(store.unreflected()) == 3


def test_a_dream_does_not_look_again_at_episodes_without_anything_durable(store: MemoryStore) -> None:
    """Else the episodes that hold nothing would keep it from those that do."""
    store.put_all([episode(f"e{number:03}", "Renamed a button.") for number in range(60)])
    dream(store, Options())
    store.put_all([stating("a", PNPM, day=2), *(episode(f"z{number}", "Done.", updated_at=LATER) for number in (1, 2))])
    found = [each for _ in range(2) for each in dream(store, Options()).decided.applied]
    assert [each.kind for each in found if each.kind == "reflect"] == ["reflect"]


def test_a_dream_leaves_the_talk_of_other_episodes_to_a_reflection_that_is_asked_for(store: MemoryStore) -> None:
    texts = [f"Always restart worker{day} after the deployment. We met on day {day}." for day in (1, 2, 3)]
    store.put_all([episode(f"e{number}", text, prov_source="human") for number, text in enumerate(texts)])
    assert dream(store, Options()).decided == ([], [], [])
    assert len(learned(reflect(store, by_rules(store)))) == len(texts)


def test_a_rehearsed_dream_shows_what_it_would_fold_and_changes_nothing(store: MemoryStore) -> None:
    store.put_all(
        [stating(f"e{day}", f"Always restart worker{day} after the deployment.", day=day) for day in (1, 2, 3)]
    )
    before = tree(store)
    assert [each.kind for each in rehearse(store, Options()).decided.applied] == ["reflect"]
    assert tree(store) == before


def test_a_statement_of_many_sessions_is_folded_over_several_dreams_within_the_share(store: MemoryStore) -> None:
    store.put_all([stating(f"e{day}", PNPM, day=day) for day in range(1, 9)])
    for _ in range(8):
        dream(store, Options())
        store.put(stating("new", "Nothing.", day=20))
    (note,) = store.list(source="reflection")
    assert len(linked(store.get(note.id), SOURCES)) == 7
    assert note.confidence == 0.95


class TestNotesOfAnAgent:
    def lesson(self, *sources: str, **given: object) -> Lesson:
        return Lesson("Use pnpm", "The lock file is pnpm's.", "semantic", sources, **given)  # type: ignore[arg-type]

    def test_they_are_stamped_and_their_sources_and_the_others_tagged_in_one_change(self, store: MemoryStore) -> None:
        one, two = store.put(episode("one", "x")), store.put(episode("two", "y"))
        old = store.write(type="semantic", title="Old", body="Less.", project="shop", prov_session="s")
        outcome = take(store, [self.lesson(one.id, tags=("pnpm",), supersedes=(old.id,))], [two.id], STAMP)
        (note,) = learned(outcome)
        kept = store.get(note.id)
        assert (kept.prov_source, kept.prov_model, kept.machine_id) == ("reflection", "opus", "laptop")
        assert (kept.project, kept.supersedes, kept.tags) == ("shop", old.id, ["reflection", "pnpm"])
        assert {store.get(id).tags[-1] for id in (one.id, two.id)} == {"reflected"}
        assert outcome.change
        assert {file.note for file in outcome.change.files} == {one.id, two.id, note.id}
        before = {id: as_dict(note) for id, note in ((one.id, one), (two.id, two))}
        undo(store, outcome.change)
        assert {id: as_dict(store.get(id)) for id in before} == before

    def test_what_cannot_be_a_source_is_refused_and_nothing_is_written(self, store: MemoryStore) -> None:
        fine, done = store.put(episode("one", "x")), store.put(episode("two", "y", tags=["reflected"]))
        durable = store.write(type="semantic", title="t", body="b", project="shop")
        other = store.put(episode("three", "z", project="other"))
        before = tree(store)
        refusals = {
            "No note has the id": [self.lesson("01J00000000000000000000000")],
            "is not a note id": [self.lesson("../../etc")],
            "is semantic, not an episode": [self.lesson(durable.id)],
            "is reflected already": [self.lesson(fine.id), self.lesson(done.id)],
            "has no sources": [self.lesson()],
            "of several projects": [self.lesson(fine.id, other.id)],
            "no durable note that can be superseded": [self.lesson(fine.id, supersedes=(done.id,))],
        }
        for reason, lessons in refusals.items():
            with pytest.raises((InvalidArgument, ValueError), match=reason) as refused:
                take(store, lessons, [], STAMP)
            assert "\n" not in str(refused.value)
        with pytest.raises(InvalidArgument, match="is reflected already"):
            take(store, [self.lesson(fine.id)], [done.id], STAMP)
        assert tree(store) == before

    def test_an_episode_that_a_person_pinned_is_left_to_them(self, store: MemoryStore) -> None:
        pinned, other = store.put(episode("one", "x", tags=["pinned"])), store.put(episode("two", "y"))
        outcome = take(store, [self.lesson(pinned.id), self.lesson(other.id)], [], STAMP)
        assert (len(outcome.review), len(learned(outcome))) == (1, 1)
        assert store.get(pinned.id).tags == ["pinned"]
        assert len(reviewing.listed(store, _TODAY)) == 1

    def test_no_secret_reaches_a_note_or_the_records(self, store: MemoryStore) -> None:
        token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        source = store.put(episode("one", "x"))
        take(store, [replace(self.lesson(source.id), title=f"Use {token}", body=token)], [], STAMP)
        for path in store.root.rglob("*"):
            with contextlib.suppress(IsADirectoryError):
                assert token.encode() not in path.read_bytes(), path
