"""numpy computes in the thread that asks: a background embedding must leave the other cores to searches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import anamnesis

SOURCE = Path(anamnesis.__file__).parent
USERS = sorted(
    ".".join(("anamnesis", *path.relative_to(SOURCE).with_suffix("").parts))
    for path in SOURCE.rglob("*.py")
    if "\nimport numpy" in path.read_text("utf-8") and path.name != "__init__.py"
)
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
@pytest.mark.parametrize("module", USERS)
def test_whichever_module_imports_numpy_first_it_has_one_thread(module: str) -> None:
    assert threads(f"import {module}") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_a_user_who_sets_the_number_of_threads_gets_it() -> None:
    variable = {"OPENBLAS_NUM_THREADS": "2"}
    assert threads("import anamnesis.meaning", **variable) == threads("pass", **variable)


def test_the_processes_that_we_start_do_not_inherit_the_setting() -> None:
    script = "import os; before = dict(os.environ); import anamnesis.meaning; assert os.environ == before"
    subprocess.run([sys.executable, "-c", script], check=True)
