"""Writing, finding, showing, editing and deleting notes from a shell."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from tests.cli.command import Command

from anamnesis.notes import parse

SHOWN = [
    "id",
    "type",
    "title",
    "project",
    "machine_id",
    "scope",
    "tags",
    "created_at",
    "updated_at",
    "prov_source",
    "prov_model",
    "prov_session",
    "confidence",
    "supersedes",
]


def editor(folder: Path, script: str) -> str:
    """An editor that does to its file what a Python script says."""
    program = folder / "editor.py"
    program.write_text(f"import sys, pathlib\nfile = pathlib.Path(sys.argv[1])\n{script}\n")
    import sys

    return f"{sys.executable} {program}"


def test_a_note_is_written_from_arguments_and_found_by_its_words(anamnesis: Command) -> None:
    written = anamnesis("write", "Use WAL mode", "Set busy_timeout on every connection.", "--tag", "sqlite")
    assert (written.code, written.err) == (0, "")
    note_id = written.out.strip()

    found = anamnesis("search", "which timeout for a connection?")
    columns = found.out.rstrip("\n").split("\t")
    assert columns[0] == note_id
    assert columns[2:] == ["semantic", "global", "Use WAL mode"]

    assert anamnesis("show", note_id).out == (anamnesis.home / f"memory/semantic/{note_id}.md").read_text()


def test_json_of_each_command_has_the_documented_shape(anamnesis: Command) -> None:
    note = anamnesis("write", "T", "B", "-t", "procedural", "-p", "demo", "--json").json
    assert list(note) == [*SHOWN, "body"]
    assert note["machine_id"] == "thinkpad"
    (hit,) = anamnesis("search", "b", "--json").json
    assert list(hit) == [*SHOWN, "body", "score", "fit", "weak"]
    assert [list(each) for each in anamnesis("list", "--json").json] == [SHOWN]
    shown = anamnesis("show", note["id"], "--json").json
    use = shown.pop("use")
    (event,) = use.pop("history")
    assert (list(event), event["kind"]) == (["at", "kind", "session"], "found")
    assert use == {
        "uses": 1, "sessions": 1, "found": 1, "last_use": event["at"],
        "strength": 1.0, "stability": 1.0, "staleness": 0.0,
    }  # fmt: skip
    assert shown == note
    status = anamnesis("status", "--json").json
    assert status["by_type"] == {"procedural": 1}
    assert status["by_project"] == {"demo": 1}
    assert status["total"] == 1
    assert anamnesis("reindex", "--json").json == {"indexed": 1, "embedded": 1, "unreadable_files": 0}
    assert anamnesis("doctor", "--json").json == {"fixed": [], "faults": []}
    assert [each["id"] for each in anamnesis("delete", note["id"], "--json").json] == [note["id"]]
    (trashed,) = anamnesis("restore", "--json").json
    assert list(trashed) == ["id", "title", "scope", "path", "deleted_at"]
    assert anamnesis("restore", note["id"], "--json").json == note
    assert list(anamnesis("completion", "bash", "--json").json) == ["shell", "script"]


def test_the_body_is_read_from_a_pipe(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Title", stdin="line 1\nline 2\n").out.strip()
    assert anamnesis("show", note_id, "--json").json["body"] == "line 1\nline 2"


def test_without_a_title_the_first_line_of_the_pipe_is_it(anamnesis: Command) -> None:
    note_id = anamnesis("write", stdin="# A heading\n\nThe rest é\n").out.strip()
    note = anamnesis("show", note_id, "--json").json
    assert (note["title"], note["body"]) == ("A heading", "The rest é")


def test_a_note_is_written_in_the_editor(anamnesis: Command) -> None:
    edit = editor(anamnesis.folder, "file.write_text(file.read_text() + 'From the editor\\n\\nbody\\n')")
    shown = anamnesis.on_terminal("write", VISUAL=edit)
    assert "Written: " in shown
    (note,) = anamnesis("list", "--json").json
    assert note["title"] == "From the editor"


def test_an_editor_left_without_a_text_writes_nothing(anamnesis: Command) -> None:
    shown = anamnesis.on_terminal("write", VISUAL=editor(anamnesis.folder, "pass"))
    assert "Nothing was written" in shown
    assert anamnesis("list").out == ""


def test_an_edit_changes_the_note_and_its_time_and_keeps_foreign_lines(anamnesis: Command) -> None:
    folder = anamnesis.home / "memory/semantic"
    folder.mkdir(parents=True)
    file = folder / "n1.md"
    file.write_text("---\nid: n1\ntype: semantic\ntitle: Old\naliases: [a]\n---\nbody\n")
    edit = editor(anamnesis.folder, "file.write_text(file.read_text().replace('Old', 'New'))")
    assert anamnesis("edit", "n1", VISUAL=edit).out == "Saved: n1\n"
    note = parse(file.read_text())
    assert note.title == "New"
    assert note.updated_at
    assert "\ntitle: New\naliases: [a]\n" in file.read_text()


def test_a_foreign_line_removed_in_the_editor_stays_removed(anamnesis: Command) -> None:
    folder = anamnesis.home / "memory/semantic"
    folder.mkdir(parents=True)
    (folder / "n1.md").write_text("---\nid: n1\ntype: semantic\ntitle: T\naliases: [a]\n---\nbody\n")
    edit = editor(anamnesis.folder, "file.write_text(file.read_text().replace('aliases: [a]\\n', ''))")
    assert anamnesis("edit", "n1", VISUAL=edit).out == "Saved: n1\n"
    assert "aliases" not in (folder / "n1.md").read_text()


def test_an_edit_completes_the_id_of_a_superseded_note_and_refuses_one_of_no_note(anamnesis: Command) -> None:
    old, other = (anamnesis("write", title, "body").out.strip() for title in ("Old", "Other"))
    new = anamnesis("write", "New", "body").out.strip()
    superseding = "file.write_text(file.read_text().replace('created_at', 'supersedes: {}\\ncreated_at'))"
    done = anamnesis("edit", new, VISUAL=editor(anamnesis.folder, superseding.format(old[-8:].lower())))
    assert (done.code, anamnesis("show", new, "--json").json["supersedes"]) == (0, old)
    refused = anamnesis("edit", other, VISUAL=editor(anamnesis.folder, superseding.format("01NOTHING")))
    assert refused.code == 1
    assert "supersedes '01NOTHING' names no note." in refused.err
    assert anamnesis("show", other, "--json").json["supersedes"] == ""
    anamnesis("delete", old)
    again = anamnesis("edit", new, VISUAL=editor(anamnesis.folder, "file.write_text(file.read_text() + 'more')"))
    assert again.code == 0  # a note that it superseded before may be gone


@pytest.mark.parametrize("program", ['"unclosed', "/no/such/editor", "false"])
def test_an_editor_that_cannot_be_used_is_named(anamnesis: Command, program: str) -> None:
    note_id = anamnesis("write", "Title", "body").out.strip()
    done = anamnesis("edit", note_id, VISUAL=program)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"anamnesis: The editor {program} ")
    assert done.err.endswith("Name another in VISUAL or EDITOR.\n")


def test_without_an_editor_and_a_terminal_nobody_waits_for_one(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Title", "body").out.strip()
    done = anamnesis("edit", note_id)
    assert (done.code, done.out) == (1, "")
    assert done.err == "anamnesis: No editor is set. Name one in VISUAL or EDITOR.\n"


def test_an_edit_that_is_not_a_note_is_refused_and_its_text_saved(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Title", "body").out.strip()
    before = anamnesis("show", note_id).out
    done = anamnesis("edit", note_id, VISUAL=editor(anamnesis.folder, "file.write_text('typed for an hour')"))
    assert done.code == 1
    assert done.err.startswith("anamnesis: memory file missing YAML front-matter. ")
    kept = Path(done.err.rsplit(" ", 1)[1].strip().rstrip("."))
    assert kept.read_text() == "typed for an hour"
    kept.unlink()
    assert anamnesis("show", note_id).out == before


def test_an_edit_of_a_note_that_has_changed_since_loses_neither_version(anamnesis: Command) -> None:
    """Both versions of the same line are edited again, until the user has decided; nothing undecided is saved."""
    note_id = anamnesis("write", "Title", "body").out.strip()
    theirs = anamnesis.home / f"memory/semantic/{note_id}.md"
    script = (
        f"theirs, text = pathlib.Path({str(theirs)!r}), file.read_text()\n"
        "if '<<<<<<<' in text: text = {decided}; text += ' '\n"
        "else:\n"
        "    text = text.replace('body', 'my body')\n"
        "    theirs.write_text(theirs.read_text().replace('body', 'a body'))\n"
        "file.write_text(text)"
    )
    done = anamnesis("edit", note_id, VISUAL=editor(anamnesis.folder, script.format(decided="text")))
    assert done.code == 1
    assert "still has two versions" in done.err
    kept = Path(done.err.rsplit(" ", 1)[1].strip().rstrip("."))
    marked = kept.read_text().partition("<<<<<<< your text\n")[2]
    assert "my body\n=======\na body\n>>>>>>> the note as saved meanwhile" in marked
    kept.unlink()
    assert anamnesis("show", note_id, "--json").json["body"].strip() == "a body"

    decided = "text.partition('<<<<<<<')[0] + 'my body and a body'"
    saved = anamnesis("edit", note_id, VISUAL=editor(anamnesis.folder, script.format(decided=decided)))
    assert saved.out == f"Saved: {note_id}\n"
    assert anamnesis("show", note_id, "--json").json["body"].strip() == "my body and a body"


def test_an_edit_is_merged_with_what_others_saved_meanwhile_and_says_so(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Title", "one\n\ntwo\n\nthree").out.strip()
    theirs = anamnesis.home / f"memory/semantic/{note_id}.md"
    script = (
        f"theirs = pathlib.Path({str(theirs)!r})\n"
        "theirs.write_text(theirs.read_text().replace('one', 'ONE').replace('Title', 'Their title'))\n"
        "file.write_text(file.read_text().replace('three', 'THREE').replace('Title', 'My title'))"
    )
    done = anamnesis("edit", note_id, VISUAL=editor(anamnesis.folder, script))
    assert done.out == (
        f"Saved: {note_id}\nThe note has changed since you opened it: it has your changes and the others."
        " Of its title, it has yours; its history has the others.\n"
    )
    note = anamnesis("show", note_id, "--json").json
    assert (note["title"], note["body"].split()) == ("My title", ["ONE", "two", "THREE"])
    assert "Their title" in anamnesis("history", note_id).out


def test_an_id_cannot_be_edited(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Title", "body").out.strip()
    edit = editor(anamnesis.folder, f"file.write_text(file.read_text().replace({note_id!r}, 'other'))")
    done = anamnesis("edit", note_id, VISUAL=edit)
    assert done.code == 1
    assert "Restore the id: it never changes." in done.err
    assert anamnesis("show", note_id).code == 0


def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        first = store.write(type="semantic", title="first", body="")
        second = store.write(type="semantic", title="second", body="")
    assert anamnesis("show", first.id[:25], "--json").code in (0, 1)
    ambiguous = anamnesis("show", first.id[:8].lower())
    assert ambiguous.code == 1
    assert first.id in ambiguous.err
    assert second.id in ambiguous.err
    anamnesis("delete", second.id)
    assert anamnesis("show", first.id[:8].lower(), "--json").json["title"] == "first"


def test_delete_of_several_is_all_or_none(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Title", "body").out.strip()
    done = anamnesis("delete", note_id, "missing")
    assert (done.code, done.out) == (1, "")
    assert anamnesis("show", note_id).code == 0


def test_a_deleted_note_is_restored_as_it_was(anamnesis: Command) -> None:
    note_id = anamnesis("write", "Title", "body").out.strip()
    before = anamnesis("show", note_id).out
    anamnesis("delete", note_id)
    assert anamnesis("search", "body").out == ""
    listed, time, file, title = anamnesis("restore").out.rstrip().split("\t")
    assert (listed, title) == (note_id, "Title")
    assert datetime.fromisoformat(time).tzinfo
    assert file.startswith("trash/memory/semantic/")
    assert anamnesis("restore", note_id).code == 0
    assert anamnesis("show", note_id).out == before
    again = anamnesis("restore", note_id)
    assert (again.code, again.out) == (1, "")


def test_a_dot_is_the_project_of_this_folder(anamnesis: Command) -> None:
    anamnesis("write", "Here", "body", "-p", ".")
    assert anamnesis("list", "-p", ".", "--json").json[0]["project"] == anamnesis.folder.name.lower()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["show", "../../etc/passwd"], 1, "is not a note id"),
        (["show", "nothing"], 1, "No note has the id nothing."),
        (["show", ""], 1, "is not a note id"),
        (["delete", "-1"], 2, "No such option"),
        (["write", " ", "body"], 1, "The title is empty."),
        (["write", "t", "b", "--supersedes", "../x"], 1, "is not a note id"),
        (["write", "t", "b", "-t", "opinion"], 2, "'opinion' is not one of"),
        (["search", "x", "-k", "-1"], 2, "-1 is not in the range"),
        (["list", "--limit", "many"], 2, "is not a valid integer"),
        (["config", "set", "colour", "red"], 1, "There is no setting 'colour'."),
        (["config", "set", "remote", "ext::sh -c id"], 1, "is not the address of a git repository"),
        (["config", "set", "--", "remote", "--upload-pack=x"], 1, "is not the address of a git repository"),
        (["config", "set", "machine_id", "a b\nc"], 1, "has invalid characters or is too long"),
        (["completion", "tcsh"], 2, "is not one of"),
        (["frobnicate"], 2, "No such command"),
    ],
)
def test_bad_input_is_one_clear_message(anamnesis: Command, arguments: list[str], code: int, says: str) -> None:
    done = anamnesis(*arguments)
    assert done.code == code
    assert done.out == ""
    assert says in done.err
    assert "Traceback" not in done.err


def test_a_home_that_cannot_be_made_is_one_sentence(anamnesis: Command) -> None:
    (anamnesis.folder / "file").write_text("")
    for arguments, says in ((["write", "a", "b"], "Cannot create"), (["status"], "Cannot read")):
        done = anamnesis(*arguments, ANAMNESIS_HOME=str(anamnesis.folder / "file" / "home"))
        assert done.code == 1
        assert done.err.count("\n") == 1
        assert says in done.err


TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_write_with_a_secret_prints_its_kind_in_one_line(anamnesis: Command) -> None:
    done = anamnesis("write", "title", f"the token {TOKEN}", "--tag", "plain", "--json")
    assert done.err == "Redacted before it was stored: github-token.\n"
    assert done.json["body"] == "the token [REDACTED:github-token]"
    edit = editor(anamnesis.folder, f"file.write_text(file.read_text().replace('the token', 'now {TOKEN}'))")
    edited = anamnesis("edit", done.json["id"], VISUAL=edit)
    assert edited.err == "Redacted before it was stored: github-token.\n"
    assert anamnesis("write", "title", "an ordinary text").err == ""
