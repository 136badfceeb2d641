"""Whatever is done through either door, by editors and by other programs, and whoever is killed: both sides agree."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.bridge.memory import assert_settled, assert_twins, connected, state, texts_in
from tests.killing import fork, wait_for

from anamnesis.bridge.bridge import Bridge
from anamnesis.engram import exchange, observations, passive, projects, sessions
from anamnesis.engram.database import connect, prepare
from anamnesis.engram.observations import NewObservation
from anamnesis.errors import AnamnesisError, InvalidNote
from anamnesis.notes import TYPES, Memory, parse, render
from anamnesis.store import MemoryStore
from anamnesis.vault import Vault

WHICH = st.integers(0, 40)
KINDS = st.sampled_from(["decision", "bugfix", "session_summary", "manual", "semantic", ""])
PROJECTS = st.sampled_from(["", "anamnesis", "Other", "a/b"])
KEYS = st.sampled_from(["global", "github.com/o/anamnesis", "anamnesis", "x/other"])
TIMES = st.sampled_from(
    ["2020-01-01 00:00:00", "2031-01-01 00:00:00", "2026-01-01T10:00:00.5Z", "yesterday", "0001-01-01"]
)
NOTE_IDS = st.sampled_from(["mine", "a.b-c", "01J9Z8YPM7Q3X2V4WT6B5N0KGD"])
SYNC_IDS = st.sampled_from(["obs-00000000000000aa", "obs-" + "0" * 31 + "7", "odd", "obs-00000000000000bb"])
# What another program may do to a column: a value in SQL.
ODD: dict[str, list[str]] = {
    "sync_id": ["'obs-00000000000000aa'", "NULL", "''", "'obs-' || lower(hex(randomblob(8)))", "CAST(x'61ff' AS TEXT)"],
    "session_id": ["'s1'", "'manual-save'", "'manual-save-anamnesis'"],
    "type": ["'bugfix'", "'decision'", "''", "CAST(x'62c3' AS TEXT)", "'session_summary'"],
    "title": ["'Plain'", "''", "' '", "CAST(x'74ff' AS TEXT)", "'two' || char(10) || 'lines'", "x'616263'"],
    "tool_name": ["NULL", "'Bash'", "''", "CAST(x'ff' AS TEXT)"],
    "project": ["NULL", "''", "'anamnesis'", "'Other'", "'global'", "'a/b'", "CAST(x'70ff' AS TEXT)"],
    "scope": ["'project'", "'personal'", "''"],
    "topic_key": ["NULL", "'a/b'", "''", "'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123'"],
    "revision_count": ["1", "7", "0"],
    "duplicate_count": ["1", "3"],
    "last_seen_at": ["NULL", "'yesterday'", "'2020-01-01 00:00:00'"],
    "created_at": ["'2020-01-01 00:00:00'", "'2020-01-01T00:00:00Z'", "''", "'soon'"],
    "updated_at": ["'2020-01-01 00:00:00'", "'2031-01-01 00:00:00'", "'soon'"],
    "deleted_at": ["NULL", "'2026-01-01 00:00:00'"],
}
DROPPED = (
    "TRIGGER anamnesis_changes_insert", "TRIGGER anamnesis_changes_update", "TRIGGER anamnesis_changes_delete",
    "TRIGGER anamnesis_revisions_update", "TABLE anamnesis_twins", "TABLE anamnesis_changes", "TABLE anamnesis_bridge",
)  # fmt: skip


class TwoDoors(RuleBasedStateMachine):
    """Notes and observations that are changed in every way there is."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="bridge-"))
        self.root, self.path = self.home / "store", self.home / "engram.db"
        prepare(self.path)
        self.db = connect(self.path)
        for session in ("s1", "manual-save", "manual-save-anamnesis"):
            sessions.create(self.db, session, "anamnesis", str(self.home))
        self.said = 0
        self.clock = 0
        self.broken: dict[Path, tuple[str, str]] = {}

    @initialize(writes_through=st.booleans())
    def begin(self, writes_through: bool) -> None:
        self.writes_through = writes_through
        self.open()

    def open(self) -> None:
        self.store: MemoryStore
        if self.writes_through:
            vault = Vault(self.root, self.path)
            self.bridge = vault.connect(self.path, "here")
            self.store = vault.notes
        else:
            self.store = MemoryStore(self.root)
            self.bridge = Bridge(self.store, self.path, "here")

    def close(self) -> None:
        self.bridge.close()
        self.store.on_refresh = self.store.on_change = None
        self.store.close()

    def teardown(self) -> None:
        try:
            if hasattr(self, "store"):
                self.reconcile()
        finally:
            if hasattr(self, "store"):
                self.close()
            self.db.close()
            shutil.rmtree(self.home)

    def text(self) -> str:
        """Words that nothing else holds."""
        self.said += 1
        return f"word{self.said:03d}x\nsecond line\nthird line"

    def files(self) -> list[Path]:
        """The files that can be read as notes, in an order that does not depend on their random ids."""
        found = []
        for tree in ("memory", "local"):
            for path in (self.root / tree).rglob("*.md"):
                with contextlib.suppress(InvalidNote):
                    note = parse(path.read_text("utf-8"))
                    found.append((note.body, note.title, path.parent.name, path))
        return [path for *_, path in sorted(found)]

    def file(self, which: int) -> Path | None:
        found = self.files()
        return found[which % len(found)] if found else None

    def note_id(self, which: int) -> str:
        path = self.file(which)
        return parse(path.read_text("utf-8")).id if path else "none"

    def row_id(self, which: int) -> int:
        ids = [id for (id,) in self.db.execute("SELECT id FROM observations ORDER BY id")]
        return ids[which % len(ids)] if ids else 0

    def save(self, path: Path, text: str) -> None:
        """As an editor saves: another file with this name, and a time of its own."""
        self.clock += 1
        beside = path.with_name(".editor")
        beside.write_text(text, "utf-8", newline="")
        moment = 1_700_000_000_000_000_000 + self.clock * 1_000_000_000
        os.utime(beside, ns=(moment, moment))
        os.replace(beside, path)

    # The notes' door

    @rule(type=st.sampled_from(TYPES), project=KEYS, scope=st.sampled_from(["portable", "machine-local"]))
    def write(self, type: str, project: str, scope: str) -> None:
        body = self.text()
        self.store.write(type=type, title=f"T {body[:8]}", body=body, project=project, scope=scope, machine_id="here")

    @rule(
        which=WHICH,
        field=st.sampled_from(["title", "body", "type", "project", "tags", "prov_session", "scope"]),
        key=KEYS,
    )
    def update(self, which: int, field: str, key: str) -> None:
        values: dict[str, Any] = {
            "title": f"T {self.text()[:8]}", "body": self.text(), "type": "procedural", "project": key,
            "tags": [f"tag{self.said}"], "prov_session": f"s{which % 3}", "scope": "machine-local",
        }  # fmt: skip
        with contextlib.suppress(AnamnesisError):
            self.store.update(self.note_id(which), **{field: values[field]})

    @rule(which=WHICH, others=st.lists(WHICH, max_size=2))
    def supersede(self, which: int, others: list[int]) -> None:
        with contextlib.suppress(AnamnesisError):
            self.store.update(self.note_id(which), supersedes=[self.note_id(other) for other in others])

    @rule(which=WHICH)
    def delete(self, which: int) -> None:
        with contextlib.suppress(AnamnesisError):
            self.store.delete(self.note_id(which))

    @rule(which=WHICH)
    def restore(self, which: int) -> None:
        trashed = sorted(
            self.store.trashed(), key=lambda item: (self.root / item.path).read_bytes().partition(b"title")[2]
        )
        if trashed:
            with contextlib.suppress(AnamnesisError):
                self.store.restore(trashed[which % len(trashed)].id)

    @rule(ids=st.lists(NOTE_IDS, min_size=1, unique=True), time=TIMES)
    def put(self, ids: list[str], time: str) -> None:
        with contextlib.suppress(AnamnesisError):
            self.store.put_all(
                Memory(id, "semantic", "Put", self.text(), created_at=time, updated_at=time) for id in ids
            )

    # Engram's door

    @rule(
        kind=KINDS,
        project=PROJECTS,
        topic=st.sampled_from(["", "", "a/b", "c"]),
        scope=st.sampled_from(["", "personal"]),
    )
    def add(self, kind: str, project: str, topic: str, scope: str) -> None:
        new = NewObservation("s1", f"O {self.said}", self.text(), kind, "", project, scope, topic)
        observations.add(self.db, new)

    @rule(
        which=WHICH, field=st.sampled_from(["title", "content", "type", "project", "topic_key", "scope"]), key=PROJECTS
    )
    def change(self, which: int, field: str, key: str) -> None:
        values = {
            "title": f"O {self.text()[:8]}", "content": self.text(), "type": "bugfix", "project": key,
            "topic_key": "c", "scope": "personal",
        }  # fmt: skip
        with contextlib.suppress(AnamnesisError):
            observations.update(self.db, self.row_id(which), {field: values[field]})

    @rule(which=WHICH, hard=st.booleans())
    def remove(self, which: int, hard: bool) -> None:
        observations.delete(self.db, self.row_id(which), hard)

    @rule()
    def capture(self) -> None:
        learned = f"## Key Learnings:\n\n1. The first thing was learned here {self.text()[:8]}\n"
        passive.capture(self.db, "s1", learned, "anamnesis")

    @rule(source=PROJECTS, other=PROJECTS, merge=st.booleans())
    def rename(self, source: str, other: str, merge: bool) -> None:
        with contextlib.suppress(AnamnesisError):
            if merge:
                projects.merge(self.db, [source], other)
            else:
                projects.migrate(self.db, source, other)

    @rule(later=st.booleans())
    def bring_in_twice(self, later: bool) -> None:
        data = exchange.export(self.db)
        if later:
            rows = (replace(row, updated_at="2032-01-01 00:00:00") for row in data.observations)
            data = replace(data, observations=tuple(rows))
        for _ in range(2):
            exchange.import_(self.db, data)

    # Other programs

    @rule(which=WHICH, column=st.sampled_from(sorted(ODD)), value=WHICH)
    def change_a_column(self, which: int, column: str, value: int) -> None:
        sql = ODD[column][value % len(ODD[column])]
        self.db.execute(f"UPDATE observations SET {column} = {sql} WHERE id = ?", (self.row_id(which),))

    @rule(which=WHICH)
    def change_a_content(self, which: int) -> None:
        data = self.text().encode() + b" cut \xc3"
        self.db.execute("UPDATE observations SET content = CAST(? AS TEXT) WHERE id = ?", (data, self.row_id(which)))

    @rule(sync_id=SYNC_IDS, time=TIMES, hidden=st.booleans())
    def insert(self, sync_id: str, time: str, hidden: bool) -> None:
        self.db.execute(
            "INSERT INTO observations (sync_id, session_id, type, title, content, created_at, updated_at, deleted_at)"
            " VALUES (?, 's1', 'decision', 'Inserted', ?, ?, ?, ?)",
            (sync_id, self.text(), time, time, time if hidden else None),
        )

    @rule(which=WHICH)
    def take_away(self, which: int) -> None:
        self.db.execute("DELETE FROM observations WHERE id = ?", (self.row_id(which),))

    # Editors

    @rule(which=WHICH, line=st.sampled_from(["first", "last", "all"]))
    def edit_body(self, which: int, line: str) -> None:
        if path := self.file(which):
            note = parse(path.read_text("utf-8"))
            word = self.text()[:8]
            lines = note.body.split("\n")
            bodies = {"first": [word, *lines[1:]], "last": [*lines, word], "all": [word]}
            self.save(path, render(replace(note, body="\n".join(bodies[line]))))

    @rule(
        which=WHICH,
        what=st.sampled_from(
            ["title", "type", "word", "topic", "tags", "engram", "extra", "hide", "show", "times", "id"]
        ),
        kind=KINDS,
    )
    def edit_front(self, which: int, what: str, kind: str) -> None:
        if path := self.file(which):
            note = parse(path.read_text("utf-8"))
            changes: dict[str, dict[str, Any]] = {
                "title": {"title": f"E {self.text()[:8]}"},
                "type": {"type": "episodic"},
                "word": {"engram": {**note.engram, "type": kind}},
                "topic": {"engram": {**note.engram, "topic_key": " A/B"}},
                "tags": {"tags": [*note.tags, f"e{self.said}"]},
                "engram": {"engram": {}},
                "extra": {"extra": {"tags": "aliases: [x]\n"}},
                "hide": {"engram": {**note.engram, "deleted_at": 5}},
                "show": {"engram": {key: value for key, value in note.engram.items() if key != "deleted_at"}},
                "times": {"created_at": "", "updated_at": "2019-01-01"},
                "id": {"id": "taken-by-hand"},
            }
            self.save(path, render(replace(note, **changes[what])))

    @rule(which=WHICH, id=NOTE_IDS)
    def copy_as_a_template(self, which: int, id: str) -> None:
        if path := self.file(which):
            note = parse(path.read_text("utf-8"))
            self.save(path.with_name(f"{id}.md"), render(replace(note, id=id, body=f"{note.body}\n{self.text()}")))

    @rule(which=WHICH)
    def break_it(self, which: int) -> None:
        if path := self.file(which):
            text = path.read_text("utf-8")
            self.broken[path] = (text, parse(text).id)
            self.save(path, text.replace("title:", "title: [", 1))

    @rule()  # without a precondition: what a killed process left is not always the same
    def mend_them(self) -> None:
        for path, (text, _) in self.broken.items():
            if path.exists():
                self.save(path, text)
        self.broken.clear()

    @rule(which=WHICH)
    def unlink(self, which: int) -> None:
        if path := self.file(which):
            path.unlink()

    @rule(which=WHICH, copy=st.booleans())
    def move_a_file(self, which: int, copy: bool) -> None:
        if path := self.file(which):
            self.clock += 1
            target = path.with_name(f"renamed {self.clock}.md")
            if copy:
                self.save(target, path.read_text("utf-8"))
            else:
                path.rename(target)

    @rule()
    def lose_the_folder(self) -> None:
        shutil.rmtree(self.root / "memory", ignore_errors=True)
        self.broken.clear()

    @rule(which=NOTE_IDS)
    def write_by_hand(self, which: str) -> None:
        folder = self.root / "memory" / "semantic"
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / f"{which}.md").exists():
            self.save(folder / f"{which}.md", f"---\nid: {which}\ntype: semantic\ntitle: Hand\n---\n{self.text()}\n")

    # What happens to both

    @rule()
    def reopen(self) -> None:
        self.close()
        self.open()

    @rule(is_open=st.booleans())
    def lose_the_index(self, is_open: bool) -> None:
        if not is_open:
            self.close()
        for suffix in ("", "-wal", "-shm"):
            (self.root / f"index.db{suffix}").unlink(missing_ok=True)
        if not is_open:
            self.open()

    @rule()
    def reindex(self) -> None:
        self.store.reindex()

    @rule(dropped=st.sampled_from(DROPPED), which=WHICH, action=st.integers(0, 3))
    def lose_a_journal(self, dropped: str, which: int, action: int) -> None:
        self.close()
        with contextlib.closing(connect(self.path)) as db:
            if dropped == "TABLE anamnesis_changes":  # without its triggers, or Engram could not write
                for event in ("insert", "update", "delete"):
                    db.execute(f"DROP TRIGGER anamnesis_changes_{event}")
            db.execute(f"DROP {dropped}")
            if dropped in ("TABLE anamnesis_twins", "TABLE anamnesis_bridge"):  # nobody knows who set it
                db.execute("UPDATE observations SET superseded_by = NULL")
        if action == 1 and "revisions" in dropped:
            self.change_a_column(which, "title", which)  # a content would be lost before we could see it
        elif action == 1:
            self.change_a_content(which)
        elif action == 2:
            self.take_away(which)
        elif action == 3:
            self.unlink(which)
        self.open()
        self.db.close()  # SQLite does not look again for the table of a trigger
        self.db = connect(self.path)

    @rule(last=st.integers(1, 4), early=st.booleans())
    def follow_the_last(self, last: int, early: bool) -> None:
        """As a daemon does after each write, which answers before the disk has the notes."""
        self.bridge.follow_rows(max(0, self.bridge.last_change() - last), answer=bool if early else None)

    @rule()
    def somebody_else_reconciles(self) -> None:
        with connected(self.root, self.path) as other:
            other.reconcile()

    @rule(numbers=st.lists(st.integers(1, 400), min_size=1, max_size=2), through=st.booleans(), early=st.booleans())
    def be_killed(self, numbers: list[int], through: bool, early: bool) -> None:
        """One or two processes take over what has changed, and each is killed somewhere, or not."""
        self.close()
        before = texts_in(self.root, self.path)

        def work() -> None:
            if through:
                with Vault(self.root, self.path) as vault:
                    bridge = vault.connect(self.path, "here")
                    bridge.follow_rows(max(0, bridge.last_change() - 4), answer=bool if early else None)
                    bridge.reconcile()
            else:
                with MemoryStore(self.root) as store, contextlib.closing(Bridge(store, self.path, "here")) as bridge:
                    store.refresh()
                    bridge.follow_rows(max(0, bridge.last_change() - 4), answer=bool if early else None)
                    bridge.reconcile()

        for process in [fork(work, number) for number in numbers]:
            wait_for(process)
        self.open()
        self.assert_kept(before)

    @rule()
    def reconcile(self) -> None:
        before = texts_in(self.root, self.path)
        self.store.refresh()
        self.bridge.reconcile()
        unreadable = {name for path, (_, id) in self.broken.items() if path.exists() for name in (id, path.stem)}
        assert_settled(self.store, self.db, unreadable)
        assert_twins(self.store, self.db, unreadable)
        self.assert_kept(before)
        self.reopen()  # Engram's own backfills
        self.bridge.reconcile()
        settled = state(self.root, self.path)
        self.bridge.reconcile()
        self.reopen()
        self.bridge.reconcile()
        assert state(self.root, self.path) == settled
        assert_settled(self.store, self.db, unreadable)
        assert_twins(self.store, self.db, unreadable)

    def assert_kept(self, before: bytes) -> None:
        after = texts_in(self.root, self.path)
        lost = {word for word in before.split() if word.startswith(b"word") and word not in after}
        assert not lost, lost


TestTwoDoors = TwoDoors.TestCase
TestTwoDoors.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestTwoDoors = pytest.mark.skipif(not hasattr(os, "fork"), reason="a killed process is a forked one")(TestTwoDoors)
