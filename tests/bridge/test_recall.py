"""Where no observation has all words of a query, those are found whose notes answer it, and are marked as such."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.daemon import environment

from anamnesis.config import read_settings
from anamnesis.engram import database
from anamnesis.engram.search import Filters
from anamnesis.mcp.engram import build_server
from anamnesis.mcp.engram.tool import EngramMemory
from anamnesis.store.question import Question, Ranked
from anamnesis.vault import Vault, open_vault
from anamnesis.web.engram_read_routes import search
from anamnesis.web.engram_request import EngramRequest
from anamnesis.web.message import Request

ALL: Filters = {"type": "", "project": "", "scope": "", "limit": 10}


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    database.prepare(tmp_path / "engram.db")
    with open_vault(read_settings(environment(tmp_path), tmp_path)) as opened:
        for title, body, project in (
            ("Pods", "kubectl rollout restart", "github.com/acme/shop"),
            ("Everywhere", "kubectl get nodes", "global"),
            ("Elsewhere", "kubectl drain", "other"),
            ("Pancakes", "Two eggs and flour.", "shop"),
        ):
            opened.write(type="procedural", title=title, body=body, project=project)
        opened.reconcile()
        opened.notes.embed()
        opened.notes.ranking.ranker = Fitting(opened)
        yield opened


class Fitting:
    """The ranking of this process, in which notes about kubectl fit. `fit` is theirs."""

    def __init__(self, vault: Vault, fit: float | None = 0.9) -> None:
        self._ranking = vault.notes.ranking
        self.fit = fit

    def __call__(self, asked: Question) -> list[Ranked] | None:
        ranked = self._ranking.rank_here(asked) or []
        titles = self._ranking.headings([each.id for each in ranked])
        return [each._replace(fit=0.1 if titles[each.id]["title"] == "Pancakes" else self.fit) for each in ranked]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = database.connect(tmp_path / "engram.db")
    yield opened
    opened.close()


def titles(vault: Vault, db: sqlite3.Connection, **filters: str | int) -> list[str]:
    return sorted(each.title for each in vault.recall(db, "kubernetes", {**ALL, **filters}))  # type: ignore[typeddict-item]


def test_the_observations_of_fitting_notes_are_found_within_the_filters(vault: Vault, db: sqlite3.Connection) -> None:
    assert titles(vault, db) == ["Elsewhere", "Everywhere", "Pods"]
    assert titles(vault, db, project="shop") == ["Everywhere", "Pods"]
    assert titles(vault, db, project="nowhere") == ["Everywhere"]
    assert titles(vault, db, type="nonsense") == []
    assert titles(vault, db, scope="personal") == []
    assert len(titles(vault, db, limit=2)) == 2
    ranks = [each.rank for each in vault.recall(db, "kubernetes", ALL)]
    assert ranks == sorted(ranks)


def test_a_deleted_observation_is_not_found(vault: Vault, db: sqlite3.Connection) -> None:
    with db:
        db.execute("UPDATE observations SET deleted_at = '2026-01-01 00:00:00' WHERE title = 'Elsewhere'")
    assert titles(vault, db) == ["Everywhere", "Pods"]


@pytest.mark.parametrize("fit", [0.2, None])
def test_what_is_weak_or_not_judged_is_not_shown_to_clients_who_expect_all_words(
    vault: Vault, db: sqlite3.Connection, fit: float | None
) -> None:
    vault.notes.ranking.ranker = Fitting(vault, fit)
    assert titles(vault, db) == []


def test_a_topic_key_that_no_memory_has_finds_nothing(vault: Vault, db: sqlite3.Connection) -> None:
    assert vault.recall(db, "kubernetes", ALL)
    for key in ("kubernetes/kubectl", " bug/kubernetes-fix "):
        assert vault.recall(db, key, ALL) == []
        response = search(
            EngramRequest(Request("GET", "/search", f"q={key.strip()}&limit=50"), recall=vault.recall), db
        )
        assert (response.body, response.headers) == (b"null\n", ())


def test_words_alone_are_no_reason_to_fall_back(vault: Vault, db: sqlite3.Connection) -> None:
    vault.notes.ranking.ranker = lambda _: None
    assert vault.recall(db, "kubectl unheard", ALL) == []


def test_without_a_bridge_nothing_changes(tmp_path: Path) -> None:
    with Vault(tmp_path) as vault:
        vault.write(type="semantic", title="Pods", body="kubectl")
        assert vault.recall(sqlite3.connect(":memory:"), "kubernetes", ALL) == []


@pytest.mark.parametrize(
    ("query", "is_recalled"), [("kubernetes", True), ("kubectl", False), ("kubernetes&match=any", False)]
)
def test_over_http_a_header_marks_what_was_found_by_meaning(
    vault: Vault, db: sqlite3.Connection, query: str, is_recalled: bool
) -> None:
    response = search(EngramRequest(Request("GET", "/search", f"q={query}"), recall=vault.recall), db)
    assert response.headers == ((("X-Anamnesis-Recall", "fused"),) if is_recalled else ())
    found = json.loads(response.body)
    assert (found is None) == ("match" in query)
    if found:
        assert {"id", "sync_id", "type", "title", "content", "rank"} <= found[0].keys()
    plain = search(EngramRequest(Request("GET", "/search", "q=kubernetes")), db)
    assert (plain.body, plain.headers) == (b"null\n", ())


def test_mem_search_says_what_was_found_by_meaning(vault: Vault, db: sqlite3.Connection) -> None:
    def said(*, strict: bool) -> str:
        memory = EngramMemory(lambda: vault.around(db), lambda: "shop", strict=strict, recall=vault.recall)
        asked = {"name": "mem_search", "arguments": {"query": "kubernetes"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
        return str(build_server(memory).answer(message))

    assert "No memory has all of these words. These are found by meaning:" in said(strict=False)
    assert "Pods" in said(strict=False)
    assert "No memories found for" in said(strict=True)
    assert "Pods" not in said(strict=True)
