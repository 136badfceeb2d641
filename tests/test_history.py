"""The history of a note: git, journal, trash and current file as one list, and restoring a revision."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.bridge.memory import connected
from tests.sync.machine import git

from anamnesis.engram import database, observations, sessions
from anamnesis.engram.observations import NewObservation
from anamnesis.engram.record import Observation
from anamnesis.errors import InvalidArgument, InvalidNote, NoteNotFound, StoreUnavailable
from anamnesis.history.observation import revisions as revisions_of_observation
from anamnesis.history.restoring import RestoredNote, restore
from anamnesis.history.revisions import note_of, revisions
from anamnesis.history.version import Revision
from anamnesis.notes import render
from anamnesis.store import MemoryStore
from anamnesis.sync import GitSyncBackend, sync_store
from anamnesis.vault import Vault


class Home:
    """A store, its repository and, for twins, its engram.db."""

    def __init__(
        self,
        store: MemoryStore,
        engram: Path | None,
        machine: str = "thinkpad",
        remote: Path | None = None,
        vault: Vault | None = None,
    ):
        self.vault = vault
        self.store = store
        self.engram = engram
        self.backend = GitSyncBackend(store.memory_dir, remote=str(remote) if remote else None, machine_id=machine)

    def sync(self) -> None:
        sync_store(self.store, self.backend)

    def note(self, body: str = "one\ntwo\nthree", **fields: object) -> str:
        values = {"type": "semantic", "title": "T", "tags": ["red"], "machine_id": "thinkpad", **fields}
        return self.store.write(body=body, **values).id  # type: ignore[arg-type]

    def path(self, note_id: str) -> Path:
        file = self.store.file(note_id)
        assert file
        return self.store.root / file.path

    def edit(self, note_id: str, old: str, new: str) -> None:
        """Change a note's file as an editor does."""
        path = self.path(note_id)
        text = path.read_bytes().decode()
        assert old in text
        path.write_bytes(text.replace(old, new).encode())
        self.store.refresh()

    def history(self, note_id: str) -> list[Revision]:
        return revisions(self.store, note_id, self.engram)

    def restore(self, note_id: str, number: int) -> RestoredNote:
        return restore(self.store, self.history(note_id), number)

    def told(self, note_id: str) -> list[tuple[str, str]]:
        """Source and summary of each revision, the oldest first."""
        return [(each.version.source, each.summary) for each in self.history(note_id)]

    def texts(self, note_id: str) -> list[str]:
        return [each.version.text for each in self.history(note_id)]

    def said(self, change: Callable[[sqlite3.Connection], int]) -> int:
        """Change engram.db as an Engram client does."""
        assert self.vault
        assert self.engram
        with closing(database.connect(self.engram)) as db, self.vault.around(db):
            return change(db)

    def save(self, content: str, **fields: str) -> int:
        def change(db: sqlite3.Connection) -> int:
            sessions.create(db, "s", "p", "")
            return observations.add(
                db, NewObservation(**{"session_id": "s", "title": "T", "project": "p", **fields}, content=content)
            ).id

        return self.said(change)

    def patch(self, number: int, **fields: str | None) -> int:
        return self.said(lambda db: observations.update(db, number, fields).id)


@pytest.fixture
def plain(store: MemoryStore) -> Home:
    return Home(store, None)


@pytest.fixture
def twins(tmp_path: Path) -> Iterator[Home]:
    path = tmp_path / "engram.db"
    with connected(tmp_path / "store", path, "thinkpad") as vault:
        yield Home(vault.notes, path, vault=vault)


@pytest.fixture(params=["plain", "twins"])
def home(request: pytest.FixtureRequest) -> Home:
    found: Home = request.getfixturevalue(request.param)
    return found


def test_a_note_that_was_never_changed_has_one_revision(home: Home) -> None:
    id = home.note()
    (only,) = home.history(id)
    assert (only.number, only.version.source, only.summary) == (1, "now", "written")
    assert only.version.at == home.store.get(id).updated_at
    assert "+one\n+two\n+three\n" in only.diff


def test_committed_and_uncommitted_edits_are_in_one_order(home: Home) -> None:
    id = home.note()
    home.sync()
    home.edit(id, "two", "zwei")
    home.sync()
    home.edit(id, "title: T", "title: Title")
    assert home.told(id) == [("git", "written"), ("git", "body +1 -1"), ("now", "title")]
    first, second, third = home.history(id)
    assert [first.version.by, second.version.by, third.version.by] == ["thinkpad", "thinkpad", ""]
    heads = git(home.store.memory_dir, "log", "--format=%h", "--reverse").split()
    assert [first.version.commit[:7], second.version.commit[:7]] == [head[:7] for head in heads]
    assert " one\n-two\n+zwei\n three\n" in second.diff
    assert second.diff.startswith("--- revision 1\n+++ revision 2\n@@")
    home.sync()
    assert [source for source, _ in home.told(id)] == ["git", "git", "git"]


def test_every_edit_between_two_syncs_is_a_revision(home: Home) -> None:
    id = home.note()
    home.sync()
    home.edit(id, "two", "zwei")
    home.store.update(id, body="one\ndeux\nthree")
    home.edit(id, "deux", "duo")
    home.sync()
    bodies = [text.rpartition("---\n")[2].split("\n")[1] for text in home.texts(id)]
    assert bodies == ["two", "zwei", "deux", "duo"]
    home.restore(id, 2)
    assert home.store.get(id).body == "one\nzwei\nthree"


def test_a_note_whose_file_was_removed_can_be_restored(plain: Home) -> None:
    id = plain.note()
    plain.edit(id, "two", "zwei")
    plain.path(id).unlink()
    plain.store.refresh()
    assert plain.told(id) == [("kept", "written"), ("kept", "body +1 -1"), ("now", "deleted")]
    plain.restore(id, 2)
    assert plain.store.get(id).body == "one\nzwei\nthree"


def test_a_sync_changes_no_number_and_no_text(home: Home) -> None:
    id = home.note()
    for old, new in (("two", "zwei"), ("zwei", "deux"), ("deux", "duo")):
        home.edit(id, old, new)
        before = home.texts(id)
        home.sync()
        assert home.texts(id) == before


def test_a_change_of_type_moves_the_file_and_keeps_its_history(home: Home) -> None:
    id = home.note()
    home.sync()
    home.store.update(id, type="procedural")
    home.sync()
    home.store.update(id, type="episodic", title="Moved twice")
    home.sync()
    assert home.told(id) == [("git", "written"), ("git", "type"), ("git", "type, title")]


def test_a_note_that_became_machine_local_is_not_shown_as_deleted(home: Home) -> None:
    id = home.note()
    home.sync()
    home.store.move(id, "machine-local")
    home.sync()
    assert home.told(id) == [("git", "written"), ("now", "scope")]
    home.edit(id, "two", "zwei")
    home.restore(id, 1)
    note = home.store.get(id)
    assert (note.scope, note.body) == ("machine-local", "one\ntwo\nthree"), "it must not be synced again"


def test_a_topic_that_is_revised_has_every_version_from_the_journal(twins: Home) -> None:
    number = twins.save("first", topic_key="plan")
    for text in ("second", "third"):
        assert twins.save(text, topic_key="plan") == number
    note_id = note_of_number(twins, number)
    assert twins.told(note_id) == [("journal", "written"), ("journal", "body +1 -1"), ("now", "body +1 -1")]
    assert [text.rpartition("\n")[2] for text in twins.texts(note_id)] == ["first", "second", "third"]
    assert "topic_key: plan" in twins.texts(note_id)[0]
    assert "revision_count" not in "".join(twins.texts(note_id))


def test_a_version_in_git_and_in_the_journal_is_listed_once_with_its_commit(twins: Home) -> None:
    number = twins.save("first")
    twins.sync()
    twins.patch(number, title="Renamed", type="bugfix")
    twins.sync()
    twins.patch(number, content="second")
    note_id = note_of_number(twins, number)
    assert twins.told(note_id) == [("git", "written"), ("git", "type, title, engram type"), ("now", "body +1 -1")]
    assert twins.store.get(note_id).type == "procedural"


def test_journal_versions_are_ordered_between_commits(twins: Home) -> None:
    number = twins.save("v0")
    for step in range(1, 7):
        if step % 3 == 1:
            twins.sync()
        twins.patch(number, content=f"v{step}")
    note_id = note_of_number(twins, number)
    assert [text.rpartition("\n")[2] for text in twins.texts(note_id)] == [f"v{step}" for step in range(7)]
    sources = [source for source, _ in twins.told(note_id)]
    assert sources == ["git", "journal", "journal", "git", "journal", "journal", "now"]


def test_fields_that_an_observation_lacks_are_those_of_the_previous_version(twins: Home) -> None:
    number = twins.save("first")
    note_id = note_of_number(twins, number)
    twins.store.update(note_id, tags=["red", "blue"])
    twins.sync()
    twins.patch(number, title="Renamed")
    twins.patch(number, title="Renamed again")
    assert all("- blue" in text for text in twins.texts(note_id)[-3:])
    assert [summary for _, summary in twins.told(note_id)][-2:] == ["title", "title"]


def test_a_text_that_occurs_again_is_a_separate_revision(twins: Home) -> None:
    number = twins.save("one")
    for text in ("two", "one", "two"):
        twins.sync()
        twins.patch(number, content=text)
    note_id = note_of_number(twins, number)
    assert [text.rpartition("\n")[2] for text in twins.texts(note_id)] == ["one", "two", "one", "two"]


def test_a_deleted_note_keeps_its_history_and_can_be_restored(home: Home) -> None:
    id = home.note("first")
    home.sync()
    home.edit(id, "first", "second")
    home.store.delete(id)
    assert [summary for _, summary in home.told(id)] == ["written", "body +1 -1", "deleted"]
    home.sync()
    assert [summary for _, summary in home.told(id)] == ["written", "body +1 -1", "deleted"]
    assert home.history(id)[-1].diff.count("\n-") > 5
    with pytest.raises(InvalidArgument, match="In revision 3 the note was deleted"):
        home.restore(id, 3)
    done = home.restore(id, 2)
    assert "+second" in done.diff
    assert home.store.get(id).body == "second"
    assert [summary for _, summary in home.told(id)][-2:] == ["deleted", "written"]


def test_a_soft_deleted_observation_is_restored_with_its_note(twins: Home) -> None:
    number = twins.save("first")
    note_id = note_of_number(twins, number)
    twins.patch(number, content="second")
    twins.said(lambda db: int(observations.delete(db, number)))
    assert twins.store.get(note_id).is_hidden
    assert [summary for _, summary in twins.told(note_id)] == ["written", "body +1 -1", "deleted"]
    twins.restore(note_id, 1)
    assert not twins.store.get(note_id).is_hidden
    with closing(database.connect(twins.engram or Path())) as db:
        found = observations.get(db, number)
    assert found
    assert (found.content, found.deleted_at) == ("first", None)
    assert [summary for _, summary in twins.told(note_id)] == ["written", "body +1 -1", "deleted", "written"]


def test_a_restore_updates_the_twin_and_loses_nothing(twins: Home) -> None:
    number = twins.save("first", topic_key="plan", type="decision")
    note_id = note_of_number(twins, number)
    twins.patch(number, content="second", title="Other", type="bugfix")
    sync_id = observation(twins, number).sync_id
    before = twins.texts(note_id)
    twins.restore(note_id, 1)
    row = observation(twins, number)
    assert (row.content, row.title, row.type, row.topic_key, row.sync_id) == ("first", "T", "decision", "plan", sync_id)
    assert twins.texts(note_id) == [*before, before[0]]


def test_an_uncommitted_version_is_kept_when_a_note_is_restored(home: Home) -> None:
    """The edit is in no commit, and its field in no observation."""
    id = home.note()
    home.sync()
    home.edit(id, "- red", "- green\nmine: my own field")
    before = home.texts(id)
    done = home.restore(id, 1)
    assert "-- green\n" in done.diff
    assert home.texts(id) == [*before, before[0]]
    home.restore(id, 2)
    assert "- green\n" in home.path(id).read_text()
    assert "mine: my own field" in home.path(id).read_text()


def test_a_note_is_not_restored_if_the_current_version_cannot_be_kept(plain: Home) -> None:
    id = plain.note()
    plain.sync()
    plain.edit(id, "two", "zwei")
    (plain.store.root / "trash").write_text("in the way")
    with pytest.raises(StoreUnavailable):
        plain.restore(id, 1)
    assert "zwei" in plain.path(id).read_text()


def test_restoring_the_current_revision_changes_nothing(home: Home) -> None:
    id = home.note()
    data = home.path(id).read_bytes()
    assert home.restore(id, 1).diff == ""
    assert home.path(id).read_bytes() == data
    assert home.store.trashed() == []


@pytest.mark.parametrize("number", [-1, 0, 2, 10**30])
def test_an_unknown_revision_number_is_reported(plain: Home, number: int) -> None:
    id = plain.note()
    with pytest.raises(InvalidArgument, match=f"^There is no revision {number}. There are 1 to 1.$"):
        plain.restore(id, number)


def test_a_concurrent_edit_is_not_overwritten(plain: Home) -> None:
    id = plain.note()
    plain.sync()
    plain.edit(id, "two", "zwei")
    known = plain.history(id)
    plain.edit(id, "zwei", "deux")
    restore(plain.store, known, 1)
    assert any("deux" in text for text in plain.texts(id))


@pytest.mark.parametrize("id", ["--help", "-x", "../x", "a/b", "", ".", "x\0y", "*", ":(glob)**", "HEAD\n"])
def test_no_hostile_id_reaches_git_or_a_file(home: Home, id: str) -> None:
    home.note()
    home.sync()
    with pytest.raises(InvalidNote, match="is not a note id"):
        home.history(id)


def test_an_unknown_id_is_not_found(home: Home) -> None:
    home.sync()
    with pytest.raises(NoteNotFound, match="Nothing is known of a note nobody"):
        home.history("nobody")


def test_an_unreadable_file_is_not_shown_as_deleted(home: Home) -> None:
    id = home.note()
    home.sync()
    home.edit(id, "type: semantic", "type: [broken")
    assert home.told(id) == [("git", "written")]
    home.sync()
    assert home.told(id) == [("git", "written")]
    with pytest.raises(InvalidNote, match="Fix the file first"):
        home.restore(id, 1)


@pytest.mark.parametrize("body", ["grüße 🐈 \u2028 ünïcode\nzwei", "one\r\ntwo\r\nthree", "\tx\x0c\n\n---\nid: y\n"])
def test_any_text_is_restored_byte_for_byte(home: Home, body: str) -> None:
    id = home.note(body)
    home.sync()
    data = home.store.get(id).body
    home.store.update(id, body="replaced", title="grün 🐈")
    home.sync()
    home.restore(id, 1)
    assert home.store.get(id).body == data == body


def test_changed_line_ends_are_not_a_revision_and_are_kept(home: Home) -> None:
    id = home.note()
    home.sync()
    path = home.path(id)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    home.store.refresh()
    home.sync()
    assert len(home.history(id)) == 1
    home.edit(id, "two\r\n", "zwei\r\n")
    assert home.history(id)[-1].summary == "body +1 -1"
    assert "\r" not in home.history(id)[-1].diff


def test_the_history_of_two_machines_is_one_list_with_authors(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    remote = tmp_path / "remote.git"
    with MemoryStore(tmp_path / "a") as a, connected(tmp_path / "b", tmp_path / "engram.db", "two") as b:
        one, two = Home(a, None, "one", remote), Home(b.notes, tmp_path / "engram.db", "two", remote, b)
        id = one.note("1\n2\n3\n4\n5")
        one.sync()
        two.sync()
        one.edit(id, "\n1\n", "\nI\n")
        two.edit(id, "\n5", "\nV")
        one.sync()
        two.sync()
        one.sync()
        for home in (one, two):
            last = home.history(id)[-1].version
            assert (last.source, last.text.rpartition("---\n")[2]) == ("git", "I\n2\n3\n4\nV")
            assert {each.version.by for each in home.history(id)} == {"one", "two"}
            assert {text.rpartition("---\n")[2] for text in home.texts(id)} >= {"1\n2\n3\n4\n5", "I\n2\n3\n4\n5"}


def test_a_commit_made_by_hand_names_its_author(plain: Home) -> None:
    id = plain.note()
    plain.sync()
    plain.edit(id, "two", "zwei")
    git(plain.store.memory_dir, "commit", "--quiet", "-am", "by hand")
    assert plain.history(id)[-1].version.by == "n"


def test_the_users_git_settings_do_not_change_the_history(plain: Home) -> None:
    id = plain.note()
    plain.sync()
    plain.store.update(id, type="procedural")
    plain.sync()
    before = plain.told(id)
    for name, value in (
        ("log.showSignature", "true"),
        ("log.follow", "true"),
        ("log.diffMerges", "off"),
        ("diff.renames", "copies"),
        ("color.ui", "always"),
        ("core.abbrev", "4"),
        ("log.date", "relative"),
    ):
        git(plain.store.memory_dir, "config", name, value)
    assert plain.told(id) == before


def test_a_file_with_another_name_has_its_history(plain: Home) -> None:
    id = plain.note()
    plain.path(id).rename(plain.store.memory_dir / "semantic" / "my note.md")
    plain.store.refresh()
    plain.sync()
    plain.edit(id, "two", "zwei")
    plain.sync()
    assert plain.told(id) == [("git", "written"), ("git", "body +1 -1")]


def test_an_observation_is_found_by_its_number_and_identity(twins: Home) -> None:
    number = twins.save("first")
    assert twins.engram
    note_id = note_of_number(twins, number)
    assert note_of(twins.engram, observation(twins, number).sync_id) == note_id
    for nobody in ("999", "0", f"0{number}", "", "-1", "1.0", "٣", "9" * 40, "obs-x", "\ud800"):
        assert note_of(twins.engram, nobody) is None


def test_an_engram_db_without_a_bridge_adds_no_revisions_and_is_not_changed(plain: Home, tmp_path: Path) -> None:
    path = tmp_path / "engram.db"
    database.prepare(path)
    id = plain.note()
    (only,) = revisions(plain.store, id, path)
    assert only.version.source == "now"
    with closing(sqlite3.connect(path)) as db:
        assert not db.execute("SELECT 1 FROM sqlite_master WHERE name LIKE 'anamnesis_rev%'").fetchall()


def test_a_thousand_commits_start_as_many_processes_as_two(
    plain: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = plain.note("v")
    plain.sync()
    plain.edit(id, "\nv\n", "\nw\n")
    plain.sync()
    assert len(plain.history(id)) == 2
    calls = counted_git(tmp_path, monkeypatch)
    plain.history(id)
    few = calls()
    assert few
    text = render(plain.store.get(id))
    commit_many(plain.store.memory_dir, f"semantic/{id}.md", [text.replace("\nw\n", f"\nv{n}\n") for n in range(1000)])
    before = calls()
    assert len(plain.history(id)) == 1003
    assert calls() - before == few


def test_a_thousand_journal_revisions_are_all_listed(twins: Home) -> None:
    number = twins.save("v0")

    def change(db: sqlite3.Connection) -> int:
        with database.writing(db):
            for step in range(1, 1000):
                observations.update(db, number, {"content": f"v{step}"})
        return 0

    twins.said(change)
    assert [each.version.text.rpartition("\n")[2] for each in twins.history(note_of_number(twins, number))] == [
        f"v{step}" for step in range(1000)
    ]


def test_revisions_of_an_observation_have_their_changes_and_times(twins: Home) -> None:
    number = twins.save("first\nline")
    twins.patch(number, title="Other")
    twins.patch(number, content="second\nline")
    with closing(database.connect(twins.engram or Path())) as db:
        newest, middle, oldest = revisions_of_observation(db, number, 20)
        assert [each.number for each in (newest, middle, oldest)] == [3, 2, 1]
        assert [each.changed for each in (newest, middle, oldest)] == [("content",), ("title",), ()]
        assert (newest.replaced_at, middle.replaced_at) == (None, newest.recorded_at)
        assert "\n-first\n+second\n line\n" in newest.diff
        assert middle.observation.title == "Other"
        assert revisions_of_observation(db, number, 1) == [newest]
        assert revisions_of_observation(db, 10**18, 1) == []


def test_a_limit_returns_the_same_last_revisions(twins: Home) -> None:
    number = twins.save("v0")
    for step in range(1, 30):
        twins.patch(number, content=f"v{step}")
    with closing(database.connect(twins.engram or Path())) as db:
        every = revisions_of_observation(db, number, 2**63 - 1)
        assert [each.number for each in every] == [*range(30, 0, -1)]
        for limit in (1, 2, 29, 30, 31):
            assert revisions_of_observation(db, number, limit) == every[:limit]


STEPS = ("edit", "retag", "title", "sync", "delete", "bring back", "go back")


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 10**6)), min_size=2, max_size=7),
    is_bridged=st.booleans(),
)
def test_the_last_revision_is_the_current_note_and_a_restore_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], is_bridged: bool
) -> None:
    folder = tmp_path_factory.mktemp("home")
    engram = folder / "engram.db" if is_bridged else None
    with connected(folder / "s", engram, "m") if engram else Vault(folder / "s") as vault:
        store = vault.notes
        home = Home(store, engram, vault=vault)
        id = home.note()
        for step, choice in steps:
            take(home, id, step, choice)
            found = home.history(id)
            note = store.find(id)
            assert (found[-1].version.note is None) == (note is None)
            assert not note or note.body == (found[-1].version.note or note).body
            assert [each.number for each in found] == list(range(1, len(found) + 1))
            assert all(each.before is None or each.before.text != each.version.text for each in found)


def take(home: Home, id: str, step: str, choice: int) -> None:
    note = home.store.find(id)
    if step == "sync":
        home.sync()
    elif step == "bring back" and note is None:
        home.store.restore(id)
    elif step == "go back":
        known = home.history(id)
        chosen = known[choice % len(known)]
        if chosen.version.note:
            restore(home.store, known, chosen.number)
            assert home.texts(id)[-1] == chosen.version.text
            assert {*home.texts(id)} - {""} >= {each.version.text for each in known} - {""}
    elif note and step == "edit":
        home.edit(id, note.body, f"{note.body}\n{choice}")
    elif note and step == "retag":
        home.store.update(id, tags=[f"t{choice}"])
    elif note and step == "title":
        home.store.update(id, title=f"T{choice}", type=("semantic", "procedural", "episodic")[choice % 3])
    elif note and step == "delete":
        home.store.delete(id)


def observation(home: Home, number: int) -> Observation:
    with closing(database.connect(home.engram or Path())) as db:
        found = observations.get(db, number)
    assert found
    return found


def note_of_number(home: Home, number: int) -> str:
    assert home.engram
    found = note_of(home.engram, str(number))
    assert found
    return found


def counted_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Put a git on the PATH that counts its calls."""
    real, tools, log = shutil.which("git"), folder / "tools", folder / "calls"
    tools.mkdir()
    log.touch()
    (tools / "git").write_text(
        f"#!{sys.executable}\nimport os, sys\nopen({str(log)!r}, 'a').write('x')\nos.execv({real!r}, sys.argv)\n"
    )
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    return lambda: len(log.read_text())


def commit_many(folder: Path, path: str, texts: list[str]) -> None:
    """Commit a file with one text after another, a second apart from now on."""
    parts = []
    moment = 1_900_000_000
    head = git(folder, "rev-parse", "HEAD")
    for number, text in enumerate(texts):
        data = text.encode()
        origin = f"from {head}\n" if number == 0 else ""
        parts.append(
            f"commit refs/heads/main\ncommitter n <e> {moment + number} +0000\ndata 1\nx\n{origin}"
            f"M 100644 inline {path}\ndata {len(data)}\n".encode()
            + data
            + b"\n"
        )
    git(folder, "fast-import", "--quiet", "--force", input=b"".join(parts))
