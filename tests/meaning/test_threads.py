"""numpy computes in the thread that asks: a background embedding must leave the other cores to searches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_MULTIPLY = "import numpy; a = numpy.ones((900, 900), 'f'); a @ a; print(len(os.listdir('/proc/self/task')))"


def threads(statement: str, **variables: str) -> int:
    """How many threads a process has that runs a statement and multiplies two matrices."""
    environment = {"PATH": "", **variables}
    done = subprocess.run(
        [sys.executable, "-c", f"import os; {statement}; {_MULTIPLY}"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_a_script_that_searches_computes_in_one_thread(tmp_path: Path) -> None:
    search = f"from anamnesis.store import MemoryStore; MemoryStore({str(tmp_path)!r}).ranking.meaning.query('pods')"
    assert threads(search) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_a_user_who_sets_the_number_of_threads_gets_it() -> None:
    variable = {"OPENBLAS_NUM_THREADS": "2"}
    assert threads("import anamnesis.meaning", **variable) == threads("pass", **variable)
