"""Every filter of every list, of both stores: the notes of one table, and which of them a filter leaves."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.hub.running import Client, RunningHub
from tests.hub.test_meaning import embed
from tests.postgres import KEY, Postgres

from anamnesis.hub.database import administrator
from anamnesis.hub.passages import prepare
from anamnesis.hub.store import HubStore
from anamnesis.notes import Memory, render
from anamnesis.store import MemoryStore
from anamnesis.store.queries import MoreFilters

WORDS = "The pool of connections has a limit"
# Two spaces of a hub, in which everything else is the same; a store of a machine has the notes of both.
SPACES = ("core", "docs")
NOTES = [
    (
        space,
        Memory(
            f"{space}-{project[-1]}-{type}-{source}-{scope}",
            type,
            f"Pool {number}",
            WORDS,
            project=f"github.com/you/{project}",
            machine_id=f"desk-{project}",
            scope=scope,
            tags=[type, source],
            prov_source=source,
            created_at=f"2026-11-0{1 + number % 3}T00:00:00+00:00",
            updated_at=f"2026-11-0{1 + number % 3}T00:00:00+00:00",
        ),
    )
    for number, (space, project, type, source, scope) in enumerate(
        itertools.product(
            SPACES,
            ("app", "lib"),
            ("procedural", "semantic", "episodic"),
            ("human", "import"),
            ("portable", "machine-local"),
        )
    )
]
# Each value of each filter, with which notes it leaves. A filter that a list has and this table lacks fails the tests.
FILTERS: dict[str, dict[Any, Callable[[str, Memory], bool]]] = {
    "space": {"core": lambda space, _: space == "core"},
    "project": {
        "github.com/you/app": lambda _, note: note.project == "github.com/you/app",
        "lib": lambda _, note: note.project == "github.com/you/lib",
        "nowhere": lambda *_: False,
    },
    "type": {
        "procedural": lambda _, note: note.type == "procedural",
        "episodic": lambda _, note: note.type == "episodic",
    },
    "scope": {
        "portable": lambda _, note: note.scope == "portable",
        "machine-local": lambda _, note: note.scope == "machine-local",
    },
    "tags": {("episodic", "human"): lambda _, note: note.tags == ["episodic", "human"]},
    "source": {"import": lambda _, note: note.prov_source == "import"},
    "machine": {"desk-lib": lambda _, note: note.machine_id == "desk-lib"},
    "since": {"2026-11-02T00:00:00+00:00": lambda _, note: note.updated_at >= "2026-11-02"},
    "until": {"2026-11-02T00:00:00+00:00": lambda _, note: note.updated_at < "2026-11-02"},
    "others": {
        (): lambda _, note: note.prov_source != "import",
        (NOTES[0][1].id,): lambda _, note: note.prov_source != "import" and note.id != NOTES[0][1].id,
    },
    "ids": {tuple(note.id for _, note in NOTES[::5]): lambda space, note: (space, note) in NOTES[::5]},
}
# Parameters that are no filters.
OTHERS = {"self", "query", "k", "mode", "explain", "at_hand", "limit", "offset", "order", "memory_id", "warm"}
OTHERS |= {"stems", "also", "most"}


def durable(note: Memory) -> bool:
    return note.type != "episodic"


# What each list returns, as ids or as their number, and which notes it is about.
LISTS: dict[str, tuple[Callable[..., Any], Callable[[Memory], bool]]] = {
    "list": (lambda store, **given: ids(store.list(**given)), lambda _: True),
    "count": (lambda store, **given: store.count(**given), lambda _: True),
    "search": (lambda store, **given: ids(store.search(WORDS, k=99, mode="words", **given)), lambda _: True),
    "hits": (lambda store, **given: found(store.hits(WORDS, k=99, mode="words", **given)), lambda _: True),
    "related": (lambda store, **given: found(store.related(NOTES[0][1].id, k=99, **given)), lambda _: True),
    "best": (lambda store, **given: sorted(each.id for each in store.best(WORDS, k=99, **given)), lambda _: True),
    "having": (lambda store, **given: ids(store.having(["pool"], k=99, **given)), durable),
    "unreflected": (lambda store, **given: sorted(store.unreflected(**given)), lambda note: note.type == "episodic"),
}


def ids(notes: list[Memory]) -> list[str]:
    return sorted(note.id for note in notes)


def found(hits: list[Any]) -> list[str]:
    return ids([hit.memory for hit in hits])


def filters_of(method: Callable[..., Any]) -> set[str]:
    """The names of the filters that a list has."""
    names = {*inspect.signature(method).parameters}
    return (names | {*MoreFilters.__annotations__} if "also" in names else names) - OTHERS


def filtering(kind: type) -> set[str]:
    """The lists of a store that have a filter."""
    public = [(name, each) for name, each in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]
    return {name for name, each in public if "project" in inspect.signature(each).parameters} & LISTS.keys()


def check(store: Any, notes: list[tuple[str, Memory]], name: str) -> None:
    """Ask a list with each value of each of its filters, and of each two of them together."""
    names = sorted(filters_of(getattr(type(store), name)))
    assert {*names} <= FILTERS.keys(), name
    ask, is_about = LISTS[name]
    needed = {"project"} if name in ("best", "having") else set()
    for chosen in itertools.chain([()], itertools.combinations(names, 1), itertools.combinations(names, 2)):
        if not needed <= {*chosen}:
            continue
        for values in itertools.product(*(FILTERS[each] for each in chosen)):
            rules = [FILTERS[each][value] for each, value in zip(chosen, values, strict=True)]
            left = [note.id for space, note in notes if is_about(note) and all(rule(space, note) for rule in rules)]
            if name == "related":
                left = [each for each in left if each != NOTES[0][1].id]
            given = dict(zip(chosen, values, strict=True))
            assert ask(store, **given) == (len(left) if name == "count" else sorted(left)), (name, given)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    folder: Path = tmp_path_factory.mktemp("filters")
    with MemoryStore(folder) as store:
        store.put_all(note for _, note in NOTES)
        yield store


@pytest.fixture(scope="module")
def hub(postgres: Postgres) -> Iterator[RunningHub]:
    url = postgres.new_hub()
    with administrator(url) as db:
        has_meaning = prepare(db)
    with RunningHub(url) as running:
        you = running.user("you", **dict.fromkeys(SPACES, "writer"))
        changes = [{"space": space, "id": note.id, "base": 0, "text": render(note)} for space, note in portable()]
        assert you("/v1/changes", {"machine": "desk", "changes": changes}).status == 200
        if has_meaning:
            embed(running)
        yield running


def portable() -> list[tuple[str, Memory]]:
    return [each for each in NOTES if each[1].scope == "portable"]


@contextmanager
def entered(hub: RunningHub) -> Iterator[HubStore]:
    with hub.hub.database.entered(KEY.hash(hub.user("you").token)) as (db, caller):
        yield HubStore(db, caller)


def test_the_lists_of_the_table_are_those_that_the_stores_have() -> None:
    assert filtering(MemoryStore) == LISTS.keys()
    assert filtering(HubStore) == {"list", "count", "hits", "related", "unreflected"}


@pytest.mark.parametrize("name", LISTS)
def test_every_filter_of_a_machines_lists_leaves_the_notes_that_it_names(machine: MemoryStore, name: str) -> None:
    check(machine, NOTES, name)


@pytest.mark.parametrize("name", sorted(filtering(HubStore)))
def test_every_filter_of_a_hubs_lists_leaves_the_notes_that_it_names(hub: RunningHub, name: str) -> None:
    with entered(hub) as store:
        if name == "related" and not store.related(NOTES[0][1].id):
            pytest.skip("This PostgreSQL has no pgvector.")
        check(store, portable(), name)


def listed_on_the_page(you: Client, given: dict[str, str], query: str) -> list[str]:
    answer = you(f"/ui/notes?{urlencode({**given, 'q': query})}")
    assert answer.status == 200, answer.body
    return sorted(each["id"] for each in answer.json["notes"])


def listed_by_the_tool(you: Client, given: dict[str, str], query: str) -> list[str]:
    name, more = ("memory_search", {"query": query, "k": 50}) if query else ("memory_list", {"limit": 50})
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": given | more}}
    content = you("/mcp", message).json["result"]["structuredContent"]
    return sorted(each["id"] for each in next(each for each in content.values() if isinstance(each, list)))


@pytest.mark.parametrize("ask", [listed_on_the_page, listed_by_the_tool])
@pytest.mark.parametrize("query", ["", "pool connections"])
@pytest.mark.parametrize("filters", [("space",), ("project",), ("type",), ("space", "project", "type")])
def test_the_filters_of_the_hubs_pages_and_tools_do_so_too(
    hub: RunningHub, ask: Callable[..., list[str]], query: str, filters: tuple[str, ...]
) -> None:
    given = {name: next(iter(FILTERS[name])) for name in filters}
    rules = [FILTERS[name][value] for name, value in given.items()]
    left = [note.id for space, note in portable() if all(rule(space, note) for rule in rules)]
    assert ask(hub.user("you"), given, query) == sorted(left)
