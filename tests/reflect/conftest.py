from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.reflect.model import Model


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    yield made
    made.may_answer.set()
    made.server.shutdown()
    made.server.server_close()
