"""Notes are found by what they mean, as soon as a follower of the change log has embedded them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.remains import BODY, holding

from anamnesis.meaning.model import Model, load
from anamnesis.store import MemoryStore
from anamnesis.store.fused import fused_search
from anamnesis.store.meaning import Meaning
from anamnesis.store.purging import erase, purge
from anamnesis.store.queries import Filter
from anamnesis.store.question import Question

LONG = "\n".join(f"Line {number} is about the weather of the day and says nothing else." for number in range(40))


class Found:
    """A store with its meaning."""

    def __init__(self, root: Path) -> None:
        self.store = MemoryStore(root)
        self.embedded = 0
        self.meaning = Meaning(self.store._index, self.store.log, root / "vectors.db", self._model)

    def _model(self) -> Model:
        self.embedded += 1
        return load()

    def write(self, title: str, body: str, project: str = "global") -> str:
        return self.store.write(type="semantic", title=title, body=body, project=project).id

    def ids(self, query: str, k: int = 3, wanted: Filter | None = None) -> list[str]:
        asked = Question(query, wanted or Filter(), k)
        return [
            each.id
            for each in self.store._catalogue.ask(lambda db: fused_search(db, asked, self.meaning, self.store.usage))
        ]


@pytest.fixture
def found(tmp_path: Path) -> Found:
    return Found(tmp_path)


def test_a_note_is_found_by_another_word_for_it(found: Found) -> None:
    pods = found.write("Restarting pods", "kubectl rollout restart deployment web")
    found.write("Pancakes", "Two eggs, flour and milk.")
    found.write("Holidays", "The beach was empty in October.")
    assert found.meaning.follow() == 3
    assert found.ids("kubernetes")[0] == pods


def test_an_end_does_not_wait_for_a_long_text(found: Found) -> None:
    """On a busy machine a text of 256 passages takes minutes, and stopping the daemon does not wait for them."""
    found.write("A book", "\n".join([LONG] * 20))

    def stop_after_the_first() -> Model:
        found.embedded += 1
        found.meaning.abandon()
        return load()

    found.meaning._model = stop_after_the_first
    assert found.meaning.follow() == 0
    assert found.embedded == 1
    assert found.store.ranking.pending() == 1


def test_one_incidental_word_does_not_outweigh_the_meaning_of_a_whole_question(found: Found) -> None:
    """Words that no note holds count as words of the question, too."""
    pods = found.write("kubectl rollout restart", "Pods keep the old environment until they are recreated.")
    found.write("Table service", "The service at breakfast was slow, but the coffee was good.")
    for topic in ("Pancakes", "Holidays", "Chess", "Birds", "Gardening"):
        found.write(topic, f"Some words about {topic.lower()} and the weather.")
    found.meaning.follow()
    assert found.ids("why does my kubernetes service see stale variables and ancient configuration", 1) == [pods]


def test_a_note_that_is_not_embedded_yet_is_found_by_its_words(found: Found) -> None:
    found.write("Pancakes", "Two eggs, flour and milk.")
    found.meaning.follow()
    new = found.write("Zeppelin", "The zeppelin needs helium.")
    assert found.ids("zeppelin")[0] == new


def test_nothing_is_embedded_twice(found: Found) -> None:
    """Neither after a change of the front matter, nor in a new index, nor in a copy of a note."""
    first = found.write("Restarting pods", "kubectl rollout restart")
    found.meaning.follow()
    assert found.embedded == 1
    found.store.update(first, tags=["k8s"])
    found.write("Restarting pods", "kubectl rollout restart")
    found.meaning.follow()
    found.store.reindex()
    assert found.meaning.follow() == 2
    assert found.embedded == 1
    found.store.update(first, body="kubectl rollout undo")
    found.meaning.follow()
    assert found.embedded == 2


def test_changed_deleted_and_superseded_notes(found: Found) -> None:
    pods, cake = found.write("Pods", "kubectl rollout restart"), found.write("Pancakes", "eggs and flour")
    found.meaning.follow()
    assert found.ids("kubernetes", 1) == [pods]
    found.store.update(pods, title="Birds", body="The owl sleeps in the barn.")
    found.store.update(cake, title="Cluster", body="kubectl get pods")
    found.meaning.follow()
    assert found.ids("kubernetes", 1) == [cake]
    found.store.delete(cake)
    assert found.ids("kubernetes") == []
    assert found.ids("owl") == [pods]
    new = found.store.write(type="semantic", title="Owls", body="Owls hunt at night.", supersedes=pods).id
    assert found.ids("owl") == [new]


def test_the_best_passage_of_a_long_note_counts(found: Found) -> None:
    hidden = found.write("Diary", f"{LONG}\nThe database lock was released by a checkpoint of the WAL.\n{LONG}")
    for number in range(20):
        found.write(f"Diary {number}", f"{LONG}\nNothing else happened on day {number}.")
    found.meaning.follow()
    assert found.ids("how is a sqlite lock released", 1) == [hidden]


def test_a_filter_selects_what_is_compared(found: Found) -> None:
    mine = found.write("Pods here", "kubectl rollout restart", "mine")
    found.write("Pods there", "kubectl rollout restart", "other")
    found.meaning.follow()
    assert found.ids("kubernetes", 5, Filter("mine")) == [mine]
    assert found.ids("kubernetes", 5, Filter("none")) == []


def test_a_rebuilt_index_has_other_numbers(found: Found) -> None:
    ids = [found.write(f"Note {number}", f"text of number {number}") for number in range(5)]
    found.meaning.follow()
    before = found.ids("text of number 3", 5)
    found.store.delete(ids[0])
    found.store.reindex()
    found.meaning.follow()
    assert found.ids("text of number 3", 5) == [id for id in before if id != ids[0]]


def test_the_vectors_of_another_process_are_seen(found: Found, tmp_path: Path) -> None:
    pods = found.write("Pods", "kubectl rollout restart")
    found.write("Pancakes", "eggs and flour")
    assert found.ids("kubernetes", 2) == []
    Found(tmp_path).meaning.follow()
    assert found.ids("kubernetes", 1) == [pods]


def test_searches_of_a_script_wait_for_a_backlog_until_their_time_is_used_up(tmp_path: Path) -> None:
    """And a few new notes are embedded all the same, so that a script finds by meaning what it has just written."""
    with MemoryStore(tmp_path) as store:
        for number in range(40):
            store.write(type="semantic", title=f"Note {number}", body="The beach was empty.")
        store.ranking.embed_seconds = 0.0
        store.search("sand")
        assert store.ranking.pending() == 40
        store.ranking.embed_seconds = 60.0
        store.search("sand")
        assert store.ranking.pending() == 0
        store.ranking.embed_seconds = 0.0
        pods = store.write(type="semantic", title="Restarting pods", body="kubectl rollout restart deployment web")
        assert store.search("kubernetes")[0].id == pods.id


def test_a_note_that_is_purged_while_it_is_embedded_leaves_nothing(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        note = store.write(type="semantic", title="Diary", body=f"It says {BODY}.\n{LONG}\n{LONG}")
        store.write(type="semantic", title="Other", body=f"{LONG}\n{LONG}")

        def model() -> Model:
            purge(store, note.id)
            erase(store)
            return load()

        meaning = Meaning(store._index, store.log, tmp_path / "vectors.db", model)
        meaning.follow()
        meaning.close()
    assert holding(tmp_path) == {}
    with MemoryStore(tmp_path) as store:
        assert store.ranking.pending() == 0
        assert [hit.memory.title for hit in store.hits("weather", mode="meaning")] == ["Other"]


def test_nothing_is_said_about_the_fit_of_a_note_that_is_not_embedded_yet(tmp_path: Path) -> None:
    """A note that was just written in a daemon holds the words that are asked for, and is not weak."""
    with MemoryStore(tmp_path) as store:
        store.write(type="semantic", title="Pancakes", body="Two eggs, flour and milk.")
        store.embed()
        store.ranking.embed_seconds, store.ranking.wake = 0.0, lambda: None
        new = store.write(type="semantic", title="Zeppelin", body="The zeppelin needs helium.")
        first = store.hits("zeppelin")[0]
        assert (first.memory.id, first.fit, first.is_weak) == (new.id, None, False)
        store.embed()
        assert (store.hits("zeppelin")[0].fit or 0) > 0.5


def test_a_note_that_was_compared_before_it_was_embedded_is_not_embedded_again(found: Found) -> None:
    old = found.write("Pods", "kubectl rollout restart")
    found.meaning.follow()
    new = found.write("Pods", "kubectl rollout restart now")
    close = found.store._catalogue.ask(lambda db: found.meaning.compare_with(db, new))
    assert close is not None
    assert close.closeness.tolist() == pytest.approx([0.95], abs=0.05)
    assert found.embedded == 2
    found.meaning.follow()
    assert found.embedded == 2
    assert found.ids("pods", 2) == [new, old]
    long = found.write("Diary", LONG)
    assert found.store._catalogue.ask(lambda db: found.meaning.compare_with(db, long)) is None
