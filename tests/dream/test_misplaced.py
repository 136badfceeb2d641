"""Notes move to the key of their project only where the names are those of one project."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.dream.repositories import PROJECT, Repository, found, note, run

from anamnesis.dream.cycle import Options, dream
from anamnesis.dream.misplaced import other_names
from anamnesis.store import MemoryStore

KIND = "place"


def test_a_note_of_engram_under_the_short_name_moves_to_the_key(store: MemoryStore) -> None:
    note(store, "One of the key.", 1)
    short = note(store, "One of the short name.", 1, project="shop", engram={"type": "decision"})
    run(store, store.root)
    after = store.get(short.id)
    assert (after.project, after.updated_at, after.engram) == (PROJECT, short.updated_at, short.engram)
    assert store.count(project="shop") == store.count(project=PROJECT) == 2
    assert found(run(store, store.root), KIND) == []


def test_another_note_under_the_short_name_is_left_to_a_person(store: MemoryStore) -> None:
    note(store, "One of the key.", 1)
    short = note(store, "One of the short name.", 1, project="Shop")
    assert [each.notes for each in run(store, store.root).decided.review] == [(short.id,)]


@pytest.mark.parametrize("others", [["github.com/other/shop"], [], ["shop/sub"]])
def test_a_short_name_of_several_keys_or_of_none_is_a_project_of_its_own(store: MemoryStore, others: list[str]) -> None:
    if others:
        note(store, "One of the key.", 1, project=PROJECT if others[0].endswith("shop") else "github.com/example/cart")
    for project in others:
        note(store, "One of another key.", 1, project=project)
    note(store, "One of the short name.", 1, project="shop", engram={"type": "decision"})
    assert found(run(store, store.root), KIND) == []


def test_the_other_names_of_projects() -> None:
    known = ["a/x", "x", "X", "b/y", "c/y", "y", "old/z", "new/z", "global"]
    assert other_names(known, {"x"}, {}) == {"x": "a/x", "X": "a/x"}
    assert other_names(known, {"a/x"}, {}) == {"x": "a/x", "X": "a/x"}
    assert other_names(known, {"y", "b/y", "global", "old/z"}, {}) == {}
    assert other_names(known, {"new/z"}, {"old/z": "new/z", "gone/w": "new/w"}) == {"old/z": "new/z"}


def test_notes_under_the_former_key_of_a_working_copy_are_left_to_a_person(store: MemoryStore) -> None:
    old = note(store, "From before the move.", 1, project="github.com/former/shop")
    note(store, "From after it.", 2)
    outcome = dream(store, Options(renamed={"github.com/former/shop": PROJECT}))
    assert [each.notes for each in outcome.decided.review if each.kind == KIND] == [(old.id,)]


def test_a_cycle_asks_only_about_some_of_many_notes(store: MemoryStore) -> None:
    note(store, "One of the key.", 1)
    for number in range(50):
        note(store, f"Number {number} of the short name.", 1, project="shop")
    assert len(run(store, store.root).decided.review) == 20


def test_a_global_note_about_one_project_is_left_to_a_person(store: MemoryStore, tmp_path: Path) -> None:
    """It names the key, or files that only this project has."""
    shop, other = Repository(tmp_path / "shop"), Repository(tmp_path / "other")
    shop.commit(0, {"src/cart.py": "x\n", "docs/index.md": "x\n"})
    other.commit(0, {"docs/index.md": "x\n"})
    note(store, "One of the shop.", 1)
    note(store, "One of another.", 1, project="github.com/example/other")
    key = note(store, f"Look at https://{PROJECT} first.", 1, project="global")
    path = note(store, "Look at src/cart.py first.", 1, project="global", title="Second")
    for body in (f"{PROJECT} and github.com/example/other", "docs/index.md", "src/cart.py and etc/cart.conf", "Hello."):
        note(store, body, 1, project="global", title=body)
    folders = {PROJECT: shop.folder, "github.com/example/other": other.folder}
    outcome = dream(store, Options(folders=folders))
    proposals = [each for each in outcome.decided.review if each.kind == KIND]
    assert {each.notes for each in proposals} == {(key.id,), (path.id,)}
    assert {each.after[0].project for each in proposals} == {PROJECT}
    assert outcome.decided.applied == []
