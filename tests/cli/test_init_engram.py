"""`anamnesis init` on a machine with Engram, and `anamnesis uninstall`, which restores it."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Command
from tests.cli.test_init import User
from tests.cli.test_terminal import plain

from anamnesis.disk import locked
from anamnesis.store import MemoryStore

SAMPLE = Path(__file__).parents[1] / "engram/golden/sample/engram.db"
LIVE = 46
TRIGGERS = "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'anamnesis%'"


class EngramUser(User):
    """Somebody with Engram as its own setup leaves it: a program, a memory, two entries and a plugin."""

    def __init__(self, command: Command) -> None:
        super().__init__(command)
        self.bin = self.home / ".local/bin"
        self.bin.mkdir(parents=True)
        command.variables["PATH"] = f"{self.bin}:{self.programs}:/usr/bin:/bin"
        self.installs("engram", "claude", "codex")
        self.database = self.home / ".engram/engram.db"
        self.database.parent.mkdir()
        shutil.copy(SAMPLE, self.database)
        (self.home / ".claude").mkdir()
        (self.home / ".codex").mkdir()
        server = {"type": "stdio", "command": str(self.programs / "engram"), "args": ["mcp", "--tools=agent"]}
        (self.home / ".claude.json").write_text(json.dumps({"numStartups": 7, "mcpServers": {"engram": server}}))
        (self.home / ".claude/settings.json").write_text('{\n  "enabledPlugins": {"engram@engram": true}\n}\n')
        (self.home / ".codex/config.toml").write_text(
            'model = "gpt-5"\n\n[mcp_servers.engram]\ncommand = "engram"\nargs = ["mcp", "--tools=agent"]\n'
        )

    def settings(self) -> dict[str, bytes]:
        """Every file but those of Engram's memory."""
        return {path: content for path, content in self.files().items() if not path.startswith(".engram/")}

    def query(self, sql: str) -> Any:
        with closing(sqlite3.connect(self.database)) as db:
            return db.execute(sql).fetchone()[0]


@pytest.fixture
def user(anamnesis: Command) -> EngramUser:
    return EngramUser(anamnesis)


def test_one_command_adopts_engram_and_one_gives_it_back(user: EngramUser) -> None:
    before = user.settings()
    done = user.command("init", "--all")
    assert (done.code, done.err) == (0, "")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert [(row[0], str(Path(row[1]).relative_to(user.home)), row[2]) for row in rows] == [
        ("create", ".anamnesis/bin/anamnesis", "claude codex"),
        ("change", ".claude.json", "claude engram"),
        ("change", ".claude/settings.json", "claude"),
        ("change", ".codex/config.toml", "codex engram"),
        ("create", ".codex/hooks.json", "codex"),
        ("create", ".local/bin/engram", "engram"),
    ]
    servers = json.loads((user.home / ".claude.json").read_text())["mcpServers"]
    assert {name: entry["args"] for name, entry in servers.items()} == {
        "engram": ["engram", "mcp", "--tools=agent"],
        "anamnesis": ["serve"],
    }
    assert user.query("SELECT count(*) FROM anamnesis_twins JOIN observations ON id = observation_id") >= LIVE
    said = subprocess.run(["engram", "stats"], env=user.command.variables, capture_output=True, check=True)
    assert f"Database:     {user.database}" in said.stdout.decode()
    gone = user.command("uninstall")
    assert gone.code == 0
    up_to_date, triggers, left = gone.err.splitlines()
    assert triggers.startswith(f"anamnesis: Our triggers are removed from {user.database}; writing with anamnesis adds")
    assert up_to_date == f"anamnesis: {user.database} is up to date; Engram can use it."
    assert left.startswith(f"anamnesis: Left: {user.store} ({LIVE} notes, the settings and ")
    assert user.settings() == before
    assert user.query("SELECT count(*) FROM observations WHERE deleted_at IS NULL") == LIVE


def test_a_second_time_changes_nothing(user: EngramUser) -> None:
    user.command("init", "--all")
    before = user.settings()
    kept = sorted((user.store / "backups").iterdir())
    done = user.command("init", "--all", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json["changes"] == []
    assert done.json["engram"]["with_notes"] == done.json["engram"]["observations"] == LIVE
    assert done.json["engram"]["reconciled"] == 0
    assert user.settings() == before
    assert sorted((user.store / "backups").iterdir()) == kept


@pytest.mark.parametrize("option", ["--print", "--dry-run"])
def test_a_dry_run_shows_the_changes_and_makes_none(user: EngramUser, option: str) -> None:
    before = user.files()
    done = user.command("init", option)
    assert (done.code, done.err) == (0, "")
    sentence = "46 observations, 3 sessions, 2 projects; 0 of the observations are notes already."
    assert f"{user.database}: {sentence}\n" in done.out
    assert '+command = "' in done.out
    assert f"+++ {user.bin / 'engram'}\n" in done.out
    assert "+# anamnesis: plugins for Engram call this" in done.out
    told = user.command("init", option, "--json").json
    assert told["written"] is False
    assert told["engram"] == {
        "database": str(user.database),
        "observations": LIVE,
        "sessions": 3,
        "projects": 2,
        "with_notes": 0,
        "program": str(user.programs / "engram"),
        "plugins": ["Claude Code"],
        "remarks": [],
        "reconciled": None,
    }
    assert user.files() == before
    assert not user.store.exists()
    user.command("init", "--all")
    changed = user.settings()
    planned = user.command("uninstall", option, "--json").json
    assert planned["engram"] is None
    assert f"Would remove our triggers from {user.database}.\n" in user.command("uninstall", option).err
    assert user.query(TRIGGERS) > 0
    assert len(planned["changes"]) == 6
    assert user.settings() == changed


def test_init_does_not_mention_engram_on_a_machine_without_it(anamnesis: Command) -> None:
    user = User(anamnesis)
    user.installs("claude")
    assert user.command("init", "--all", "--json").json["engram"] is None
    assert user.command("uninstall", "--json").json["engram"] is None


def test_engram_is_left_alone_where_agents_are_named_or_the_two_are_to_stay_apart(user: EngramUser) -> None:
    before = user.settings()
    assert user.command("init", "--agent", "cursor", "--json").json["engram"] is None
    assert {path: user.settings()[path] for path in before} == before
    user.command("uninstall")
    user.command("config", "set", "bridge", "off")
    assert user.command("init", "--all", "--json").json["engram"] is None
    assert not (user.bin / "engram").exists()


def test_without_a_terminal_nothing_is_changed_unless_it_is_asked_for(user: EngramUser) -> None:
    for program in ("claude", "codex"):
        (user.programs / program).unlink()
    shutil.rmtree(user.home / ".claude")
    shutil.rmtree(user.home / ".codex")
    (user.home / ".claude.json").unlink()
    before = user.settings()
    assert user.command("init").code == 0
    assert user.settings() == before
    assert user.command("init", "--yes").code == 0
    assert set(user.settings()) - set(before) == {".local/bin/engram"}


def test_init_shows_the_contents_of_engram_before_it_asks(user: EngramUser) -> None:
    before = user.files()
    shown = user.answers("init", typed="all\n\n\nn\n")
    told, _, asked = shown.partition("46 observations, 3 sessions, 2 projects")
    assert "engram.db: " in told
    assert ".local/bin/engram" in asked
    assert "Change these 6 files?" in asked
    assert user.files() == before
    shown = plain(user.command.on_terminal("init", "--yes"))
    assert "Engram's memory and the notes are one: " in shown
    assert re.search(r"✓ +Engram ", shown)


def test_a_program_in_the_place_of_the_link_is_kept_with_a_sentence_on_what_to_do(user: EngramUser) -> None:
    own = user.bin / "engram"
    own.write_bytes(b"\x7fELF\xff")
    own.chmod(0o755)
    done = user.command("init", "--all")
    assert done.code == 0
    assert done.err.startswith(f"anamnesis: Plugins for Engram still call {own}: put a folder of yours ")
    assert done.err.count("\n") == 1
    assert user.command("uninstall").code == 0
    assert own.read_bytes() == b"\x7fELF\xff"


@contextmanager
def engram_daemon() -> Iterator[int]:
    """Something that answers as Engram's daemon does; its port."""

    class Health(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_known = self.path == "/health"
            self.send_response(200 if is_known else 404)
            self.end_headers()
            self.wfile.write(b'{"service":"engram","status":"ok","version":"0.1.0"}\n' if is_known else b"404\n")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_running_daemon_of_engram_is_reported_and_keeps_running(user: EngramUser) -> None:
    with engram_daemon() as port:
        done = user.command("init", "--all", ENGRAM_PORT=str(port))
        assert done.code == 0
        assert done.err.startswith(f"anamnesis: Port {port} is served by Engram")
        assert "stop it, then run `anamnesis daemon`" in done.err
        told = user.command("init", "--all", "--json", ENGRAM_PORT=str(port))
        assert told.err == ""
        assert "is served by Engram" in told.json["engram"]["remarks"][0]


def test_engrams_memory_has_the_latest_notes_when_it_is_given_back(user: EngramUser) -> None:
    user.command("init", "--all")
    with MemoryStore(user.store) as apart:
        apart.write(type="semantic", title="Written apart", body="No bridge was there.", project="shop")
    told = user.command("uninstall", "--json").json
    assert told["engram"] == {"database": str(user.database), "is_current": True, "is_recording": False}
    assert user.query("SELECT count(*) FROM observations WHERE title = 'Written apart'") == 1


def test_after_an_uninstall_nothing_keeps_what_engram_replaces_and_deletes(user: EngramUser) -> None:
    user.command("init", "--all")
    with closing(sqlite3.connect(user.database)) as db, db:
        db.execute("UPDATE observations SET content = 'seen by the triggers' WHERE id = 1")
    assert "1 replaced or deleted version stays in it; --everything" in user.command("uninstall", "--yes").err
    live = "SELECT id FROM observations WHERE deleted_at IS NULL LIMIT 1 OFFSET"
    first, second, third = (user.query(f"{live} {place}") for place in (1, 2, 3))
    with closing(sqlite3.connect(user.database)) as db, db:  # as Engram's own program does
        db.execute("UPDATE observations SET content = 'replaced' WHERE id = ?", (first,))
        db.execute("UPDATE observations SET deleted_at = datetime('now') WHERE id = ?", (second,))
        db.execute("DELETE FROM observations WHERE id = ?", (third,))
    assert user.query("SELECT count(*) FROM anamnesis_revisions") == 1
    assert user.query("SELECT count(*) FROM anamnesis_changes") == 0
    user.command("init", "--all")  # another time, it finds what was changed meanwhile
    with MemoryStore(user.store) as store:
        assert store.count() == LIVE - 2
        assert "replaced" in [note.body for note in store.list()]
    user.command("uninstall", "--everything", "--yes")
    assert user.query("SELECT count(*) FROM sqlite_master WHERE name LIKE 'anamnesis%'") == 0
    assert b"seen by the triggers" in user.database.read_bytes()
    assert b"anamnesis_revisions" not in user.database.read_bytes()
    assert user.query("SELECT count(*) FROM observations WHERE deleted_at IS NULL") == LIVE - 2


def test_triggers_are_removed_also_after_the_bridge_was_turned_off(
    user: EngramUser,
) -> None:
    user.command("init", "--all")
    off = {"ANAMNESIS_BRIDGE": "off"}
    assert user.query(TRIGGERS) > 0
    assert "Our triggers are removed from" in user.command("uninstall", **off).err
    assert user.query(TRIGGERS) == 0
    shutil.copy(SAMPLE, user.database)
    assert str(user.database) not in user.command("uninstall", **off).err
    assert user.query(TRIGGERS) == 0


def test_a_daemon_of_ours_that_would_be_in_the_way_of_engrams_is_named(user: EngramUser) -> None:
    user.command("init", "--all")
    url = user.command("daemon", "--background", "--port", "0").out.split()[0]
    told = user.command("init", "--all", "--json", ENGRAM_PORT=url.rpartition(":")[2]).json
    gone = user.command("uninstall")
    assert user.query(TRIGGERS) > 0
    assert "goes on keeping what Engram changes and deletes, for the daemon: `anamnesis daemon stop`" in gone.err
    assert user.command("daemon", "stop").code == 0
    assert user.command("uninstall").code == user.query(TRIGGERS) == 0
    assert told["engram"]["remarks"] == []
    assert f"The daemon still serves {url} for Anamnesis; `anamnesis daemon stop` stops it.\n" in gone.err


def test_an_unreadable_engram_db_is_reported_and_the_rest_is_set_up(user: EngramUser) -> None:
    before = user.settings()
    user.command("init", "--all")
    broken = b"this is no database at all " * 200
    for name in ("engram.db-wal", "engram.db-shm"):
        user.database.with_name(name).unlink(missing_ok=True)
    user.database.write_bytes(broken)
    again = user.command("init", "--all")
    assert again.code == 0
    assert "cannot be read: file is not a database" in again.err
    gone = user.command("uninstall")
    assert gone.code == 0
    assert "cannot be reconciled now" in gone.err
    assert "is up to date" not in gone.err
    assert user.settings() == before
    assert user.database.read_bytes() == broken


def test_an_engram_db_that_we_made_stays_and_is_named(anamnesis: Command) -> None:
    user = User(anamnesis)
    user.installs("claude")
    user.command("init", "--all")
    assert user.command("engram", "save", "Title", "content").code == 0
    gone = user.command("uninstall")
    kept, left = gone.err.splitlines()
    assert kept == f"anamnesis: {user.store / 'engram.db'}, which Anamnesis created, is kept."
    assert "1 note, the settings, engram.db and the agents' files" in left
    assert (user.store / "engram.db").exists()


def test_an_interrupted_adoption_is_reported_and_completed_later(user: EngramUser) -> None:
    user.store.mkdir()
    with locked(user.store / "bridge.lock"):
        process = subprocess.Popen(
            [sys.executable, "-m", "anamnesis", "init", "--all"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=user.command.folder,
            env=user.command.variables,
        )
        assert process.stderr
        while not _is_begun(user.database):
            assert process.poll() is None
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        said = process.stderr.readline().decode()
    assert said == (
        f"anamnesis: {user.database} was only reconciled in part. The rest is reconciled when Anamnesis is next used.\n"
    )
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    told = user.command("init", "--all", "--json").json
    assert told["changes"] == []
    again = user.command("init", "--all", "--json").json
    assert again["engram"]["with_notes"] == LIVE


def _is_begun(database: Path) -> bool:
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as db:
        found = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'anamnesis_bridge'").fetchone()
    return bool(found[0])
