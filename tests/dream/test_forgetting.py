"""A purged note leaves nothing in the databases and records of dreams."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.dream.memory import write
from tests.remains import BODY, TITLE, holding

from anamnesis.dream.cycle import Options, dream
from anamnesis.store import changeset


@pytest.mark.parametrize("session", ["", "s1"])
@pytest.mark.parametrize("which", [0, 1])
def test_a_purge_removes_a_note_from_the_journal_the_proposals_and_the_sketches(
    tmp_path: Path, session: str, which: int
) -> None:
    """Of a note that was merged or is proposed for it, whether it stayed or was hidden; both say the same."""
    anamnesis = Command(tmp_path)
    with anamnesis.store() as store:
        ids = [write(store, f"It says {BODY}.", title=f"About {TITLE}", prov_session=session).id for _ in range(2)]
        write(store, "Another.")
        dream(store, Options())
    assert holding(anamnesis.home / "dreams") or session == ""
    assert anamnesis("delete", "--purge", "--yes", ids[which]).code == 0
    with anamnesis.store() as store:
        (change,) = changeset.changes(store)
        assert ids[which] not in [file.note for file in change.files]
        assert not change.facts.get("proposals")
    with closing(sqlite3.connect(anamnesis.home / "dreams.db")) as db:
        for table, column in (("proposals", "notes"), ("proposal_notes", "note_id"), ("seen", "note_id")):
            assert not [row for row in db.execute(f"SELECT {column} FROM {table}") if ids[which] in row[0]]
    assert anamnesis("delete", "--purge", "--yes", ids[1 - which]).code == 0
    assert holding(anamnesis.home) == {}
