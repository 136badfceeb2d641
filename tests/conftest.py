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
# No test passes or fails by the clock or by luck: the same code is tried with the same examples, and `make hunt` tries
# others.
settings.register_profile("anamnesis", deadline=None, derandomize=True)
settings.register_profile("hunt", deadline=None, print_blob=True)
settings.load_profile("anamnesis")
# A shell's background job ignores SIGINT, and so would every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def bounded() -> Iterator[None]:
    """What takes more than a gigabyte of memory fails in a test, and leaves the machine alone."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)
