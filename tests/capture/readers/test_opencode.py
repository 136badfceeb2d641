"""OpenCode: sessions are read from its database, as versions 1 and 2 write it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.capture.opencode import SESSION, START, Stored, database, text, tool

from anamnesis.capture import ParsedSession, find_transcript, is_trivial_session, parse_transcript

CHILD = "ses_child"


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def version(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


def parsed(path: Path, session: str = SESSION) -> ParsedSession:
    return parse_transcript(path / session)


def a_session(stored: Stored) -> None:
    stored.say("user", text("fix the login"))
    stored.say("user", text("Always use pip.", synthetic=True))
    stored.say("assistant", text("Looking."), tool("edit", {"filePath": "/w/app/other.py"}, status="error"))
    stored.say("assistant", tool("read", {"filePath": "/w/app/read.py"}, output="Always use tabs."))
    stored.say("assistant", tool("edit", {"filePath": "/w/app/src/auth.py"}))
    stored.say("user", text("now add a test"))
    stored.say("assistant", tool("write", {"filePath": "/w/app/tests/test_auth.py"}, exists=False))
    stored.say("assistant", text("Fixed, and tested."))


def test_a_session_is_read_from_the_database(tmp_path: Path, version: int) -> None:
    path = tmp_path / "opencode.db"
    with database(path, version) as stored:
        a_session(stored)
    session = parsed(path)
    assert session.prompts == ["fix the login", "now add a test"]
    assert session.last_outcome == "Fixed, and tested."
    assert session.files_touched == ["src/auth.py", "tests/test_auth.py"]
    assert session.files_created == ["tests/test_auth.py"]
    assert (session.session_id, session.cwd, session.model) == (SESSION, "/w/app", "model-x")
    assert session.started_at == "2026-08-01T10:00:00.000+00:00"
    assert session.statements == []
    assert START == 1_785_578_400_000


def test_patches_count_as_edits(tmp_path: Path, version: int) -> None:
    patch = "*** Begin Patch\n*** Add File: new.py\n+x\n*** Update File: old.py\n*** End Patch"
    with database(tmp_path / "o.db", version) as stored:
        for name in ("apply_patch", "patch"):
            stored.say("assistant", tool(name, {"patchText": patch}))
    session = parsed(tmp_path / "o.db")
    assert (session.files_touched, session.files_created) == (["new.py", "old.py"], ["new.py"])


def test_edits_of_subagents_count_but_their_messages_do_not(tmp_path: Path, version: int) -> None:
    with database(tmp_path / "o.db", version) as stored:
        stored.say("user", text("fix it"))
        stored.session(CHILD, parent=SESSION)
        stored.session("ses_grandchild", parent=CHILD)
        stored.say("user", text("You are a subagent. Always search."), session=CHILD)
        stored.say("assistant", tool("edit", {"filePath": "/w/app/a.py"}), text("Done."), session=CHILD)
        stored.say("assistant", tool("edit", {"filePath": "/w/app/b.py"}), session="ses_grandchild")
    session = parsed(tmp_path / "o.db")
    assert (session.prompts, session.last_outcome) == (["fix it"], "")
    assert session.files_touched == ["a.py", "b.py"]
    assert is_trivial_session(parsed(tmp_path / "o.db", CHILD))


def test_undone_messages_do_not_count(tmp_path: Path, version: int) -> None:
    with database(tmp_path / "o.db", version) as stored:
        stored.say("user", text("fix the login"))
        stored.say("assistant", text("Fixed."))
        undone = stored.say("user", text("delete everything"))
        stored.say("assistant", text("Deleted."), tool("edit", {"filePath": "/w/app/a.py"}))
        stored.revert(undone)
    session = parsed(tmp_path / "o.db")
    assert (session.prompts, session.last_outcome, session.files_touched) == (["fix the login"], "Fixed.", [])


def test_a_database_of_both_versions_is_read_where_the_session_is(tmp_path: Path) -> None:
    """An upgrade leaves the old tables behind, with the messages up to then."""
    path = tmp_path / "o.db"
    with database(path, 1) as stored:
        stored.say("user", text("the old one"))
        stored.session("ses_old")
        stored.say("user", text("only in the old tables"), session="ses_old")
    with database(path, 2) as stored:
        stored.say("user", text("the new one"))
    assert parsed(path).prompts == ["the new one"]
    assert parsed(path, "ses_old").prompts == ["only in the old tables"]


def test_a_compaction_summary_is_not_an_answer(tmp_path: Path) -> None:
    with database(tmp_path / "o.db", 1) as stored:
        stored.say("assistant", text("Fixed."))
        stored.say("assistant", text("The user asked for a fix."), summary=True)
    assert parsed(tmp_path / "o.db").last_outcome == "Fixed."


@pytest.mark.parametrize("data", ["", "{", "[1]", "null", '{"type":"text","text":7}', '{"type":"text"', "\ud800"])
def test_broken_rows_are_skipped(tmp_path: Path, version: int, data: str) -> None:
    path = tmp_path / "o.db"
    with database(path, version) as stored:
        a_session(stored)
    expected = parsed(path)
    with sqlite3.connect(path) as db:
        broken = data.encode("utf-8", "surrogatepass")
        if version == 1:
            db.execute("INSERT INTO part VALUES ('x', 'msg_0001', ?, 1, 1, CAST(? AS TEXT))", (SESSION, broken))
        else:
            row = (SESSION, broken)
            db.execute("INSERT INTO session_message VALUES ('x', ?, 'user', 0, 1, 1, CAST(? AS TEXT))", row)
    assert parsed(path) == expected


def test_a_missing_database_or_session_is_not_an_error(tmp_path: Path, version: int) -> None:
    path = tmp_path / "o.db"
    assert parsed(path).prompts == []
    path.write_bytes(b"not a database" * 100)
    assert parsed(path).prompts == []
    path.unlink()
    with database(path, version):
        pass
    assert parsed(path, "ses_other") == ParsedSession()
    (tmp_path / "e.db").touch()
    assert parsed(tmp_path / "e.db") == ParsedSession()


@pytest.mark.parametrize(("host", "folder"), [("opencode", "opencode"), ("kilo", "kilo")])
def test_a_session_is_found_in_the_database_of_any_channel(tmp_path: Path, host: str, folder: str) -> None:
    data = tmp_path / ".local/share" / folder
    assert find_transcript(host, SESSION, tmp_path, {}) is None
    (data).mkdir(parents=True)
    (data / "a.db").write_bytes(b"no database")
    with database(data / "opencode-dev.db", 2):
        pass
    assert find_transcript(host, SESSION, tmp_path, {}) == data / "opencode-dev.db" / SESSION
    assert find_transcript(host, "ses_other", tmp_path, {}) is None
    assert find_transcript(host, "../x", tmp_path, {}) is None


def test_variables_name_another_database(tmp_path: Path) -> None:
    with database(tmp_path / "x/opencode/mine.sqlite", 1) as stored:
        stored.say("user", text("fix the login"))
    variables = {"XDG_DATA_HOME": str(tmp_path / "x"), "OPENCODE_DB": "mine.sqlite"}
    assert find_transcript("opencode", SESSION, tmp_path, {}) is None
    path = find_transcript("opencode", SESSION, tmp_path, variables)
    assert path == tmp_path / "x/opencode/mine.sqlite" / SESSION
    assert parse_transcript(path).prompts == ["fix the login"]


def test_the_quotation_marks_of_opencode_run_are_removed_from_a_prompt(tmp_path: Path, version: int) -> None:
    path = tmp_path / "opencode.db"
    with database(path, version) as stored:
        stored.say("user", text('"fix the \\"login\\" page"'))
        stored.say("assistant", text("Done."))
        stored.say("user", text('"a" or "b"?'))
    session = parsed(path)
    assert session.asks == ['fix the "login" page', '"a" or "b"?']
