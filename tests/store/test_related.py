"""The notes that are close to a note, and the near-duplicates of a new note."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from anamnesis.errors import NoteNotFound
from anamnesis.store import MemoryStore
from anamnesis.store.question import by_words_alone
from anamnesis.store.related import resembling

# A note, others that say the same in other words, and others of the same topic with other facts.
GROUPS = json.loads(Path(__file__).with_name("alike.json").read_text("utf-8"))
WEATHER = "\n".join(f"Line {number} is about the weather of the day and says nothing else." for number in range(40))


def write(store: MemoryStore, title: str, body: str, project: str = "acme", **given: str) -> str:
    return store.write(type="semantic", title=title, body=body, project=project, **given).id  # type: ignore[arg-type]


def titles(store: MemoryStore, note: str, **given: object) -> list[str]:
    return [hit.memory.title for hit in store.related(note, **given)]  # type: ignore[arg-type]


@pytest.fixture
def pods(store: MemoryStore) -> str:
    write(store, "Cluster", "Kubernetes: scale the web deployment before the sale.")
    write(store, "Pancakes", "Two eggs, flour and milk.")
    write(store, "Holidays", "The beach was empty in October.")
    return write(store, "Pods", "kubectl rollout restart deployment web")


def test_related_notes_are_close_in_meaning_and_others_are_left_out(store: MemoryStore, pods: str) -> None:
    assert titles(store, pods) == ["Cluster"]


def test_without_vectors_related_notes_share_rare_words(store: MemoryStore, pods: str) -> None:
    write(store, "Sale", "The sale of pancakes starts on Monday.")
    store.ranking.ranker = by_words_alone
    assert titles(store, pods) == ["Cluster"]
    alone = write(store, "Zeppelin", "Helium.")
    assert titles(store, alone) == []


@pytest.mark.parametrize("ranker", [None, by_words_alone])
def test_superseded_hidden_and_deleted_notes_are_not_related(store: MemoryStore, pods: str, ranker: None) -> None:
    store.ranking.ranker = ranker
    (cluster,) = store.related(pods)
    new = write(store, "Scaling", "Kubernetes: scale the web deployment by hand.", supersedes=cluster.memory.id)
    assert titles(store, pods) == ["Scaling"]
    store.update(new, engram={"deleted_at": "2026-01-01T00:00:00+00:00"})
    assert titles(store, pods) == ["Cluster"]
    store.restore(new)
    assert titles(store, pods) == ["Scaling"]
    store.delete(new)
    assert titles(store, pods) == ["Cluster"]


def test_filters_and_k(store: MemoryStore, pods: str) -> None:
    for number in range(4):
        write(store, f"Rollout {number}", f"kubectl rollout status deployment web, try {number}", "other")
    assert len(store.related(pods)) == 5
    assert len(store.related(pods, k=2)) == 2
    assert store.related(pods, k=0) == []
    assert titles(store, pods, project="acme") == ["Cluster"]
    assert store.related(pods, type="episodic") == []


def test_a_copy_scores_one_and_the_closest_comes_first(store: MemoryStore, pods: str) -> None:
    write(store, "Pods", "kubectl rollout restart deployment web", "other")
    first, second = store.related(pods)
    assert first.score == pytest.approx(1, abs=0.01)
    assert second.score < first.score


def test_all_passages_of_a_long_note_count_not_one_that_many_notes_share(store: MemoryStore) -> None:
    """Each of its passages is compared with the best of another note; the mean decides."""
    about = "Kubernetes: kubectl rollout restarts the pods of a deployment one by one.\n" * 10
    long = write(store, "Diary", f"{about}\n{WEATHER[:600]}")
    write(store, "Weather", WEATHER)
    write(store, "Rollout", f"{about}\nkubectl rollout undo goes back to the version before.")
    assert titles(store, long)[0] == "Rollout"


def test_the_relatives_of_no_note(store: MemoryStore) -> None:
    with pytest.raises(NoteNotFound):
        store.related("01J00000000000000000000000")


def test_a_note_that_says_the_same_is_recognised_and_one_with_other_facts_is_not(store: MemoryStore) -> None:
    """On a labelled set: all copies in other words are found, and nothing else."""
    group: dict[str, int] = {}
    found = missed = wrong = 0
    for number, labelled in enumerate(GROUPS):
        for title, body in labelled["others"]:
            write(store, title, body)
        group[write(store, *labelled["note"])] = number
        store.embed()
        for title, body in labelled["copies"]:
            note = store.get(write(store, title, body))
            alike = resembling(store, note)
            found += any(group.get(each.id) == number for each in alike)
            missed += all(group.get(each.id) != number for each in alike)
            wrong += sum(group.get(each.id) != number for each in alike)
            group[note.id] = number
    for note_id in set(store.hashes()) - set(group):
        wrong += len(resembling(store, store.get(note_id)))
    assert (found, missed, wrong) == (sum(len(labelled["copies"]) for labelled in GROUPS), 0, 0)


def test_only_notes_of_the_project_and_global_ones_are_named(store: MemoryStore) -> None:
    text = "kubectl rollout restart deployment web"
    same, everywhere = write(store, "Pods", text), write(store, "pods", text, "global")
    write(store, "PODS", text, "other")
    store.embed()
    new = store.get(write(store, "Restart pods", text))
    assert {each.id for each in resembling(store, new)} == {same, everywhere}
    newer = store.get(write(store, "Restart the pods", text, supersedes=new.id))
    assert new.id not in {each.id for each in resembling(store, newer)}


def test_without_a_loaded_model_nothing_resembles_and_nothing_heavy_is_imported(tmp_path: Path) -> None:
    script = (
        "import sys; from anamnesis.store import MemoryStore; from anamnesis.store.related import resembling;"
        "store = MemoryStore(sys.argv[1]);"
        "notes = [store.write(type='semantic', title='Pods', body='kubectl get pods') for _ in range(2)];"
        "print(resembling(store, notes[1]), 'numpy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert run.stdout == "[] False\n"


def test_a_write_never_fails_by_what_it_resembles(store: MemoryStore, pods: str) -> None:
    """Neither without its vectors, nor after the note is gone."""
    store.embed()
    note = store.get(pods)
    store.delete(pods)
    assert resembling(store, note) == []
