"""engram.db is created as Engram creates it, and an existing one is completed without touching its rows."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.engram.rows import TABLES, assert_sound, columns, contents, save

from anamnesis.bridge.strengths import is_wanted
from anamnesis.engram import exchange, observations, projects, prompts, search, sessions
from anamnesis.engram.database import Refused, connect, prepare, writing
from anamnesis.engram.gojson import dumps
from anamnesis.errors import StoreUnavailable

SAMPLE = Path(__file__).with_name("golden") / "sample"

INDEXES = {
    "idx_obs_session", "idx_obs_type", "idx_obs_project", "idx_obs_created", "idx_obs_scope", "idx_obs_sync_id",
    "idx_obs_topic", "idx_obs_deleted", "idx_obs_dedupe", "idx_prompts_session", "idx_prompts_project",
    "idx_prompts_created", "idx_prompts_sync_id", "idx_sync_mutations_target_seq", "idx_sync_mutations_pending",
    "idx_sync_mutations_project",
}  # fmt: skip
TRIGGERS = {
    "obs_fts_insert", "obs_fts_delete", "obs_fts_update", "prompt_fts_insert", "prompt_fts_delete", "prompt_fts_update",
}  # fmt: skip
REVERIE = {
    "strength": 1.0, "depth_score": 1, "session_spread": 1, "stability": 1.0, "signal_score": 0.0,
    "staleness_score": 0.0, "consolidation_status": "Staged", "schema_id": "reverie.chunk.v1", "version": 1,
    "related_to": "[]", "supersedes": None, "superseded_by": None,
}  # fmt: skip


def names(db: sqlite3.Connection, kind: str) -> set[str]:
    return {
        name
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = :kind", {"kind": kind})
        if not name.startswith("sqlite_")
    }


def sample(folder: Path) -> Path:
    return Path(shutil.copy(SAMPLE / "engram.db", folder / "engram.db"))


class TestNewFile:
    def test_it_has_every_table_index_and_trigger_of_the_specification(self, empty: sqlite3.Connection) -> None:
        assert names(empty, "table") >= {*TABLES, "observations_fts", "prompts_fts"}
        assert names(empty, "index") >= INDEXES
        assert names(empty, "trigger") >= TRIGGERS
        assert columns(empty, "observations_fts") == [
            "title", "content", "tool_name", "type", "project", "topic_key",
        ]  # fmt: skip

    def test_its_tables_have_the_columns_that_engram_gives_them(self, path: Path, tmp_path: Path) -> None:
        with contextlib.closing(connect(path)) as ours, contextlib.closing(connect(sample(tmp_path))) as engrams:
            for table in TABLES:
                described = 'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(:table)'
                found = set(ours.execute(described, {"table": table}))
                assert found >= set(engrams.execute(described, {"table": table}))
                references = 'SELECT "table", "from", "to" FROM pragma_foreign_key_list(:table)'
                assert set(ours.execute(references, {"table": table})) == set(
                    engrams.execute(references, {"table": table})
                )

    def test_what_we_add_is_named_after_us(self, empty: sqlite3.Connection) -> None:
        known = INDEXES | TRIGGERS | set(TABLES)
        added = (names(empty, "index") | names(empty, "trigger") | names(empty, "table") | names(empty, "view")) - known
        assert all(name.startswith(("anamnesis_", "observations_fts", "prompts_fts")) for name in added)

    @pytest.mark.skipif(sys.platform == "win32", reason="no modes")
    def test_no_other_user_can_read_it(self, path: Path) -> None:
        assert path.stat().st_mode & 0o077 == 0

    def test_the_queue_has_its_target(self, empty: sqlite3.Connection) -> None:
        assert empty.execute("SELECT target_key, lifecycle FROM sync_state").fetchall() == [("cloud", "idle")]

    def test_its_folder_may_have_any_name(self, tmp_path: Path) -> None:
        path = tmp_path / "a b#c?d%41é" / "engram.db"
        prepare(path)
        with contextlib.closing(connect(path)) as db:
            sessions.create(db, "s", "p")
        assert [file.name for file in path.parent.iterdir() if file.stat().st_size] == ["engram.db"]

    def test_processes_that_make_it_at_the_same_moment_all_succeed(self, tmp_path: Path) -> None:
        code = (
            "import sys; from pathlib import Path; from anamnesis.engram import database, sessions;"
            "path = Path(sys.argv[1]); database.prepare(path); db = database.connect(path);"
            "sessions.create(db, sys.argv[2], 'p')"
        )
        path = tmp_path / "new" / "engram.db"
        started = [
            subprocess.Popen([sys.executable, "-c", code, str(path), f"s{n}"], stderr=subprocess.PIPE, text=True)
            for n in range(8)
        ]
        assert [process.communicate()[1] for process in started] == [""] * 8
        with contextlib.closing(connect(path)) as db:
            assert db.execute("SELECT count(*) FROM sessions").fetchone() == (8,)
            assert_sound(db)


class TestExistingFile:
    def test_every_row_that_engram_wrote_stays_byte_for_byte(self, tmp_path: Path) -> None:
        path = sample(tmp_path)
        with contextlib.closing(sqlite3.connect(path)) as db:
            wanted = {table: columns(db, table) for table in TABLES}
        before = contents(path)
        prepare(path)
        assert contents(path, wanted) == before
        with contextlib.closing(connect(path)) as db:
            sessions.create(db, "new", "harbor")
            save(db, session="new")
            prompts.add(db, "new", "hello")
            assert_sound(db)
        after = contents(path, wanted)
        for table in set(TABLES) - {"sync_state"}:
            assert after[table][: len(before[table])] == before[table]

    def test_its_export_is_the_one_that_engram_gave(self, tmp_path: Path) -> None:
        path = sample(tmp_path)
        prepare(path)
        recorded = (SAMPLE / "export.json").read_bytes().rstrip()
        with contextlib.closing(connect(path)) as db:
            exported = exchange.export(db)
        written = dumps(exported).replace(exported.exported_at.encode(), b"2026-11-15 08:16:28", 1)
        assert written == recorded

    def test_what_engram_queued_is_what_we_would_queue(self, tmp_path: Path) -> None:
        """Saving the rows again that Engram saved gives its payloads, byte for byte but for the new identity."""
        path = sample(tmp_path)
        prepare(path)
        with contextlib.closing(connect(path)) as db:
            recorded = db.execute(
                "SELECT entity_key, payload, sync_mutations.project FROM sync_mutations"
                " JOIN observations ON sync_id = entity_key WHERE op = 'upsert' AND revision_count = 1"
            ).fetchall()
            assert len(recorded) > 5
            for key, payload, project in recorded:
                found = exchange.export(db).observations
                (row,) = [each for each in found if each.sync_id == key]
                sessions.create(db, row.session_id, row.project or "")
                db.execute("DELETE FROM observations WHERE sync_id = :key", {"key": key})
                saved = save(db, row.title, row.content, row.session_id, type=row.type, project=row.project or "")
                queued = db.execute("SELECT payload, project FROM sync_mutations ORDER BY seq DESC LIMIT 1").fetchone()
                assert queued == (payload.replace(key, saved.observation.sync_id), project)

    def test_reveries_columns_are_not_added_by_themselves(self, tmp_path: Path) -> None:
        path = sample(tmp_path)
        prepare(path)
        with contextlib.closing(connect(path)) as db:
            assert {*columns(db, "observations")} & REVERIE.keys() == {"superseded_by"}

    def test_reveries_columns_have_their_defaults_in_old_rows_and_new_ones(self, tmp_path: Path) -> None:
        path = sample(tmp_path)
        prepare(path)
        with contextlib.closing(connect(path)) as db:
            assert is_wanted(db, add=True)
            save(db, session="live")
            found = db.execute(f"SELECT DISTINCT {', '.join(REVERIE)} FROM observations").fetchall()
            assert found == [tuple(REVERIE.values())]

    def test_opening_it_again_writes_nothing(self, tmp_path: Path) -> None:
        path = sample(tmp_path)
        prepare(path)
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        modified = path.stat().st_mtime_ns
        prepare(path)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
        assert path.stat().st_mtime_ns == modified

    def test_it_can_be_opened_while_somebody_is_writing(self, path: Path) -> None:
        with contextlib.closing(connect(path)) as writer, writing(writer):
            sessions.create(writer, "s", "p")
            prepare(path)
            with contextlib.closing(connect(path)) as reader:
                assert sessions.get(reader, "s") is None

    def test_engrams_own_statements_still_work_on_it(self, path: Path) -> None:
        """The ones by which the Go program saves and deletes, on a connection that knows nothing of us."""
        with contextlib.closing(sqlite3.connect(path)) as go:
            go.execute("INSERT INTO sessions (id, project, directory) VALUES ('go', 'p', '/w')")
            for number in range(3):
                go.execute(
                    "INSERT INTO observations (sync_id, session_id, type, title, content, tool_name, project, scope,"
                    " topic_key, normalized_hash, revision_count, duplicate_count, last_seen_at, updated_at) VALUES"
                    " (?, 'go', 'decision', 't', 'written by go', NULL, 'p', 'project', NULL, 'h', 1, 1,"
                    " datetime('now'), datetime('now'))",
                    [f"obs-{number:016x}"],
                )
            go.execute("UPDATE observations SET deleted_at = datetime('now') WHERE id = 1")
            go.execute("DELETE FROM observations WHERE id = 2")
            go.commit()
        prepare(path)
        with contextlib.closing(connect(path)) as db:
            assert [found.id for found in search.search(db, "written go")] == [3]
            assert [found.id for found in observations.recent(db)] == [3]
            assert_sound(db)


class TestCompletion:
    def test_rows_that_engram_left_unfinished_are_completed_at_the_next_opening(self, path: Path) -> None:
        with contextlib.closing(sqlite3.connect(path)) as go:
            go.execute("INSERT INTO sessions (id, project, directory) VALUES ('s', 'p', '')")
            go.execute(
                "INSERT INTO observations (session_id, type, title, content, scope, topic_key, revision_count,"
                " duplicate_count, created_at, updated_at) VALUES ('s', 'x', 't', 'c', '', '', 0, -1, '2025-01-01', '')"
            )
            go.execute("INSERT INTO user_prompts (session_id, content) VALUES ('s', 'c')")
            go.execute("DELETE FROM sync_state")
            go.commit()
        prepare(path)
        with contextlib.closing(connect(path)) as db:
            (found,) = observations.recent(db)
            assert (found.scope, found.topic_key, found.revision_count, found.duplicate_count) == (
                "project",
                None,
                1,
                1,
            )
            assert found.updated_at == found.created_at == "2025-01-01"
            assert found.sync_id.startswith("obs-") and len(found.sync_id) == 36
            identity, project = db.execute("SELECT sync_id, project FROM user_prompts").fetchone()
            assert identity.startswith("prompt-") and len(identity) == 39
            assert project == ""
            assert db.execute("SELECT target_key FROM sync_state").fetchall() == [("cloud",)]
            assert_sound(db)

    def test_the_tables_of_an_early_engram_get_what_they_lack(self, tmp_path: Path) -> None:
        path = tmp_path / "engram.db"
        with contextlib.closing(sqlite3.connect(path)) as early:
            early.executescript(
                """
                CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT NOT NULL, directory TEXT NOT NULL,
                    started_at TEXT NOT NULL DEFAULT (datetime('now')), ended_at TEXT, summary TEXT);
                CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
                    type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL, tool_name TEXT, project TEXT,
                    created_at TEXT NOT NULL DEFAULT (datetime('now')),
                    FOREIGN KEY (session_id) REFERENCES sessions(id));
                CREATE TABLE user_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
                    content TEXT NOT NULL, project TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now')));
                CREATE TABLE sync_state (target_key TEXT PRIMARY KEY, lifecycle TEXT NOT NULL DEFAULT 'idle',
                    last_enqueued_seq INTEGER NOT NULL DEFAULT 0, last_acked_seq INTEGER NOT NULL DEFAULT 0,
                    last_pulled_seq INTEGER NOT NULL DEFAULT 0, consecutive_failures INTEGER NOT NULL DEFAULT 0,
                    backoff_until TEXT, lease_owner TEXT, lease_until TEXT, last_error TEXT,
                    updated_at TEXT NOT NULL DEFAULT (datetime('now')));
                CREATE TABLE sync_mutations (seq INTEGER PRIMARY KEY AUTOINCREMENT, target_key TEXT NOT NULL,
                    entity TEXT NOT NULL, entity_key TEXT NOT NULL, op TEXT NOT NULL, payload TEXT NOT NULL,
                    source TEXT NOT NULL DEFAULT 'local', occurred_at TEXT NOT NULL DEFAULT (datetime('now')),
                    acked_at TEXT);
                CREATE VIRTUAL TABLE observations_fts USING fts5(title, content, tool_name, type, project,
                    content='observations', content_rowid='id');
                CREATE TRIGGER obs_fts_insert AFTER INSERT ON observations BEGIN
                    INSERT INTO observations_fts(rowid, title, content, tool_name, type, project)
                    VALUES (new.id, new.title, new.content, new.tool_name, new.type, new.project);
                END;
                INSERT INTO sessions (id, project, directory) VALUES ('s', 'p', '/w');
                INSERT INTO observations (session_id, type, title, content, project)
                VALUES ('s', 'decision', 'early', 'bird', 'p');
                INSERT INTO user_prompts (session_id, content) VALUES ('s', 'a worm');
                INSERT INTO sync_mutations (target_key, entity, entity_key, op, payload)
                VALUES ('cloud', 'session', 's', 'upsert', '{"project":"p"}'), ('cloud', 'x', 'x', 'x', 'no json');
                """
            )
        prepare(path)
        with contextlib.closing(connect(path)) as db:
            assert names(db, "index") >= INDEXES
            assert names(db, "trigger") >= TRIGGERS
            assert [found.title for found in search.search(db, "bird")] == ["early"]
            assert [found.content for found in prompts.search(db, "worm")] == ["a worm"]
            assert db.execute("SELECT project FROM sync_mutations ORDER BY seq").fetchall() == [("p",), ("",)]
            observations.update(db, 1, {"topic_key": "early/topic"})
            assert [found.id for found in search.search(db, "topic")] == [1]
            assert_sound(db)

    def test_words_of_rows_that_were_saved_without_a_trigger_are_found(self, path: Path) -> None:
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.execute("DROP TRIGGER obs_fts_insert")
            other.execute("INSERT INTO sessions (id, project, directory) VALUES ('s', 'p', '')")
            other.execute(
                "INSERT INTO observations (sync_id, session_id, type, title, content)"
                " VALUES ('obs-1', 's', '', 't', 'unseen')"
            )
            other.commit()
        prepare(path)
        with contextlib.closing(connect(path)) as db:
            assert [found.content for found in search.search(db, "unseen")] == ["unseen"]
            assert_sound(db)

    def test_words_of_deleted_rows_that_engram_left_out_of_the_index_do_no_harm(self, tmp_path: Path) -> None:
        path = sample(tmp_path)
        with contextlib.closing(sqlite3.connect(path)) as go:
            go.executescript(
                "INSERT INTO observations_fts(observations_fts) VALUES ('delete-all');"
                "INSERT INTO observations_fts(rowid, title, content, tool_name, type, project, topic_key)"
                " SELECT id, title, content, tool_name, type, project, topic_key FROM observations"
                " WHERE deleted_at IS NULL;"
            )
        prepare(path)
        with contextlib.closing(connect(path)) as db:
            assert projects.migrate(db, "lantern", "lamp").observations_updated == 20
            assert_sound(db)


LEGACY = {
    "an id that is no key": "CREATE TABLE observations (id INTEGER, session_id TEXT, type TEXT, title TEXT,"
    " content TEXT, tool_name TEXT, project TEXT, created_at TEXT)",
    "an id that is a text": "CREATE TABLE observations (id TEXT, session_id TEXT NOT NULL, type TEXT, title TEXT,"
    " content TEXT, tool_name TEXT, project TEXT, scope TEXT, created_at TEXT)",
    "other columns": "CREATE TABLE observations (id INTEGER PRIMARY KEY, body TEXT)",
}


class TestRefusal:
    @pytest.mark.parametrize("schema", LEGACY.values(), ids=LEGACY.keys())
    def test_tables_from_before_the_migration_are_refused_with_the_advice_and_left_alone(
        self, tmp_path: Path, schema: str
    ) -> None:
        path = tmp_path / "engram.db"
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute(schema)
            db.execute("INSERT INTO observations DEFAULT VALUES") if "NOT NULL" not in schema else None
            db.commit()
        before = path.read_bytes()
        with pytest.raises(StoreUnavailable, match="engram once to migrate first"):
            prepare(path)
        assert path.read_bytes() == before

    def test_a_file_that_is_no_database_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "engram.db"
        path.write_bytes(b"not a database, but somebody's file" * 100)
        before = path.read_bytes()
        with pytest.raises(StoreUnavailable, match=r"engram\.db"):
            prepare(path)
        assert path.read_bytes() == before

    def test_connecting_makes_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(StoreUnavailable):
            connect(tmp_path / "engram.db")
        assert [*tmp_path.iterdir()] == []


class TestConnection:
    def test_every_one_has_engrams_settings(self, path: Path) -> None:
        for _ in range(2):
            with contextlib.closing(connect(path)) as db:
                settings = {
                    name: db.execute(f"PRAGMA {name}").fetchone()[0]
                    for name in ("journal_mode", "busy_timeout", "synchronous", "foreign_keys")
                }
                assert settings == {"journal_mode": "wal", "busy_timeout": 5000, "synchronous": 1, "foreign_keys": 1}

    def test_bytes_that_are_no_text_can_be_read_and_stay(self, db: sqlite3.Connection) -> None:
        """Engram cuts between two bytes of a character."""
        save(db, "whole", "half")
        db.execute("UPDATE observations SET content = CAST(x'C3A9C3' AS TEXT), title = CAST(x'E697' AS TEXT)")
        (found,) = observations.recent(db)
        assert dumps(found.content) == '"é\\ufffd"'.encode()
        observations.update(db, found.id, {"type": "changed"})
        assert db.execute("SELECT hex(content), hex(title), type FROM observations").fetchone() == (
            "C3A9C3",
            "E697",
            "changed",
        )


class TestTransaction:
    def test_what_fails_leaves_nothing(self, db: sqlite3.Connection) -> None:
        with pytest.raises(ZeroDivisionError), writing(db):
            save(db)
            raise ZeroDivisionError
        assert not db.in_transaction
        assert observations.recent(db) == []

    def test_a_part_that_fails_does_not_undo_the_rest(self, db: sqlite3.Connection) -> None:
        with writing(db):
            save(db, "first")
            with pytest.raises(Refused, match="FOREIGN KEY"):
                save(db, "nowhere", session="nobody")
            save(db, "second")
        assert {found.title for found in observations.recent(db)} == {"first", "second"}
        assert_sound(db)


class TestCounts:
    """Triggers maintain the number of a session's live observations and the time of the newest, for every writer."""

    def test_they_follow_every_way_in_which_a_row_comes_and_goes(self, db: sqlite3.Connection) -> None:
        sessions.create(db, "s2", "engram")
        for number in range(6):
            save(db, f"t{number}")
        observations.delete(db, 1)
        observations.delete(db, 2, hard=True)
        db.execute("DELETE FROM observations WHERE id = 1")
        db.execute("UPDATE observations SET session_id = 's2' WHERE id IN (3, 4)")
        db.execute("UPDATE observations SET session_id = 's1', deleted_at = '2025' WHERE id = 4")
        db.execute("UPDATE observations SET deleted_at = NULL WHERE id = 4")
        db.execute("UPDATE observations SET created_at = '2020-01-01' WHERE id = 3")
        counts = db.execute("SELECT session_id, observations, newest = '2020-01-01' FROM anamnesis_sessions").fetchall()
        assert counts == [("s1", 3, 0), ("s2", 1, 1)]
        assert_sound(db)

    def test_they_are_made_anew_where_a_trigger_was_lost(self, path: Path, db: sqlite3.Connection) -> None:
        save(db, "first")
        db.execute("DROP TRIGGER anamnesis_sessions_insert")
        save(db, "second")
        prepare(path)
        assert db.execute("SELECT session_id, observations FROM anamnesis_sessions").fetchall() == [("s1", 2)]
        assert_sound(db)
