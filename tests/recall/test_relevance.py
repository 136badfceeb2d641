"""The prompts at which a note is recalled, in memories of 1 to 5,000 notes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from tests.recall.test_exactness import docstrings

from anamnesis.inject import select_recall
from anamnesis.notes import Memory
from anamnesis.recall.relevance import is_about, subject
from anamnesis.store import MemoryStore
from anamnesis.store.question import by_words_alone

# A memory of one note has the first of these, larger ones have all, and documentation of the standard library.
NOTES = {
    "retries": ("HTTP client retries", "Requests that get a 503 are retried three times with exponential backoff."),
    "wal": ("Use WAL mode for SQLite", "Set busy_timeout on every connection to avoid lock errors."),
    "pytest": ("How to run a single pytest", "Call pytest -k name; the whole suite takes six minutes."),
    "deploys": ("Deploys go through Fly", "Run `fly deploy --remote-only` from main: the CI has no token."),
    "indent": ("Indentation", "The user prefers tabs over spaces in Makefiles and Go, and hates trailing whitespace."),
}
ABOUT = {
    "retries": ["make the http client retry on 503", "the client should use backoff when it retries"],
    "wal": ["sqlite says the database is locked", "which busy_timeout do we set?"],
    "pytest": ["how do I run one pytest?", "pytest takes so long, run just a part of the suite"],
    "deploys": ["how do we deploy to fly from CI?", "fly deploy says the token is missing"],
    "indent": ["tabs or spaces in the Makefile?", "remove the trailing whitespace"],
}
# Enough among a few notes, but not among many that hold the same words.
VAGUELY_ABOUT = {
    "wal": ["why do I get lock errors under load?"],
    "deploys": ["deploy the app to production", "deploy it"],
}
ABOUT_NOTHING = [
    *("continue", "yes", "ok", "thanks!", "", "??", "/compact", "1", "fix the failing test", "run the tests again"),
    *("what does this function do?", "make it faster", "commit this and push", "there is an error in the log"),
    *("rename the variable", "please explain that again", "add a unit test for it", "a b c"),
    *("plan a birthday dinner for my grandmother", "translate the invoice letter into Portuguese"),
    *("the landing page needs a purple gradient and a larger logo",),
]


def memory(folder: Path, size: int) -> MemoryStore:
    store = MemoryStore(folder)
    notes = [Memory(name, "semantic", *text, "p") for name, text in NOTES.items()]
    others = islice(docstrings(), max(0, size - len(notes)))
    notes += [Memory(f"n{number}", "semantic", name, text, "p") for number, (name, text) in enumerate(others)]
    store.put_all(notes[:size])
    return store


BY_WORDS, BY_MEANING = [1, 5, 100, 5_000], [1, 5, 100]


@pytest.fixture(
    scope="module",
    params=[*((size, True) for size in BY_WORDS), *((size, False) for size in BY_MEANING)],
    ids=[*(f"{size}-by-words" for size in BY_WORDS), *(f"{size}-by-meaning" for size in BY_MEANING)],
)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    """A memory of a size, with a daemon that compares meaning or without one."""
    size, by_words = request.param
    with memory(tmp_path_factory.mktemp("memory"), size) as opened:
        if by_words:
            opened.ranking.ranker = by_words_alone
        assert opened.count() == size
        yield opened


def recalled(store: MemoryStore, prompt: str) -> list[str]:
    return [note.id for note in select_recall(store, prompt, project="p", known=set())]


@pytest.mark.parametrize(("name", "prompt"), [(name, prompt) for name, prompts in ABOUT.items() for prompt in prompts])
def test_a_note_is_recalled_at_a_prompt_about_it(store: MemoryStore, name: str, prompt: str) -> None:
    found = recalled(store, prompt)
    assert found[:1] == ([name] if store.find(name) else [])


@pytest.mark.parametrize(
    ("name", "prompt"), [(name, prompt) for name, prompts in VAGUELY_ABOUT.items() for prompt in prompts]
)
def test_less_is_enough_in_a_small_memory(store: MemoryStore, name: str, prompt: str) -> None:
    if store.count() <= (100 if store.ranking.ranker else 5):
        assert recalled(store, prompt)[:1] == ([name] if store.find(name) else [])


@pytest.mark.parametrize("prompt", ABOUT_NOTHING)
def test_nothing_is_recalled_at_a_prompt_that_is_about_no_note(store: MemoryStore, prompt: str) -> None:
    assert recalled(store, prompt) == []


def test_what_is_in_every_note_says_nothing(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        store.put_all(Memory(f"n{n}", "semantic", f"Lantern {n}", "lantern notes", "p") for n in range(60))
        assert recalled(store, "tell me about the lantern") == []


def test_a_prompt_is_about_its_nouns_not_about_what_is_to_be_done() -> None:
    assert subject("please make the HTTP client retry on 503, and fix 2 tests") == "http client retry 503"
    assert subject("can you run the tests again?") == subject("/model http client") == ""


def test_a_single_word_is_enough_only_if_it_names_the_note() -> None:
    notes = {"deploy": 1, "run": 1}
    assert is_about({"deploy"}, {"deploy"}, notes, 5)
    assert not is_about({"deploy"}, set(), notes, 5)
    assert is_about({"deploy", "run"}, set(), notes, 5)
    assert not is_about({"run"}, {"run"}, notes, 5)


@pytest.mark.parametrize("total", [1, 5, 100, 5_000])
def test_half_of_the_telling_words_are_enough_in_a_memory_of_any_size(total: int) -> None:
    notes = {"http": 1, "client": 1, "retry": 0, "503": 0, "make": total}
    assert is_about({"http", "client"}, set(), notes, total)
    assert not is_about({"http", "make"}, {"make"}, notes, total)
