"""Observations saved in one batch leave the same rows as when saved one by one, or none at all."""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engram.rows import assert_sound, contents

from anamnesis.engram import sessions
from anamnesis.engram.database import Refused, connect, prepare
from anamnesis.engram.observations import NewObservation, SavedObservation, add, add_all

_SYNC_ID = re.compile(rb"obs-[0-9a-f]{16}")

texts = st.sampled_from(
    [
        "Some  Text",
        "some text",
        "a\0b",
        "\0",
        "\ud800half",
        "\udcff",
        "日本 😀",
        "<private>key</private> y",
        "<&>\u2028",
    ]
)
news = st.builds(
    NewObservation,
    session_id=st.sampled_from(["s1", "s2", "s\0"]),
    title=texts | st.text(max_size=5),
    content=texts | texts | st.text(),
    type=st.sampled_from(["", "decision", "\udfff"]),
    tool_name=st.sampled_from(["", "Edit"]),
    project=st.sampled_from(["", "engram", " Engram "]),
    scope=st.sampled_from(["", "personal"]),
    topic_key=st.sampled_from(["", "", "", "a/b", " A/B", "c"]),
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "engram.db"
    prepare(path)
    with contextlib.closing(connect(path)) as db:
        for name in ("s1", "s2", "s\0"):
            sessions.create(db, name, "engram", "/w")
        add(db, NewObservation("s1", "日本 😀", "some text", topic_key="c"))
    return path


@contextlib.contextmanager
def opened(template: Path) -> Iterator[tuple[sqlite3.Connection, Path]]:
    """A copy of the file, for which all happens in the same second: of what is equally new the order is then known."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(template, folder))
        with contextlib.closing(connect(path)) as db:
            db.create_function("datetime", -1, lambda *_: "2026-01-01 00:00:00", deterministic=True)
            db.execute("UPDATE observations SET created_at = datetime('now'), updated_at = datetime('now')")
            yield db, path


def left(path: Path) -> list[object]:
    """All rows, and the last ids; a number in the place of each identity that is made by chance."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        sequences = db.execute("SELECT * FROM sqlite_sequence ORDER BY name").fetchall()
    rows = [sequences, *contents(path).items()]
    numbers: dict[bytes, bytes] = {}

    def cell(value: object) -> object:
        if isinstance(value, (list, tuple)):
            return [cell(each) for each in value]
        if isinstance(value, bytes):
            return _SYNC_ID.sub(lambda found: numbers.setdefault(found[0], b"obs-%d" % len(numbers)), value)
        return value

    return [cell(each) for each in rows]


def told(saved: list[SavedObservation]) -> list[object]:
    return [(asdict(replace(each.observation, sync_id="")), each.outcome, each.truncated_from) for each in saved]


@settings(max_examples=60)
@given(st.lists(news, max_size=12) | st.lists(news, min_size=30, max_size=40))
def test_what_is_saved_in_a_row_is_what_is_saved_one_by_one(template: Path, news: list[NewObservation]) -> None:
    with opened(template) as (one, one_path), opened(template) as (all_, all_path):
        assert told(add_all(all_, news)) == told([add(one, new) for new in news])
        assert left(all_path) == left(one_path)
        assert_sound(all_)


def test_of_a_row_only_what_is_too_long_is_cut(template: Path) -> None:
    with opened(template) as (db, _):
        row = add_all(db, [NewObservation("s1", "t", "x" * size) for size in (50_001, 50_000, 60_000)])
    assert [each.truncated_from for each in row] == [50_001, None, 60_000]


@settings(max_examples=30)
@given(st.lists(news, max_size=8), st.data())
def test_of_a_row_in_which_one_is_refused_nothing_is_saved(
    template: Path, news: list[NewObservation], data: st.DataObject
) -> None:
    news.insert(data.draw(st.integers(0, len(news))), NewObservation("ghost", "refused", "of no session"))
    with opened(template) as (db, path):
        before = left(path)
        with pytest.raises(Refused, match=r"constraint failed: FOREIGN KEY constraint failed \(787\)"):
            add_all(db, news)
        assert left(path) == before
        assert_sound(db)
