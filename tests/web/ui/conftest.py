"""A daemon with notes, and a browser, for the tests of the dashboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.web.daemon import Daemon
from tests.web.ui.browsing import Watched, started

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


@pytest.fixture
def filled(tmp_path: Path) -> dict[str, str]:
    return fill(tmp_path)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with started() as opened:
        yield opened


@pytest.fixture
def watched(filled: dict[str, str], daemon: Daemon, browser: Browser) -> Iterator[Callable[..., Watched]]:
    """Opens pages of the daemon, which must not complain."""
    opened: list[Watched] = []

    def open(**options: object) -> Watched:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        opened.append(Watched(context.new_page(), f"http://{daemon.host}:{daemon.port}"))
        return opened[-1]

    yield open
    for each in opened:
        each.page.context.close()
    assert [fault for each in opened for fault in each.faults] == []
