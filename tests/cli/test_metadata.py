"""tag, untag, move, pin and unpin: a note's metadata without an editor."""

from __future__ import annotations

import pytest
from tests.cli.command import Command
from tests.cli.test_terminal import plain


@pytest.fixture
def note(anamnesis: Command) -> str:
    return anamnesis("write", "Use WAL mode", "Set busy_timeout.", "--tag", "sqlite").out.strip()


def tags(anamnesis: Command, note: str) -> list[str]:
    found: list[str] = anamnesis("show", note, "--json").json["tags"]
    return found


def test_tags_are_added_once_and_removed_in_any_case(anamnesis: Command, note: str) -> None:
    done = anamnesis("tag", note, "#db", "SQLite", "db")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"Changed: {note} (Use WAL mode): semantic · global · portable #sqlite #db\n"
    assert tags(anamnesis, note) == ["sqlite", "db"]
    assert anamnesis("tag", note, "db").out.startswith(f"Unchanged: {note} ")
    assert anamnesis("untag", note, "DB", "#other").out.startswith(f"Changed: {note} ")
    assert tags(anamnesis, note) == ["sqlite"]
    assert anamnesis("untag", note, "other").out.startswith(f"Unchanged: {note} ")


def test_a_note_is_moved_to_another_project_type_and_scope(anamnesis: Command, note: str) -> None:
    done = anamnesis("move", note, "-p", "github.com/a/web", "-t", "procedural", "--scope", "machine-local")
    assert done.out == f"Changed: {note} (Use WAL mode): procedural · github.com/a/web · machine-local #sqlite\n"
    assert (anamnesis.home / f"local/procedural/{note}.md").is_file()
    assert not (anamnesis.home / f"memory/semantic/{note}.md").exists()
    (moved,) = anamnesis("list", "-p", "github.com/a/web", "--json").json
    assert (moved["type"], moved["scope"]) == ("procedural", "machine-local")
    assert anamnesis("show", note, "--json").json["body"] == "Set busy_timeout."


def test_a_guessed_note_is_not_made_portable_without_confirmation(anamnesis: Command, note: str) -> None:
    anamnesis("move", "WAL", "--scope", "machine-local")
    refused = anamnesis("move", "WAL", "--scope", "portable")
    assert (refused.code, refused.out) == (1, "")
    assert "there is no terminal to confirm it on" in refused.err
    assert anamnesis("show", note, "--json").json["scope"] == "machine-local"
    assert anamnesis("move", "WAL", "--scope", "portable", "--yes").code == 0
    assert anamnesis("show", note, "--json").json["scope"] == "portable"


def test_a_pinned_note_has_the_tag_and_a_mark(anamnesis: Command, note: str) -> None:
    other = anamnesis("write", "Another", "body").out.strip()
    assert [each["id"] for each in anamnesis("pin", "WAL", other, "--json").json] == [note, other]
    assert tags(anamnesis, note) == ["sqlite", "pinned"]
    assert "★ Use WAL mode" in plain(anamnesis.on_terminal("list"))
    assert len(anamnesis("list", "--tag", "pinned", "--json").json) == 2
    anamnesis("unpin", note, other)
    assert tags(anamnesis, note) == ["sqlite"]
    assert "★" not in plain(anamnesis.on_terminal("list"))


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["tag", "ID"], 2, "Missing argument"),
        (["tag", "ID", " # "], 1, "A tag is empty"),
        (["tag", "nothing", "x"], 1, "No note has the id nothing"),
        (["move", "ID"], 2, "Give --project, --type, --scope or --space"),
        (["move", "ID", "-p", "a\nb"], 1, "cannot be the key of a project"),
        (["move", "ID", "-t", "opinion"], 2, "'opinion' is not one of"),
        (["pin"], 2, "Missing argument"),
        (["pin", "ID", "nothing"], 1, "No note has the id nothing"),
    ],
)
def test_bad_input_is_one_message_and_changes_nothing(
    anamnesis: Command, note: str, arguments: list[str], code: int, says: str
) -> None:
    before = anamnesis("show", note).out
    done = anamnesis(*(note if each == "ID" else each for each in arguments))
    assert (done.code, done.out) == (code, "")
    assert says in done.err
    assert anamnesis("show", note).out == before


def test_a_secret_in_a_tag_is_redacted_and_named(anamnesis: Command, note: str) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    done = anamnesis("tag", note, token)
    assert done.err == "Redacted before it was stored: github-token.\n"
    assert token not in anamnesis("show", note).out
