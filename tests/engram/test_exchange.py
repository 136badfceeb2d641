"""An import restores an export unchanged, and importing it again adds nothing."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engram.rows import assert_sound, contents, save

from anamnesis.engram import observations, prompts, search, sessions
from anamnesis.engram.database import Refused, connect, prepare, writing
from anamnesis.engram.exchange import export, import_
from anamnesis.engram.gojson import dumps, loads
from anamnesis.engram.record import Export, ImportResult, Observation, Prompt, Session

SAMPLE = Path(__file__).with_name("golden") / "sample" / "export.json"
NOTHING = ImportResult(0, 0, 0)


def exported(**parts: object) -> Export:
    return replace(Export("0.1.0", "2025-01-01 00:00:00", (), (), ()), **parts)  # type: ignore[arg-type]


def observation(sync_id: str = "obs-1", **fields: object) -> Observation:
    return replace(
        Observation(
            7, sync_id, "s1", "decision", "t", "c", None, "engram", "project", None, 1, 1, None,
            "2025-01-01 00:00:00", "2025-01-01 00:00:00", None,
        ),
        **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def content(data: Export) -> tuple[object, ...]:
    """An export without the ids and the time, which are those of one file."""
    rows = [replace(row, id=0) for row in data.observations]
    return data.sessions, rows, [replace(row, id=0) for row in data.prompts]


class TestSample:
    def test_a_real_export_comes_in_whole_and_goes_out_the_same(self, empty: sqlite3.Connection) -> None:
        data = loads(SAMPLE.read_bytes(), Export)
        assert import_(empty, data) == ImportResult(3, 50, 6)
        again = export(empty)
        assert content(again) == content(data)
        assert dumps(again.observations) == dumps(data.observations)
        assert_sound(empty)

    def test_the_second_time_it_changes_no_byte(self, path: Path, empty: sqlite3.Connection) -> None:
        data = loads(SAMPLE.read_bytes(), Export)
        import_(empty, data)
        before = contents(path)
        assert import_(empty, data) == NOTHING
        assert import_(empty, export(empty)) == NOTHING
        assert contents(path) == before


class TestImport:
    @pytest.mark.parametrize(("strict", "project"), [(False, "not-normal"), (True, "Not--Normal")])
    def test_scope_topic_hash_counts_and_project_take_their_form_and_nothing_else_is_changed(
        self, db: sqlite3.Connection, strict: bool, project: str
    ) -> None:
        given = observation(
            content="<private>z</private>" + "x" * 60_000, scope="weird", topic_key=" X  Y ", revision_count=0,
            duplicate_count=-3, project="Not--Normal", tool_name="", updated_at="",
        )  # fmt: skip
        import_(db, exported(observations=(given,)), strict=strict)
        (found,) = export(db).observations
        assert found == replace(
            given, id=1, scope="project", topic_key="x-y", revision_count=1, duplicate_count=1, project=project
        )
        assert save(db, "t", given.content, type="decision").outcome == "inserted"

    def test_sessions_get_the_normal_names_of_their_projects_and_are_not_taken_twice(
        self, db: sqlite3.Connection
    ) -> None:
        known = Session("s1", "other", "/x", "2020-01-01", "2020-01-02", "how it ended")
        new = Session("n", "Engramm", "", "2025-01-01", None, None)
        assert import_(db, exported(sessions=(known, new, new))) == ImportResult(1, 0, 0)
        found = sessions.get(db, "s1")
        assert found and (found.project, found.directory) == ("engram", "/w/engram")
        assert (found.ended_at, found.summary) == ("2020-01-02", "how it ended")
        assert sessions.get(db, "n") == replace(new, project="engramm")

    def test_how_a_session_ended_here_is_not_changed(self, db: sqlite3.Connection) -> None:
        sessions.end(db, "s1", "ours")
        before = sessions.get(db, "s1")
        import_(db, exported(sessions=(Session("s1", "p", "", "2020", "2020", "theirs"),)))
        assert sessions.get(db, "s1") == before

    def test_a_newer_version_replaces_an_older_one_and_never_the_other_way(self, db: sqlite3.Connection) -> None:
        import_(db, exported(observations=(observation(content="old words"),)))
        newer = observation(content="new words", updated_at="2025-02-01 00:00:00", revision_count=2)
        assert import_(db, exported(observations=(newer,))).observations_imported == 1
        assert import_(db, exported(observations=(observation(content="old words"),))) == NOTHING
        assert [row.content for row in export(db).observations] == ["new words"]
        assert search.search(db, "old") == []
        assert_sound(db)

    def test_a_deletion_comes_along(self, db: sqlite3.Connection) -> None:
        import_(db, exported(observations=(observation(),)))
        at = "2025-02-01 00:00:00"
        import_(db, exported(observations=(observation(updated_at=at, deleted_at=at),)))
        assert observations.recent(db) == []

    def test_rows_of_the_same_identity_in_one_export_are_one(self, db: sqlite3.Connection) -> None:
        twice = exported(observations=(observation(), observation()), prompts=(prompt(), prompt()))
        assert import_(db, twice) == ImportResult(0, 1, 1)

    def test_rows_without_an_identity_get_one_that_is_the_same_every_time(self, db: sqlite3.Connection) -> None:
        data = exported(observations=(observation(" "), observation("", id=8)), prompts=(prompt(""),))
        assert import_(db, data) == ImportResult(0, 2, 1)
        assert import_(db, data) == NOTHING
        assert all(len(row.sync_id) == 20 for row in export(db).observations)

    @pytest.mark.parametrize(
        ("part", "message"),
        [
            (
                {"observations": (observation(), observation("obs-2", id=51, session_id="ghost"))},
                "import observation 51: ",
            ),
            ({"prompts": (Prompt(52, "p", "ghost", "c", None, "2025"),)}, "import prompt 52: "),
        ],
    )
    def test_one_row_that_cannot_be_refuses_all_in_engrams_words(
        self, db: sqlite3.Connection, part: dict[str, object], message: str
    ) -> None:
        with pytest.raises(Refused, match=rf"^{message}constraint failed: FOREIGN KEY constraint failed \(787\)$"):
            import_(db, exported(sessions=(Session("new", "p", "", "2025", None, None),), **part))
        assert (export(db).observations, export(db).prompts) == ((), ())
        assert sessions.get(db, "new") is None

    def test_prompts_without_a_project_have_an_empty_name(self, db: sqlite3.Connection) -> None:
        import_(db, exported(prompts=(prompt(),)))
        assert db.execute("SELECT project FROM user_prompts").fetchall() == [("",)]
        assert [row.project for row in export(db).prompts] == [None]

    def test_lone_halves_of_characters_are_replaced(self, db: sqlite3.Connection) -> None:
        import_(db, exported(observations=(observation("obs-\udcff", content="\ud800", title="\udfff"),)))
        (found,) = export(db).observations
        assert (found.sync_id, found.content, found.title) == ("obs-\ufffd", "\ufffd", "\ufffd")


class TestExport:
    def test_sessions_are_in_the_order_of_their_start_the_rest_by_id_and_deleted_rows_are_there(
        self, db: sqlite3.Connection
    ) -> None:
        for name in ("z", "a"):
            sessions.create(db, name, "p")
        db.execute("UPDATE sessions SET started_at = '2025-01-01 00:00:00'")
        db.execute("UPDATE sessions SET started_at = '2024-01-01 00:00:00' WHERE id = 'a'")
        gone = save(db, "gone").id
        observations.delete(db, gone)
        save(db, "live")
        data = export(db)
        assert [row.id for row in data.sessions] == ["a", "s1", "z"]
        assert [row.title for row in data.observations] == ["gone", "live"]
        assert dumps(exported()).endswith(b'"sessions":null,"observations":null,"prompts":null}')

    def test_a_project_comes_with_what_its_sessions_hold_and_the_sessions_it_needs(
        self, db: sqlite3.Connection
    ) -> None:
        sessions.create(db, "s2", "other")
        sessions.create(db, "s3", "third")
        save(db, "own in its session")
        save(db, "own elsewhere", session="s2")
        save(db, "other in its session", project="other")
        save(db, "other elsewhere", session="s2", project="other")
        prompts.add(db, "s3", "own prompt", "engram")
        prompts.add(db, "s2", "other prompt", "other")
        data = export(db, "engram")
        assert {row.title for row in data.observations} == {
            "own in its session", "own elsewhere", "other in its session",
        }  # fmt: skip
        assert [row.content for row in data.prompts] == ["own prompt"]
        assert {row.id for row in data.sessions} == {"s1", "s2", "s3"}
        nothing = export(db, "nobody")
        assert nothing == replace(data, exported_at=nothing.exported_at, sessions=(), observations=(), prompts=())

    def test_it_is_of_one_moment(self, path: Path, db: sqlite3.Connection) -> None:
        """A session that begins while an export is being made is not half in it."""
        save(db)
        with contextlib.closing(connect(path)) as other:

            def interfere(statement: str) -> None:
                if "FROM observations" in statement and not sessions.get(other, "late"):
                    sessions.create(other, "late", "p")
                    save(other, "late", session="late")

            db.set_trace_callback(interfere)
            data = export(db)
            db.set_trace_callback(None)
            assert sessions.get(other, "late")
        assert {row.session_id for row in data.observations} <= {row.id for row in data.sessions}


def prompt(sync_id: str = "prompt-1") -> Prompt:
    return Prompt(3, sync_id, "s1", "c", None, "2025-01-01 00:00:00")


NAMES = st.sampled_from(["s1", "s2", "s3"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TIMES = st.sampled_from(["2025-01-01 00:00:00", "2025-01-02 00:00:00", "2025-01-03 00:00:00"])
OBSERVATIONS = st.builds(
    Observation,
    id=st.integers(1, 99),
    sync_id=st.sampled_from([f"obs-{n}" for n in range(9)]),
    session_id=NAMES,
    type=TEXTS,
    title=TEXTS,
    content=TEXTS,
    tool_name=st.none() | TEXTS,
    project=st.none() | TEXTS,
    scope=st.sampled_from(["project", "personal"]),
    topic_key=st.none() | st.sampled_from(["a/b", "c"]),
    revision_count=st.integers(1, 9),
    duplicate_count=st.integers(1, 9),
    last_seen_at=st.none() | TIMES,
    created_at=TIMES,
    updated_at=TIMES,
    deleted_at=st.none() | TIMES,
)
PROMPTS = st.builds(
    Prompt,
    id=st.integers(1, 99),
    sync_id=st.sampled_from([f"prompt-{n}" for n in range(9)]),
    session_id=NAMES,
    content=TEXTS,
    project=st.none() | TEXTS.filter(bool),
    created_at=TIMES,
)
SESSIONS = st.builds(
    Session,
    id=NAMES,
    project=TEXTS,
    directory=TEXTS,
    started_at=TIMES,
    ended_at=st.none() | TIMES,
    summary=st.none() | TEXTS,
)
EXPORTS = st.builds(
    Export,
    version=st.just("0.1.0"),
    exported_at=TIMES,
    sessions=st.lists(SESSIONS, max_size=3).map(
        lambda some: (
            *some,
            *(Session(name, "p", "", "2024-01-01 00:00:00", None, None) for name in ("s1", "s2", "s3")),
        )
    ),
    observations=st.lists(OBSERVATIONS, max_size=6).map(tuple),
    prompts=st.lists(PROMPTS, max_size=4).map(tuple),
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[sqlite3.Connection]]:
    """Two files for all examples of the laws."""
    with contextlib.ExitStack() as opened:
        paths = [tmp_path_factory.mktemp(name) / "engram.db" for name in ("one", "two")]
        for path in paths:
            prepare(path)
        yield [opened.enter_context(contextlib.closing(connect(path))) for path in paths]


@given(EXPORTS)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_bringing_in_is_idempotent_and_a_round_trip_is_the_same(files: list[sqlite3.Connection], data: Export) -> None:
    with undone(files[0]), undone(files[1]):
        import_(files[0], data)
        first = export(files[0])
        assert import_(files[0], data) == import_(files[0], first) == NOTHING
        assert content(export(files[0])) == content(first)
        import_(files[1], loads(dumps(first), Export, alone=True))
        assert content(export(files[1])) == content(first)


class Undo(Exception):
    pass


@contextlib.contextmanager
def undone(db: sqlite3.Connection) -> Iterator[None]:
    """What is done to a file, taken back at the end."""
    with contextlib.suppress(Undo), writing(db):
        yield
        raise Undo
