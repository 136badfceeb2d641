"""What one field reveals as a secret is in no other field of the note, whatever door it came through."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.capture.test_episodic import SESSION, captured
from tests.cli.command import Command
from tests.engram_cli.program import Program
from tests.web.daemon import Daemon, running

from anamnesis.capture import Statement
from anamnesis.editing import save_text
from anamnesis.importers.foreign_record import Record
from anamnesis.importers.machine import Machine
from anamnesis.importers.pipeline import Importer, run_import
from anamnesis.notes import render
from anamnesis.notes.redaction import redact, redact_all
from anamnesis.store import MemoryStore

VALUE = "Kestrel7Harbor"
BODY = f"export DB_PASSWORD={VALUE}\n"


def written(home: Path) -> str:
    return "".join(path.read_bytes().decode("utf-8", "replace") for path in home.rglob("*") if path.is_file()).lower()


def test_a_value_that_the_body_reveals_is_in_no_field_of_the_file(store: MemoryStore) -> None:
    note = store.write(
        type="semantic", title=f"Log in with {VALUE}", body=BODY, tags=[VALUE.lower(), "db"], project=f"p/{VALUE}",
        prov_session=VALUE, prov_model=f"m {VALUE}", extra={"tags": f"seen: {VALUE}\n"},
    )  # fmt: skip
    assert (note.title, note.tags[1]) == ("Log in with [REDACTED:password]", "db")
    assert VALUE.lower() not in written(store.root)


def test_a_changed_field_takes_the_value_out_of_the_others(store: MemoryStore) -> None:
    note = store.write(type="semantic", title=f"Log in with {VALUE}", body="As always.", tags=[VALUE])
    assert VALUE in note.title
    assert store.update(note.id, body=BODY).title == "Log in with [REDACTED:password]"
    assert VALUE not in render(store.get(note.id))
    assert VALUE not in store.update(note.id, title=f"PASSWORD={VALUE}!", tags=["db", VALUE]).tags


def test_an_edited_text_is_cleaned_as_a_whole(store: MemoryStore) -> None:
    note = store.write(type="semantic", title="Log in", body="As always.")
    after = save_text(store, note, render(replace(note, title=f"Log in with {VALUE}", body=BODY))).note
    assert VALUE not in render(after)


@pytest.mark.parametrize("end", [*"!?*.", "!!", ").", "#"])
def test_no_character_of_a_password_stays_at_its_end(end: str) -> None:
    assert redact(f"DB_PASSWORD=Tr0ub4dor{end}\nNext.") == "DB_PASSWORD=[REDACTED:password]\nNext."
    assert redact(f"password: Tr0ub4dor{end}") == "password: [REDACTED:password]"


def test_the_marks_of_the_sentence_around_a_password_stay() -> None:
    assert redact("The password is hunter2.") == "The password is [REDACTED:password]."
    assert redact("**password: hunter2x**") == "**password: [REDACTED:password]**"
    assert redact("login(password=hunter2x)") == "login(password=[REDACTED:password])"
    assert redact("(as in DB_PASSWORD=hunter2x).") == "(as in DB_PASSWORD=[REDACTED:password])."


def test_a_word_that_is_a_password_somewhere_is_left_in_prose() -> None:
    """Only a value that no text holds by chance is removed from texts that do not name it."""
    for word in ("summer", "test", "Development", "admin1", "PostgreSQL", "postgres"):
        title = f"The {word} of the release"
        shown = redact_all([title, f'PASSWORD="{word}"'])[0]
        assert (shown == title) is (word != "admin1"), word
    assert redact_all(["Kestrel7Harbors and xKestrel7Harbor", BODY])[0] == "Kestrel7Harbors and xKestrel7Harbor"
    assert redact_all(["kestrel7harbor, KESTREL7HARBOR", BODY])[0] == "[REDACTED:password], [REDACTED:password]"
    assert redact_all(["Sommerregen! Ein Sommerregen", 'PASSWORD="Sommerregen!"'])[0] == (
        "[REDACTED:password] Ein Sommerregen"
    )


def test_a_sessions_note_is_cleaned_of_what_any_of_its_messages_reveals(store: MemoryStore) -> None:
    note = captured(
        store,
        replace(
            SESSION,
            first_prompt=f"why does {VALUE} fail?",
            prompts=[f"why does {VALUE} fail?", "and now?"],
            last_outcome=f"It works with {VALUE} now.",
            answers=[f"I have set DB_PASSWORD={VALUE} in the environment."],
            statements=[Statement("cause", f"The cause was that {VALUE} had expired.")],
            files_touched=[f"secrets/{VALUE}"],
            git_branch=f"try-{VALUE}",
        ),
    )
    assert VALUE not in render(note)
    assert VALUE.lower() not in written(store.root)


def test_an_import_is_cleaned_as_a_whole(store: MemoryStore, tmp_path: Path) -> None:
    record = Record(
        "one", f"Log in with {VALUE}", "The login.", tags=(VALUE,), fields={"env": {"DB_PASSWORD": VALUE}, "by": VALUE}
    )
    other = Record("two", "The other", BODY, tags=(VALUE,), fields={"by": VALUE})
    importer = Importer("elsewhere", "", lambda _: [], lambda _, __: iter([record, other]))
    run_import(store, importer, tmp_path, Machine("here", tmp_path, tmp_path, tmp_path, tmp_path))
    assert store.count() == 2
    assert [VALUE in render(note) for note in store.list()] == [False, False]


def test_engrams_tools_clean_a_call_as_a_whole(tmp_path: Path) -> None:
    program = Program(tmp_path)
    with program.mcp() as tools:
        tools.call("mem_save", {"title": f"Log in with {VALUE}", "content": BODY, "topic_key": f"db/{VALUE}"})
        tools.call("mem_save", {"title": f"Uses {VALUE}", "content": "As always."})
        tools.call("mem_update", {"id": 2, "content": BODY})
        shown = [tools.call("mem_get_observation", {"id": id})["result"]["content"][0]["text"] for id in (1, 2)]
    assert all(VALUE.lower() not in text.lower() and "[REDACTED:password]" in text for text in shown)


def test_a_request_is_cleaned_as_a_whole(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        _clean_requests(daemon)


def _clean_requests(daemon: Daemon) -> None:
    daemon.ask("POST", "/sessions", json.dumps({"id": "s", "project": "p"}))
    saved = {"session_id": "s", "title": f"Log in with {VALUE}", "content": BODY, "tool_name": VALUE, "type": "config"}
    reply = daemon.ask("POST", "/observations", json.dumps(saved))
    assert reply.headers.get("x-anamnesis-redacted") == "password"
    other = {"session_id": "s", "title": f"Uses {VALUE}", "content": "As always."}
    daemon.ask("POST", "/observations", json.dumps(other))
    daemon.ask("PATCH", "/observations/2", json.dumps({"content": BODY}))
    for id in (1, 2):
        shown = daemon.ask("GET", f"/observations/{id}").text
        assert VALUE not in shown
        assert "[REDACTED:password]" in shown


def test_the_command_line_cleans_a_note_as_a_whole(tmp_path: Path) -> None:
    anamnesis = Command(tmp_path)
    done = anamnesis("write", f"Log in with {VALUE}", BODY, "--tag", VALUE)
    assert "Redacted before it was stored: password" in done.err
    assert VALUE not in anamnesis("list", "--json").out
