"""The cost of an operation, in files, folders and statements, does not grow with the number of notes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from anamnesis.notes import Memory, render
from anamnesis.store import MemoryStore

OBSERVED = """
import json, sqlite3, sys
opened, listed, statements = [], [], []
def observe(event, args):
    if event == "open" and str(args[0]).endswith(".md"):
        opened.append(str(args[0]).rpartition("/")[2])
    elif event in ("os.scandir", "os.listdir") and str(args[0]).startswith(sys.argv[1]):
        listed.append(str(args[0]).rpartition("/")[2])
def count(frame, event, called):
    if event == "c_call" and isinstance(getattr(called, "__self__", None), sqlite3.Connection):
        if called.__name__.startswith("execute"):
            statements.append(frame.f_code.co_name)
from anamnesis.store import MemoryStore, catalogue
catalogue._TRUST_SECONDS = 1e9  # one look, however slow the machine is
sys.addaudithook(observe)
sys.setprofile(count)
with MemoryStore(sys.argv[1]) as store:
    WORK
sys.setprofile(None)
print(json.dumps([opened, listed, statements]))
"""


@dataclass(frozen=True)
class Cost:
    opened: list[str]
    listed: list[str]
    statements: list[str]


def cost(root: Path, work: str) -> Cost:
    """The files, folders and queries of a new process, from opening the store to closing it."""
    script = OBSERVED.replace("WORK", work)
    done = subprocess.run([sys.executable, "-c", script, str(root)], capture_output=True, check=True)
    return Cost(*json.loads(done.stdout))


def filled(root: Path, count: int) -> Path:
    """A store of notes as a user has it: opened before, and written to since."""
    folder = root / "memory" / "semantic"
    folder.mkdir(parents=True)
    for number in range(count):
        memory = Memory(f"n{number}", "semantic", f"title {number}", f"word body{number}")
        (folder / f"{memory.id}.md").write_text(render(memory), "utf-8")
    with MemoryStore(root) as store:
        assert store.count() == count
        store.update("n1", body="changed since")
    return root


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("small"), 10)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("large"), 1_000)


def test_opening_an_unchanged_store_reads_no_note_and_lists_no_folder(large: Path) -> None:
    observed = cost(large, "pass")
    assert observed.opened == observed.listed == []


def test_opening_runs_the_same_statements_at_ten_and_a_thousand_notes(small: Path, large: Path) -> None:
    assert cost(small, "pass").statements == cost(large, "pass").statements != []


@pytest.mark.parametrize(
    "work",
    [
        "assert len(store.list()) >= 10",
        "assert len(store.list(project='global', type='semantic', limit=5)) == 5",
        "assert store.count() >= 10",
        "assert store.stats().total >= 10",
        "assert store.problems() == []",
        "assert store.superseded_ids() == set()",
    ],
)
def test_questions_of_the_index_read_no_note(large: Path, work: str) -> None:
    observed = cost(large, work)
    assert observed.opened == observed.listed == []


def test_get_reads_one_file(large: Path) -> None:
    assert cost(large, "store.get('n7')").opened == ["n7.md"]


def test_a_search_reads_the_files_of_its_hits_only(large: Path) -> None:
    assert cost(large, "assert store.search('body42', mode='words')").opened == ["n42.md"]
    assert len(cost(large, "assert store.search('word', mode='words')").opened) == 8


@pytest.mark.parametrize(
    "work",
    [
        "store.write(type='semantic', title='t', body='b')",
        "store.update('n5', body='other')",
        "store.delete('n6'); store.restore('n6')",
        "from anamnesis.notes import Memory; store.put_all(Memory(f'n{n}', 'semantic', 't', 'b') for n in (2, 3, 4))",
        "from anamnesis.notes import Memory; ids = ['n2', 'n3', 'n4']\n"
        "store.put_whole([Memory(id, 'semantic', 't', 'c') for id in ids], store.files(ids), follower='x')",
    ],
)
def test_a_write_runs_the_same_statements_at_ten_and_a_thousand_notes(small: Path, large: Path, work: str) -> None:
    few, many = cost(small, work), cost(large, work)
    assert len(few.statements) == len(many.statements)
    assert few.listed == many.listed
    assert len(few.opened) == len(many.opened)


@pytest.mark.parametrize(
    "work",
    [
        "store.write(type='semantic', title='t', body='b')",
        "from anamnesis.notes import Memory; store.put_all(Memory(f'p{n}', 'semantic', 't', 'b') for n in range(9))",
        "from anamnesis.notes import Memory\n"
        "store.put_whole([Memory(f'w{n}', 'semantic', 't', 'b') for n in range(9)], {}, follower='x')",
    ],
)
def test_after_a_write_the_next_process_lists_no_folder(large: Path, work: str) -> None:
    assert cost(large, work).listed == []
    assert cost(large, "pass").listed == []


def test_a_refresh_reads_the_changed_files_only(tmp_path: Path) -> None:
    root = filled(tmp_path / "store", 50)
    folder = root / "memory" / "semantic"
    (folder / "n3.md").write_text("---\nid: n3\ntype: semantic\ntitle: t\n---\nedited\n", "utf-8")
    (folder / "new.md").write_text("---\nid: new\ntype: semantic\ntitle: t\n---\nnew\n", "utf-8")
    (folder / "n4.md").unlink()
    (folder / "n5.md").rename(folder / "renamed.md")
    observed = cost(root, "store.refresh()")
    assert sorted(observed.opened) == ["n3.md", "new.md", "renamed.md"]
    assert cost(root, "store.refresh()").opened == []


def test_opening_reads_the_added_files_only(tmp_path: Path) -> None:
    root = filled(tmp_path / "store", 50)
    path = root / "memory" / "semantic" / "new.md"
    path.write_text("---\nid: new\ntype: semantic\ntitle: t\n---\nnew\n", "utf-8")
    os.utime(path.parent, ns=(0, 0))  # within one tick of the clock that stamps files, it would pass for our change
    observed = cost(root, "assert store.search('new', mode='words')")
    assert observed.opened == ["new.md", "new.md"]
    assert observed.listed == ["semantic"]


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
def test_a_write_for_which_the_index_has_no_room_reads_no_other_note(tmp_path: Path) -> None:
    root = filled(tmp_path / "store", 50)
    work = (
        "import resource; from anamnesis.notes import Memory;"
        " resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY));"
        " store.put_all(Memory(f'late{n}', 'semantic', 't', f'late {n} ' * 500) for n in range(100))"
    )
    observed = cost(root, work)
    assert [name for name in observed.opened if not name.startswith("late")] == []
    with MemoryStore(root) as store:
        assert store.count() == 150
        assert len(store.search("late", k=999, mode="words")) == 100


def test_the_store_imports_no_terminal_web_or_protocol_library() -> None:
    script = "import sys, anamnesis.store; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    heavy = {"click", "rich", "pydantic", "starlette", "mcp", "numpy", "asyncio", "http", "unittest"}
    assert not loaded & heavy
