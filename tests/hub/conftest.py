from __future__ import annotations

import pytest

from tests.postgres import Postgres, server


@pytest.fixture(scope="session")
def postgres() -> Postgres:
    """The PostgreSQL server of this test process."""
    return server()


@pytest.fixture
def hub_url(postgres: Postgres) -> str:
    """The database of a new hub."""
    return postgres.new_hub()
