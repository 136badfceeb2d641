from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from anamnesis.store import MemoryStore

# No test passes or fails by the clock.
settings.register_profile("anamnesis", deadline=None)
settings.load_profile("anamnesis")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "store") as opened:
        yield opened
