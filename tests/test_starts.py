"""Limits the imports of commands that agents start. Modules, unlike seconds, do not depend on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import wait_until
from tests.web.daemon import Daemon

from anamnesis.store import MemoryStore

TOOLS = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
# Not needed to list tools, or to answer a prompt in a folder that is not a git repository.
HEAVY = {
    "asyncio",
    "click",
    "email",
    "http",
    "logging",
    "numpy",
    "rich",
    "secrets",
    "socket",
    "subprocess",
    "tempfile",
    "yaml",
}


def imported(home: Path, given: bytes, *arguments: str) -> tuple[bytes, set[str]]:
    """The output of a command, and the modules that it imported."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "anamnesis", *arguments],
        input=given,
        env={"ANAMNESIS_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"]},
        cwd=home,
        capture_output=True,
        check=True,
    )
    return done.stdout, {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}


def ours(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name.startswith("anamnesis"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with MemoryStore(tmp_path) as store:
        store.write(type="semantic", title="Zebra crossing", body="Zebras cross at the lights.")
        for number in range(60):
            store.write(type="semantic", title=f"Filler {number}", body=f"Filler text number {number}.", project="x")
    return tmp_path


def test_serve_lists_its_tools_before_it_opens_the_memory(home: Path) -> None:
    """It opens neither notes nor a database, so the number of notes does not matter."""
    printed, modules = imported(home, TOOLS, "serve")
    assert len(json.loads(printed.splitlines()[1])["result"]["tools"]) == 9
    unneeded = {"anamnesis.store", "anamnesis.bridge", "anamnesis.cli", "sqlite3", "traceback", "hashlib"}
    assert modules & (HEAVY | unneeded) == set()
    assert len(ours(modules)) <= 22, ours(modules)


def test_serve_creates_no_file_for_a_list_of_tools(tmp_path: Path) -> None:
    imported(tmp_path, TOOLS, "serve")
    assert list(tmp_path.iterdir()) == []


def test_engram_mcp_lists_its_tools_before_it_imports_their_code(home: Path) -> None:
    printed, modules = imported(home, TOOLS, "engram", "mcp")
    assert len(json.loads(printed.splitlines()[1])["result"]["tools"]) == 15
    unneeded = {"anamnesis.store", "anamnesis.notes", "anamnesis.engram.observations", "traceback", "hashlib"}
    assert modules & (HEAVY | unneeded) == set()
    assert len(ours(modules)) <= 26, ours(modules)


def test_recall_imports_only_what_finds_and_shows_a_note(home: Path) -> None:
    event = {"session_id": "s1", "cwd": str(home), "hook_event_name": "x", "prompt": "where do zebras cross the road?"}
    printed, modules = imported(home, json.dumps(event).encode(), "recall")
    assert b"Zebra crossing" in printed
    unneeded = {"anamnesis.mcp", "anamnesis.git", "anamnesis.engram.schema", "anamnesis.notes.redaction", "hashlib"}
    assert modules & (HEAVY | unneeded | {"inspect", "ipaddress", "locale"}) == set()
    assert len(ours(modules)) <= 57, ours(modules)


def test_a_deferred_module_is_imported_by_its_first_use() -> None:
    script = (
        "import sys\n"
        "from anamnesis.light import defer\n"
        "defer('ipaddress')\n"
        "import ipaddress\n"
        "from urllib.parse import urlsplit\n"
        "print(sys.modules['ipaddress'] is ipaddress, urlsplit('http://[::1]/').hostname)\n"
        "print(sys.modules['ipaddress'] is ipaddress, ipaddress.ip_address('::1'), ipaddress.ip_address('::2'))\n"
        "import ipaddress\n"
        "print(ipaddress.__file__ is not None)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "True ::1\nFalse ::1 ::2\nTrue\n"


def test_a_hook_compiles_only_the_patterns_that_it_needs() -> None:
    """Compiling all of them takes a tenth of a start."""
    script = (
        "import re, sys\n"
        "import anamnesis.hooks.prompt, anamnesis.inject, anamnesis.project, anamnesis.vault\n"
        "ours = [module for name, module in sys.modules.items() if name.startswith('anamnesis')]\n"
        "print([value for module in ours for value in vars(module).values() if isinstance(value, re.Pattern)])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_recall_opens_nothing_for_a_prompt_without_a_subject(home: Path) -> None:
    event = {"session_id": "s1", "cwd": str(home), "hook_event_name": "x", "prompt": "fix the failing test"}
    printed, modules = imported(home, json.dumps(event).encode(), "recall")
    assert printed == b""
    assert (
        modules & (HEAVY | {"anamnesis.store", "anamnesis.notes", "anamnesis.project", "sqlite3", "hashlib"}) == set()
    )


def test_recall_reads_no_note_that_it_does_not_print(home: Path) -> None:
    """Most prompts share words with notes, but few are about one."""
    script = (
        "import sys\n"
        "from anamnesis.inject import select_recall\n"
        "from anamnesis.store import MemoryStore\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == 'open' else None)\n"
        f"with MemoryStore({str(home)!r}, only_to_read=True) as store:\n"
        "    store.ranking.ranker = lambda question: None\n"
        "    for prompt in ('fill in the number of the text and other things', 'where do zebras cross the road?'):\n"
        "        opened.clear()\n"
        "        found = select_recall(store, prompt, project='x', known=set())\n"
        "        print(len(found), sum(path.endswith('.md') for path in opened))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "0 0\n1 1\n"


def test_recall_opens_nothing_in_a_home_without_notes(tmp_path: Path) -> None:
    event = {"session_id": "s1", "cwd": str(tmp_path), "hook_event_name": "x", "prompt": "where do zebras cross?"}
    printed, modules = imported(tmp_path, json.dumps(event).encode(), "recall")
    assert printed == b""
    assert modules & (HEAVY | {"anamnesis.store", "anamnesis.notes", "anamnesis.project", "sqlite3"}) == set()
    assert not (tmp_path / "index.db").exists()


def test_with_a_daemon_recall_and_search_leave_the_model_to_it(home: Path) -> None:
    """Neither imports numpy, and the hook imports only a socket in addition."""
    daemon = Daemon(home)
    try:
        wait_until(lambda: json.loads(daemon.ask("GET", "/ready").body).get("not_embedded") == 0)
        wait_until(lambda: daemon.ask("POST", "/recall", '{"query": "zebra", "mode": "meaning"}').status == 200)
        event = {"session_id": "s1", "cwd": str(home), "hook_event_name": "x", "prompt": "where do zebras cross?"}
        printed, modules = imported(home, json.dumps(event).encode(), "recall")
        assert b"Zebra crossing" in printed
        assert modules & (HEAVY | {"anamnesis.meaning"}) == {"socket"}
        assert len(ours(modules)) <= 59, ours(modules)
        printed, modules = imported(home, b"", "search", "zebra")
        assert b"Zebra crossing" in printed
        assert modules & {"numpy", "http", "email", "anamnesis.meaning"} == set()
    finally:
        assert daemon.stop() == (0, "")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads as Linux lists them")
def test_matrices_are_multiplied_in_one_thread(tmp_path: Path) -> None:
    """Threads of OpenBLAS spin while other programs use the cores, and take more than ten times the CPU."""
    script = (
        "import os, sys, contextlib\n"
        "from anamnesis.entry import main\n"
        "sys.argv = ['anamnesis', 'status', '--json']\n"
        "with contextlib.suppress(SystemExit):\n    main()\n"
        "import numpy\n"
        "numpy.ones((512, 512)) @ numpy.ones((512, 512))\n"
        "print(len(os.listdir('/proc/self/task')))"
    )
    variables = {"ANAMNESIS_HOME": str(tmp_path), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1"
