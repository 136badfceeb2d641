from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.hub.running import RunningHub
from tests.postgres import Postgres, server


@pytest.fixture(scope="session")
def postgres() -> Postgres:
    """The PostgreSQL server of this test process."""
    return server()


@pytest.fixture
def hub_url(postgres: Postgres) -> str:
    """The database of a new hub."""
    return postgres.new_hub()


@pytest.fixture
def running(hub_url: str) -> Iterator[RunningHub]:
    """A new hub that serves."""
    with RunningHub(hub_url) as hub:
        yield hub


@pytest.fixture(scope="module")
def shared(postgres: Postgres) -> Iterator[RunningHub]:
    """A hub that serves the tests of a module which leave it as it is, or use names of their own."""
    with RunningHub(postgres.new_hub()) as hub:
        yield hub
