from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from anamnesis.store import MemoryStore

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `anamnesis.meaning` does; numpy reads it when it is imported
# Tests are deterministic: no deadlines, and the same examples for the same code. `make hunt` tries others.
settings.register_profile("anamnesis", deadline=None, derandomize=True)
settings.register_profile("hunt", deadline=None, print_blob=True)
settings.load_profile("anamnesis")
# A background job of a shell ignores SIGINT, and processes started by tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def bounded() -> Iterator[None]:
    """Limit the process to one gigabyte of memory, so that a test that needs more fails instead of swapping."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)
