"""`anamnesis import` lists the memories of other programs on this machine, and imports them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import Command


@pytest.fixture
def user(anamnesis: Command) -> Path:
    """The user's folder, with rules and an export of ChatGPT."""
    user = Path(anamnesis.variables["HOME"])
    (user / ".claude").mkdir()
    (user / ".claude" / "CLAUDE.md").write_text("# Style\nBe brief.\n\n# Tests\nRun them.\n")
    asked = {"parent": None, "message": {"author": {"role": "user"}, "content": {"parts": ["Why does it flicker?"]}}}
    chat = {"id": "c-1", "title": "\x1b[31mFlicker", "create_time": 1_700_000_000, "mapping": {"a": asked}}
    (user / "Downloads" / "chats").mkdir(parents=True)
    (user / "Downloads" / "chats" / "conversations.json").write_text(json.dumps([chat, {"id": "broken"}]))
    return user


def test_without_a_source_import_lists_the_found_and_the_imported(anamnesis: Command, user: Path) -> None:
    rules, chats = str(user / ".claude" / "CLAUDE.md"), str(user / "Downloads" / "chats")
    assert anamnesis("import").out == f"rules\t{rules}\t2\t0\nchatgpt\t{chats}\t1\t0\n"
    assert anamnesis("import", "rules").out == "2 new, 0 updated, 0 unchanged, 0 left alone (deleted or edited here).\n"
    assert anamnesis("import", "--json").json == [
        {"source": "rules", "place": rules, "found": 2, "here": 2, "broken": 0},
        {"source": "chatgpt", "place": chats, "found": 1, "here": 0, "broken": 1},
    ]
    shown = anamnesis.on_terminal("import")
    assert "source" in shown and "rules" in shown and "here" in shown


def test_a_dry_run_shows_the_notes_to_import(anamnesis: Command, user: Path) -> None:
    done = anamnesis("import", "rules", "--dry-run", "--project", "house")
    assert done.out.splitlines()[:2] == ["new\thouse\tStyle", "new\thouse\tTests"]
    coming = anamnesis("import", "rules", "--dry-run", "--json").json["coming"]
    assert [(each["change"], each["title"]) for each in coming] == [("new", "Style"), ("new", "Tests")]
    assert anamnesis("list").out == ""


def test_conversations_come_only_after_a_preview(anamnesis: Command, user: Path) -> None:
    refused = anamnesis("import", "chatgpt")
    assert refused.code == 1 and refused.out == ""
    assert "1 note would be imported, from 2023-11-14 to 2023-11-14" in refused.err and "--yes" in refused.err
    assert "Import them?" in anamnesis.on_terminal("import", "chatgpt", typed="n\n")
    assert anamnesis("list").out == ""
    done = anamnesis("import", "chatgpt", "--yes")
    assert (done.code, done.out.partition(",")[0]) == (0, "1 new")
    assert "element 2: It is not a conversation of ChatGPT." in done.err
    assert anamnesis("import", "chatgpt", "--json", "--yes").json["unchanged"] == 1
    assert "\x1b" not in anamnesis("list").out


def test_a_missing_source_is_reported_with_what_to_do(anamnesis: Command) -> None:
    missing = anamnesis("import", "mem0")
    assert missing.code == 1 and "anamnesis import mem0 PATH" in missing.err
    assert anamnesis("import", "nothing").code == 2
    assert anamnesis("import", "markdown", ".", "--from", ".").code == 2
    assert anamnesis("import", "claude").out.startswith("0 new")


def test_a_place_is_the_same_by_whichever_path(anamnesis: Command, user: Path) -> None:
    (user / "vault").mkdir()
    (user / "vault" / "a.md").write_text("Text.")
    (user / "link").symlink_to("vault")
    for number, path in enumerate(("vault", "Downloads/../vault", "link")):
        done = anamnesis("import", "markdown", str(user / path), "--json").json
        assert (done["new"], done["unchanged"]) == ((0, 1) if number else (1, 0))


@pytest.mark.parametrize("source", ["claude-mem", "cline"])
def test_a_place_without_data_of_the_source_is_reported(anamnesis: Command, user: Path, source: str) -> None:
    (user / "empty").mkdir()
    done = anamnesis("import", source, str(user / "empty"), "--yes")
    assert done.code == 1 and f"No memory of {source} was found at {user / 'empty'}." in done.err
    assert "[Errno" not in done.err


def test_a_pipe_gets_no_progress_and_a_terminal_a_hint_about_the_review(anamnesis: Command, user: Path) -> None:
    assert "`anamnesis review` lists the notes that wait for you." in anamnesis.on_terminal("import", "rules")
    assert anamnesis("import", "rules").err == ""
