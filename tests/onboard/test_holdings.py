"""The content of an engram.db is counted without changing anything."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from anamnesis.errors import StoreUnavailable
from anamnesis.onboard.holdings import Holdings, count

SAMPLE = Path(__file__).parents[1] / "engram/golden/sample/engram.db"


def test_counting_leaves_no_files_behind(tmp_path: Path) -> None:
    database = Path(shutil.copy(SAMPLE, tmp_path / "engram.db"))
    before = database.read_bytes()
    assert count(database) == Holdings(observations=46, sessions=3, projects=2, with_notes=0)
    assert list(tmp_path.iterdir()) == [database]
    assert database.read_bytes() == before


def test_a_file_that_is_not_a_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "engram.db").write_text("no database at all, but long enough to be looked at" * 100)
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        count(tmp_path / "engram.db")
