"""Whatever the finders propose, a cycle changes only what it may, leaves a person's notes alone, and can be undone."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.disks import DISKS, command_on
from tests.dream.memory import TEXT, proposals, propose, tree, write

from anamnesis.disk import locked
from anamnesis.dream.cycle import Options, Stopped, dream, rehearse
from anamnesis.dream.dream_database import WAITING, DreamDatabase
from anamnesis.dream.proposal import Proposal
from anamnesis.dream.undoing import undo
from anamnesis.engram import database as engram
from anamnesis.errors import LockHeld, StoreUnavailable
from anamnesis.notes import Memory
from anamnesis.notes.marks import EDITED_BY, STALE, with_mark
from anamnesis.store import MemoryStore, changeset
from anamnesis.vault import Vault


@pytest.fixture
def pair(store: MemoryStore) -> tuple[Memory, Memory]:
    return write(store), write(store)


def test_notes_that_say_the_same_become_one_that_is_found_alone(
    store: MemoryStore, pair: tuple[Memory, Memory]
) -> None:
    before = tree(store)
    outcome = dream(store, Options())
    assert outcome.change
    (stays,) = store.search("tunnel migration")
    assert {stays.id, *stays.superseded} == {note.id for note in pair}
    assert len(tree(store)) == 2

    assert undo(store, outcome.change).kept == []

    assert tree(store) == before
    assert len(store.search("tunnel migration")) == 2


def test_what_was_undone_is_not_done_again_also_with_more_notes_of_the_same_words(
    store: MemoryStore, pair: tuple[Memory, Memory]
) -> None:
    """Notes that a person separated stay separate, even if a third one says the same as both."""
    change = dream(store, Options()).change
    assert change
    undo(store, change)
    for _ in range(3):
        write(store)
        dream(store, Options())
        one, two = (_root(store, note.id) for note in pair)
        assert one != two


def _root(store: MemoryStore, id: str) -> str:
    """The note that supersedes a note."""
    while by := store.superseding([id]).get(id):
        id = by
    return id


@pytest.mark.parametrize("lost", ["index.db", "dreams.db", "damaged dreams.db"])
def test_what_was_undone_is_not_done_again_after_a_database_was_lost(tmp_path: Path, lost: str) -> None:
    with MemoryStore(tmp_path) as store:
        write(store)
        write(store)
        change = dream(store, Options()).change
        assert change
        undo(store, change)
        before = tree(store)
    if lost.startswith("damaged"):
        (tmp_path / "dreams.db").write_bytes(b"not a database" * 1000)
    else:
        (tmp_path / lost).unlink()
    with MemoryStore(tmp_path) as store:
        assert not dream(store, Options()).decided.applied
        assert tree(store) == before


def test_an_edit_between_finding_and_applying_is_kept(store: MemoryStore, pair: tuple[Memory, Memory]) -> None:
    """An editor saves when all is decided, and the folder does not show it: the index cannot know."""
    edited = store.memory_dir / f"semantic/{min(pair, key=lambda note: note.id).id}.md"

    def stop() -> bool:
        text = edited.read_text()
        if proposals(store, WAITING) and "editor" not in text:
            edited.write_text(text + "Added in an editor.\n")
        return False

    outcome = dream(store, Options(stop=stop))
    assert edited.read_text().endswith("Added in an editor.\n")
    assert not outcome.decided.applied
    assert len(store.search("tunnel migration")) == 2


def test_a_stopped_cycle_goes_on_where_it_was(store: MemoryStore, pair: tuple[Memory, Memory]) -> None:
    before = tree(store)
    with pytest.raises(Stopped):
        dream(store, Options(stop=lambda: bool(proposals(store, WAITING))))
    assert tree(store) == before
    assert dream(store, Options()).decided.applied


def test_one_dream_at_a_time(store: MemoryStore) -> None:
    with locked(store.root / "dream.lock"), pytest.raises(LockHeld, match="Another dream of this memory is running"):
        dream(store, Options())


def test_nothing_is_applied_while_a_sync_runs_and_it_is_found_still(
    store: MemoryStore, pair: tuple[Memory, Memory]
) -> None:
    (store.memory_dir / ".git").mkdir()
    before = tree(store)
    with (
        locked(store.memory_dir / ".git/anamnesis.lock"),
        pytest.raises(LockHeld, match="sync of the notes is running"),
    ):
        dream(store, Options())
    assert tree(store) == before
    assert dream(store, Options()).decided.applied


PERSONS: dict[str, dict[str, Any]] = {
    "written by a person": {"prov_session": ""},
    "pinned": {"tags": ["pinned"]},
    "edited": {},
}


@pytest.mark.parametrize("whose", PERSONS)
@pytest.mark.parametrize("how", ["written", "hidden", "marked beside"])
def test_what_a_person_has_is_proposed_and_not_changed(store: MemoryStore, whose: str, how: str) -> None:
    """Whether a proposal would write it, hide it, or mark it on the way without being about it."""
    own, other = write(store, "Mine.", **PERSONS[whose]), write(store, "Of an agent.")
    if whose == "edited":
        own = store.update(own.id, extra=with_mark(own, EDITED_BY, "human").extra)
    after = {
        "written": (with_mark(own, STALE, "x"),),
        "hidden": (replace(other, supersedes=own.id),),
        "marked beside": (with_mark(own, STALE, "x"), with_mark(other, STALE, "x")),
    }[how]
    proposal = Proposal("test", (other.id,) if how == "marked beside" else (own.id, other.id), "Because.", 1.0, after)
    dream(store, Options())
    before = tree(store)
    propose(store, proposal)
    assert [each.key for each in dream(store, Options()).decided.review] == [proposal.key]
    assert tree(store) == before


def test_a_note_that_was_edited_in_an_editor_is_a_persons_from_then_on(store: MemoryStore) -> None:
    one = write(store)
    dream(store, Options())
    path = store.memory_dir / f"semantic/{one.id}.md"
    path.write_text(path.read_text() + "Edited by hand.\n")
    store.refresh()
    write(store, f"{TEXT}\nEdited by hand.")
    before = tree(store)
    assert not dream(store, Options()).decided.applied
    assert tree(store) == before


def test_what_a_dream_has_written_or_restored_is_nobodys_edit(store: MemoryStore) -> None:
    note = write(store)
    for number in range(2):
        dream(store, Options())
        propose(store, Proposal(f"test {number}", (note.id,), "", 1.0, (replace(note, body=f"{TEXT} More {number}."),)))
        change = dream(store, Options()).change
        assert change
        assert change.files
        if number == 0:
            undo(store, change)
    dream(store, Options())
    with contextlib.closing(DreamDatabase(store.root)) as database:
        assert database.by_hand([note.id]) == set()


def _different(number: int) -> str:
    """Texts of which no two are alike."""
    things = ["tunnel", "lantern", "harbour", "ledger", "orchard", "compass", "saddle", "quarry", "anvil"]
    places = ["warehouse", "chapel", "foundry", "library", "mill", "stable", "bakery"]
    verbs = ["closes", "opens", "floods", "burns", "moves"]
    thing, place, verb = things[number % 9], places[number % 7], verbs[number % 5]
    return f"The {thing} {verb} whenever somebody enters the {place} with item {thing}-{number}."


def test_at_most_the_share_of_each_project_changes_and_the_rest_waits(store: MemoryStore) -> None:
    for project, count in (("shop", 40), ("blog", 100)):
        for number in range(count):
            write(store, _different(number // 2), project=project)
    changed: list[int] = []
    while applied := dream(store, Options()).decided.applied:
        ids = [id for proposal in applied for id in proposal.notes]
        of = {project: sum(store.get(id).project == project for id in ids) for project in ("shop", "blog")}
        assert of["shop"] <= 2
        assert of["blog"] <= 5
        changed.append(len(ids))
    assert sum(changed) == 140
    assert len(store.superseded_ids()) == 70


def test_a_rehearsal_changes_no_note_and_finds_what_a_dream_does(
    store: MemoryStore, pair: tuple[Memory, Memory]
) -> None:
    before = tree(store)
    for _ in range(2):
        rehearsed = rehearse(store, Options())
        assert [each.key for each in rehearsed.decided.applied]
    assert tree(store) == before
    assert not list(changeset.changes(store))
    assert dream(store, Options()).decided.applied == rehearsed.decided.applied


def test_a_cycle_of_one_phase_leaves_the_changes_and_proposals_of_the_others(store: MemoryStore) -> None:
    other = write(store, "Something else.")
    dream(store, Options())
    for _ in range(2):
        write(store)
    proposal = Proposal("test", (other.id,), "", 1.0, (with_mark(other, STALE, "x"),))
    propose(store, proposal, "prune")
    before = tree(store)

    outcome = dream(store, Options(phases=("classify",)))

    assert outcome.looked_at == 2
    assert not outcome.decided.applied
    assert tree(store) == before
    assert [each.kind for each in dream(store, Options(phases=("prune",))).decided.applied] == ["test"]
    assert [each.kind for each in dream(store, Options()).decided.applied] == ["duplicate"]


def test_a_merge_hides_its_observation_and_the_undo_shows_it_again(tmp_path: Path) -> None:
    """A dream of a vault that has an engram.db: its clients see the same as searches of notes."""
    path = tmp_path / "engram.db"
    engram.prepare(path)
    with Vault(tmp_path / "home") as vault:
        vault.connect(path, "here")
        store = vault.notes
        for _ in range(2):
            write(store)
        before = tree(store)
        assert _shown(path) == 2
        change = dream(store, Options()).change
        assert change
        assert _shown(path) == 1
        assert not (status := vault.status()) or not status.waiting.total
        undo(store, change)
        assert _shown(path) == 2
        assert tree(store) == before
        assert not (status := vault.status()) or not status.waiting.total


def test_a_new_merged_note_is_an_observation_until_it_is_undone(tmp_path: Path) -> None:
    path = tmp_path / "engram.db"
    engram.prepare(path)
    with Vault(tmp_path / "home") as vault:
        vault.connect(path, "here")
        store = vault.notes
        one, two = write(store), write(store, "Another.")
        before = tree(store)
        merged = replace(one, id="01JD0000000000000000000000", supersedes=[one.id, two.id])
        change = changeset.apply(store, [merged], kind="dream", reason="Test.")
        assert _shown(path) == 1
        assert undo(store, change).kept == []
        assert _shown(path) == 2
        assert tree(store) == before


def _shown(path: Path) -> int:
    with contextlib.closing(engram.connect(path)) as db:
        query = "SELECT count(*) FROM observations WHERE deleted_at IS NULL AND superseded_by IS NULL"
        return int(db.execute(query).fetchone()[0])


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    with MemoryStore(tmp_path / "home") as store:
        write(store)
        write(store)
    yield tmp_path / "home"


DREAM = """
import sys
from anamnesis.dream.cycle import Options, dream
from anamnesis.errors import AnamnesisError
from anamnesis.store import MemoryStore
try:
    with MemoryStore(sys.argv[1]) as store:
        dream(store, Options())
except AnamnesisError as error:
    print(error)
"""


@pytest.mark.parametrize("disk", DISKS)
def test_on_a_disk_that_cannot_be_written_a_dream_says_so_and_changes_nothing(home: Path, disk: str) -> None:
    command = command_on(disk, home, [sys.executable, "-c", DREAM, str(home)])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Cannot" in done.stdout or "cannot" in done.stdout
    subprocess.run(["chmod", "-R", "u+w", home], check=True)
    with MemoryStore(home) as store:
        assert len(store.search("tunnel migration")) == 2
        assert dream(store, Options()).decided.applied


def test_a_report_says_what_was_done_and_follows_its_undo(store: MemoryStore, pair: tuple[Memory, Memory]) -> None:
    change = dream(store, Options()).change
    assert change
    path = store.root / f"dreams/{change.id}.md"
    text = path.read_text()
    assert "done" in text
    assert all(note.id in text for note in pair)
    undo(store, change)
    assert "undone" in path.read_text()
    assert "takes it back" not in path.read_text()


def test_a_damaged_journal_stops_neither_dreams_nor_their_log(store: MemoryStore, pair: tuple[Memory, Memory]) -> None:
    change = dream(store, Options()).change
    assert change
    path = store.root / f"dreams/{change.id}.json"
    facts = json.loads(path.read_text())
    facts["facts"] = {"proposals": [{"id": "x"}, 3]}
    path.write_text(json.dumps(facts))
    (store.root / "dreams/20260101T000000-ffffff.json").write_text("{")
    write(store, "New.")
    assert dream(store, Options()).change
    undo(store, changeset.find(store, change.id))


def test_an_unusable_dreams_db_is_an_error_in_one_sentence_at_the_most(store: MemoryStore) -> None:
    (store.root / "dreams.db").mkdir()
    with pytest.raises(StoreUnavailable, match="record of dreams"):
        dream(store, Options())
