from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests import forking

from anamnesis.store import MemoryStore

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `anamnesis.meaning` does; numpy reads it when it is imported
# Tests are deterministic: no deadlines, and the same examples for the same code. `make hunt` tries others.
settings.register_profile("anamnesis", deadline=None, derandomize=True)
settings.register_profile("hunt", deadline=None, print_blob=True)
settings.load_profile("anamnesis")
# The folders of tests are in memory where there is plenty: half of the time of tests that write was waiting for a disk.
# Kills are survived there as on a disk; that a write reaches the disk before it is acknowledged, no test can see.
_MEMORY_DISK = Path("/dev/shm")
_PLENTY = 6 << 30
if os.access(_MEMORY_DISK, os.W_OK) and shutil.disk_usage(_MEMORY_DISK).free >= _PLENTY:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY_DISK))
# Where tests are quick and what they test is what others use. The rest comes in the order of its folders.
_FIRST = (
    "notes", "recall", "test_plain.py", "meaning", "capture", "store", "engram", "test_config.py", "test_project.py",
    "importers", "exporters", "reflect", "dream", "onboard",
)  # fmt: skip
# Processes that wait for one another, browsers, and servers with a database.
_LAST = ("daemon", "service", "tui", "web", "exchange", "hub", "hub_client", "end_to_end")
# A background job of a shell ignores SIGINT, and processes started by tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick tests come first, so that a failure is seen early."""
    items.sort(key=_turn)  # keeps the order within a folder


def _turn(item: pytest.Item) -> int:
    room = item.path.relative_to(Path(__file__).parent).parts[0]
    if room in _FIRST:
        return _FIRST.index(room)
    return len(_FIRST) + (1 + _LAST.index(room) if room in _LAST else 0)


def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as processors: tests wait for processes and timers."""
    return max(2, (os.cpu_count() or 1) * 3 // 2)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def bounded() -> Iterator[None]:
    """Limit each command to one gigabyte of memory, so that one that needs more fails instead of swapping."""
    forking.memory = 1 << 30
    yield
    forking.memory = None
