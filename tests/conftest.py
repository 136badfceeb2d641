from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from anamnesis.store import MemoryStore

# No test passes or fails by the clock or by luck: the same code is tried with the same examples, and `make hunt` tries
# others.
settings.register_profile("anamnesis", deadline=None, derandomize=True)
settings.register_profile("hunt", deadline=None, print_blob=True)
settings.load_profile("anamnesis")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "store") as opened:
        yield opened
