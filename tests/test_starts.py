"""What the commands that agents start import before they answer. Seconds depend on the machine; modules do not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from anamnesis.store import MemoryStore

TOOLS = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
# What nobody needs to list tools or to answer a prompt in a folder that is no git repository.
HEAVY = {"asyncio", "click", "email", "http", "logging", "rich", "secrets", "socket", "subprocess", "tempfile", "yaml"}


def imported(home: Path, given: bytes, *arguments: str) -> tuple[bytes, set[str]]:
    """What a command prints, and the modules it has imported by then."""
    script = (
        f"import sys\nsys.argv = ['anamnesis', *{arguments!r}]\nfrom anamnesis.entry import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\nprint(' '.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=given,
        env={"ANAMNESIS_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"]},
        cwd=home,
        capture_output=True,
        check=True,
    )
    return done.stdout, set(done.stderr.decode().split())


def ours(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name.startswith("anamnesis"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with MemoryStore(tmp_path) as store:
        store.write(type="semantic", title="Zebra crossing", body="Zebras cross the road at noon.", project="global")
    return tmp_path


def test_serve_lists_its_tools_before_it_opens_the_memory(home: Path) -> None:
    """Neither the notes nor a database are opened for it, so that the number of notes does not count."""
    printed, modules = imported(home, TOOLS, "serve")
    assert len(json.loads(printed.splitlines()[1])["result"]["tools"]) == 8
    unneeded = {"anamnesis.store", "anamnesis.bridge", "anamnesis.cli", "sqlite3", "traceback", "hashlib"}
    assert modules & (HEAVY | unneeded) == set()
    assert len(ours(modules)) <= 20, ours(modules)


def test_serve_opens_nothing_and_makes_nothing_for_a_list_of_tools(tmp_path: Path) -> None:
    imported(tmp_path, TOOLS, "serve")
    assert list(tmp_path.iterdir()) == []


def test_engram_mcp_lists_its_tools_before_it_imports_what_they_do(home: Path) -> None:
    printed, modules = imported(home, TOOLS, "engram", "mcp")
    assert len(json.loads(printed.splitlines()[1])["result"]["tools"]) == 15
    unneeded = {"anamnesis.store", "anamnesis.notes", "anamnesis.engram.observations", "traceback", "hashlib"}
    assert modules & (HEAVY | unneeded) == set()
    assert len(ours(modules)) <= 26, ours(modules)
