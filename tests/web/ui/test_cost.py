"""Pages read as much of the index in a large memory as in a small one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from anamnesis.config import read_settings
from anamnesis.engram.shared import Shared
from anamnesis.notes import TYPES, Memory, ulid
from anamnesis.vault import Vault
from anamnesis.web.lanes import Lanes
from anamnesis.web.ui.background import Background
from anamnesis.web.ui.site import VIEWS
from anamnesis.web.ui.view import PageRequest, Site

FEW, MANY = 300, 3_000


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    settings = read_settings({"ANAMNESIS_HOME": str(tmp_path)}, tmp_path)
    with Vault(tmp_path) as vault, closing(Shared(tmp_path / "engram.db")) as shared, closing(Lanes(shared)) as lanes:
        yield Site(lambda: vault, lanes, settings, Background(settings))


def note(number: int) -> Memory:
    moment = f"2026-01-01T{number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}+00:00"
    return Memory(
        ulid(1_780_000_000_000 + number, number),
        TYPES[number % 3],
        f"Note {number}",
        f"Body {number}.",
        f"project-{number % 7}",
        "laptop",
        tags=[f"tag-{number % 5}"],
        created_at=moment,
        updated_at=moment,
    )


def steps_for(site: Site, path: str, query: dict[str, str]) -> int:
    """The steps that SQLite takes for a page, in hundreds."""
    [view] = [view for view in VIEWS if view.path == path]
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    index = site.vault.notes._index
    asked = PageRequest({"id": note(7).id}, query)
    view.read(site, asked)  # what is learned once
    index.read(lambda db: db.set_progress_handler(step, 100))
    view.read(site, asked)
    index.read(lambda db: db.set_progress_handler(None, 100))
    return steps


def test_pages_read_no_more_of_a_large_memory_than_of_a_small_one(site: Site) -> None:
    pages: tuple[tuple[str, dict[str, str]], ...] = (
        ("/notes", {}),
        ("/notes", {"project": "project-3"}),
        ("/notes/{id}", {}),
        ("/timeline", {}),
        ("/graph", {}),
    )
    store = site.vault.notes
    store.put_all(map(note, range(FEW)))
    small = [steps_for(site, *page) for page in pages]
    store.put_all(map(note, range(FEW, MANY)))
    large = [steps_for(site, *page) for page in pages]
    grown = {str(page): (one, other) for one, other, page in zip(small, large, pages, strict=True)}
    assert {page: pair for page, pair in grown.items() if pair[1] > 2 * pair[0] + 10} == {}, grown


def test_facets_are_counted_by_two_statements(site: Site) -> None:
    site.vault.notes.put_all(map(note, range(FEW)))
    for query in ({}, {"type": "semantic"}, {"q": "body"}, {"tag": "tag-1", "project": "project-2"}):
        site.vault.notes.put(note(FEW))  # nothing that was counted before holds
        [view] = [view for view in VIEWS if view.path == "/notes/facets"]
        statements: list[str] = []
        index = site.vault.notes._index
        index.read(lambda db: db.set_trace_callback(statements.append))  # noqa: B023  it is used at once
        view.read(site, PageRequest({}, query))
        index.read(lambda db: db.set_trace_callback(None))
        assert sum("count(*)" in each for each in statements) == 2, statements
