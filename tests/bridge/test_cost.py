"""What a change costs with the bridge on: transactions on the index, statements, and note files that are read."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = """
import contextlib, json, sqlite3, sys
from pathlib import Path
from anamnesis.engram import observations, sessions
from anamnesis.engram.database import prepare
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.shared import Shared
from anamnesis.store import catalogue
from anamnesis.vault import Vault

catalogue._TRUST_SECONDS = 1e9  # one look, however slow the machine is
root = Path(sys.argv[1])
begun, read, statements = [], [], []
def observe(event, args):
    if event == "open" and str(args[0]).endswith(".md") and args[1] in ("r", "rb", None) and not args[2] & 3:
        read.append(str(args[0]))
def count(frame, event, called):
    if event == "c_call" and getattr(called, "__name__", "") in ("execute", "executemany"):
        statements.append(1)
        if frame.f_code.co_name == "_begin":
            begun.append(1)
prepare(root / "engram.db")
with contextlib.closing(Shared(root / "engram.db")) as shared, Vault(root / "home") as vault:
    vault.connect(shared, "here")
    store = vault.notes
    def post(title):
        observations.add(shared.db, NewObservation("s1", title, title))
        vault.follow_writes()
    sessions.create(shared.db, "s1", "p")
    note = store.write(type="semantic", title="before", body="b")
    file = store.root / store.file(note.id).path
    post("before")
    sys.addaudithook(observe)
    sys.setprofile(count)
    WORK
    sys.setprofile(None)
    counts = len(begun), len(read), len(statements)
    found = [row.title for row in observations.recent(shared.db, "", "", 20)]
print(json.dumps([*counts, found]))
"""


@dataclass(frozen=True)
class Cost:
    transactions: int
    read: int
    statements: int
    titles: list[str]


def cost(root: Path, work: str) -> Cost:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("WORK", work.replace("\n", "\n    ")), str(root)],
        capture_output=True,
        check=True,
    )
    return Cost(*json.loads(done.stdout))


@pytest.mark.parametrize(
    "work", ["store.write(type='semantic', title='now', body='b')", "post('now')"], ids=["a note", "an observation"]
)
def test_a_write_takes_two_transactions_on_the_index_and_reads_no_note(tmp_path: Path, work: str) -> None:
    found = cost(tmp_path, work)
    assert (found.transactions, found.read) == (2, 0)
    assert "now" in found.titles


@pytest.mark.parametrize(
    ("work", "most"),
    [
        ("store.write(type='semantic', title='now', body='b')", 28),
        ("post('now')", 34),
        (
            "for number in range(20): observations.add(shared.db, NewObservation('s1', str(number), str(number)))\n"
            "statements.clear()\nvault.follow_writes()",
            65,
        ),
    ],
    ids=["a note", "an observation", "twenty observations"],
)
def test_a_write_takes_few_statements(tmp_path: Path, work: str, most: int) -> None:
    assert cost(tmp_path, work).statements <= most


def test_an_edit_in_an_editor_is_read_once(tmp_path: Path) -> None:
    edit = "file.write_text(file.read_text().replace('before', 'edited'))"
    receive = "store.refresh_files([file.relative_to(store.root).as_posix()])"
    found = cost(tmp_path, f"{edit}\nread.clear()\n{receive}")
    assert found.read == 1
    assert "edited" in found.titles
