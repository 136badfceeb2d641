"""The probability that a hit answers its query, in memories of 1 to 20 notes; and queries that find nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anamnesis.store import Hit, MemoryStore

NOTES = [
    ("Restarting pods", "kubectl rollout restart deployment web"),
    ("Use WAL mode for SQLite", "Set busy_timeout on every connection to avoid lock errors."),
    ("Deploys go through Fly", "Run `fly deploy --remote-only` from main: the CI has no token."),
    ("Rechnungen", "Die Rechnung wird am Monatsende verschickt."),
    ("Pancakes", "Two eggs, flour and milk."),
    ("HTTP client retries", "Requests that get a 503 are retried three times with exponential backoff."),
    ("How to run a single pytest", "Call pytest -k name; the whole suite takes six minutes."),
    ("Indentation", "The user prefers tabs over spaces in Makefiles and Go."),
    ("getUserById is deprecated", "Call find_user(id) of accounts.py; it returns None for unknown ids."),
    ("Contraseñas", "Las contraseñas se guardan con argon2, nunca en claro."),
    ("Fonts", "The landing page uses Inter; headings are in 600."),
    ("Invoices are in cents", "Amounts are integers; format them only in templates."),
    ("Feature flags", "They live in flags.toml and are read at the start."),
    ("Time zones", "Everything is stored in UTC and shown in the zone of the browser."),
    ("Release", "Tag main, wait for the wheel, then announce it on the list."),
    ("Logging", "structlog with JSON in production, plain lines on a terminal."),
    ("Backups", "Postgres is dumped every night to the bucket in Frankfurt."),
    ("The cat", "It sleeps on the router when it is cold."),
    ("Sessions", "They expire after 30 minutes and are kept in Redis."),
    ("Queue", "Jobs are retried by the worker; poison messages go to the dead letters."),
]
FITTING = {
    "Restarting pods": ["kubernetes", "kubectl", "how do I restart the deployment?"],
    "Use WAL mode for SQLite": ["sqlite", "database is locked", "which busy_timeout do we set?"],
    "Deploys go through Fly": ["how do we deploy?", "deploy to fly"],
    "Rechnungen": ["wann wird die Rechnung verschickt?"],
}
FITTING_NOTHING = ["xyzzy", "zebra", "qwertyuiop", "plan a birthday dinner for my grandmother", "capital of Mongolia"]


@pytest.fixture(scope="module", params=[4, 5, 20])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path_factory.mktemp("memory")) as opened:
        for title, body in NOTES[: request.param]:
            opened.write(type="semantic", title=title, body=body)
        yield opened


@pytest.fixture
def alone(tmp_path: Path) -> Callable[[str, str], list[Hit]]:
    """Asks a memory that has only the note with a title."""

    def ask(title: str, query: str) -> list[Hit]:
        with MemoryStore(tmp_path / title) as only:
            if not only.count():
                only.write(type="semantic", title=title, body=dict(NOTES)[title])
            return only.hits(query)

    return ask


@pytest.mark.parametrize(("title", "query"), [(title, query) for title, some in FITTING.items() for query in some])
def test_the_note_that_a_query_is_about_fits_it(store: MemoryStore, title: str, query: str) -> None:
    best = store.hits(query)[0]
    assert best.memory.title == title
    assert not best.is_weak


@pytest.mark.parametrize(("title", "query"), [(title, query) for title, some in FITTING.items() for query in some])
def test_the_only_note_fits_what_is_about_it(alone: Callable[[str, str], list[Hit]], title: str, query: str) -> None:
    (found,) = alone(title, query)
    assert not found.is_weak


@pytest.mark.parametrize("query", FITTING_NOTHING)
def test_no_note_fits_a_query_that_is_about_none(store: MemoryStore, query: str) -> None:
    assert all(hit.is_weak for hit in store.hits(query))


@pytest.mark.parametrize("query", ["xyzzy", "zebra", "qwertyuiop"])
def test_a_word_that_no_note_knows_finds_nothing(store: MemoryStore, query: str) -> None:
    assert store.search(query) == []


@pytest.mark.parametrize("query", ["xyzzy", "zebra", "capital of Mongolia"])
def test_the_only_note_is_not_found_by_what_is_not_about_it(alone: Callable[[str, str], list[Hit]], query: str) -> None:
    assert [hit for title in FITTING for hit in alone(title, query)] == []


def test_words_alone_have_no_fit(store: MemoryStore) -> None:
    (found, *_) = store.hits("sqlite", mode="words")
    assert found.fit is None
    assert not found.is_weak
