"""Daemons with notes, and a browser, for the tests of the dashboard."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser
from tests.web.daemon import Daemon
from tests.web.ui.browsing import Watched, started

from anamnesis.dream.dream_database import REVIEW, DreamDatabase, NewProposal
from anamnesis.dream.proposal import Proposal
from anamnesis.notes import Memory
from anamnesis.notes.foreign import as_foreign
from anamnesis.notes.merge import merge
from anamnesis.store import MemoryStore


def fill(home: Path) -> dict[str, str]:
    """Write some notes; their ids by title."""
    bodies = {
        "Use WAL mode": ("semantic", "acme/api", ["sqlite"], "Set `busy_timeout`. See [[Retry policy]]."),
        "Retry policy": ("procedural", "global", ["queue"], "Back off with jitter, at most five times."),
        "How to deploy": ("procedural", "acme/web", ["ops"], "Run `scripts/deploy.sh --dry-run` first."),
        "Session of Monday": ("episodic", "acme/api", ["ops"], "Fixed the lock errors in the importer."),
    }
    with MemoryStore(home) as store:
        return {
            title: store.write(type=kind, title=title, body=body, project=project, tags=tags, machine_id="laptop").id
            for title, (kind, project, tags, body) in bodies.items()
        }


def leave_to_review(home: Path) -> None:
    """Write a conflict, a proposal of a dream, and an imported note."""
    with MemoryStore(home) as store:
        base = Memory("retrying", "semantic", "Retry policy", "one\ntwo\n", created_at="2026-01-01T00:00:00+00:00")
        this = replace(base, body="one\nof desk\n", updated_at="2026-01-03T00:00:00+00:00")
        both = merge(base, this, replace(base, body="one\nof laptop\n", updated_at="2026-01-02T00:00:00+00:00"))
        assert both.other
        store.put_all([both.note, both.other, as_foreign(replace(base, id="advice", title="Advice"), "colleague")])
        plan = store.put(Memory("deploying", "procedural", "How to deploy", "Run deploy.sh.\n"))
        proposal = Proposal(
            "update", (plan.id,), "It has an option now.", 0.8, (replace(plan, body="Use --dry-run.\n"),)
        )
        hashes = {id: hash.hex() for id, hash in store.hashes_of([plan.id]).items()}
        database = DreamDatabase(home)
        database.save([NewProposal(proposal, REVIEW, "")], hashes, "2026-01-04T00:00:00+00:00")
        database.close()


@pytest.fixture
def filled(tmp_path: Path) -> dict[str, str]:
    return fill(tmp_path)


class Lived(NamedTuple):
    """A daemon whose pages all have something to show, for tests that leave it as it is; and its notes by title."""

    daemon: Daemon
    ids: dict[str, str]


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    home = tmp_path_factory.mktemp("lived")
    ids = fill(home)
    leave_to_review(home)
    (home / ".claude").mkdir()
    with MemoryStore(home) as store:
        store.delete(store.write(type="semantic", title="Deleted", body="It is in the trash.").id)
        store.update(ids["How to deploy"], body="Run `scripts/deploy.sh --dry-run` first.\n\nThen without it.")
        line = {"at": 1_790_000_000, "kind": "injected", "session": "0" * 16, "ids": [ids["Use WAL mode"]]}
        (home / "usage.jsonl").write_text(f"{json.dumps(line)}\n", encoding="utf-8")
    daemon = Daemon(home)
    about = {"id": "s-1", "session_id": "s-1", "project": "acme/api", "directory": "/w"}
    for path, content in (("/sessions", about), ("/prompts", {**about, "content": "Why is it locked?"})):
        assert daemon.ask("POST", path, json.dumps(content)).status == 201
    yield Lived(daemon, ids)
    assert daemon.stop() == (0, "")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as opened:
        yield opened


def opening(browser: Browser, daemon: Daemon) -> Iterator[Callable[..., Watched]]:
    """Opens pages of a daemon, which must not complain."""
    opened: list[Watched] = []

    def open(**options: object) -> Watched:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        opened.append(Watched(context.new_page(), f"http://{daemon.host}:{daemon.port}"))
        return opened[-1]

    yield open
    for each in opened:
        each.page.context.close()
    assert [fault for each in opened for fault in each.faults] == []


@pytest.fixture
def watched(filled: dict[str, str], daemon: Daemon, browser: Browser) -> Iterator[Callable[..., Watched]]:
    yield from opening(browser, daemon)


@pytest.fixture
def visited(lived: Lived, browser: Browser) -> Iterator[Callable[..., Watched]]:
    yield from opening(browser, lived.daemon)
