"""How people name a note: by a part of its id, by its title, or by its place in the last result."""

from __future__ import annotations

import json
import stat

import pytest
from tests.cli.command import Command
from tests.cli.test_terminal import plain

from anamnesis.notes import Memory

FIRST, SECOND = "01J9Z8YPM7Q3X2V4WT6B5N0KGD", "01J9ZB0C4F8H2K6M3P9R7S5T1W"


@pytest.fixture
def shelf(anamnesis: Command) -> Command:
    with anamnesis.store() as store:
        store.put(Memory(FIRST, "semantic", "Use WAL mode", "lamp", updated_at="2026-01-02"))
        store.put(Memory(SECOND, "semantic", "Use a pool", "lamp", updated_at="2026-01-01"))
    return anamnesis


@pytest.mark.parametrize("given", [FIRST, "01j9z8", "n0kgd", "7Q3X", "use wal mode", "WAL"])
def test_every_command_takes_a_part_of_an_id_or_a_title(shelf: Command, given: str) -> None:
    assert shelf("show", given, "--json").json["id"] == FIRST
    assert shelf("history", given).code == 0
    assert shelf("edit", given, VISUAL="true").out == f"Unchanged: {FIRST}\n"
    assert shelf("delete", given, "--yes", "--json").json[0]["id"] == FIRST
    assert shelf("history", given).code == 0
    assert shelf("restore", given, "--json").json["id"] == FIRST


def test_an_ambiguous_name_is_refused_with_the_ids_and_titles(shelf: Command) -> None:
    done = shelf("show", "use")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"anamnesis: 'use' names several notes: {SECOND} (Use a pool), {FIRST} (Use WAL mode)."
        " Give more characters, or an id.\n"
    )


@pytest.mark.parametrize("given", ["WAL", "use wal mode", "01J9Z8", "n0kgd"])
def test_a_deletion_asks_where_it_guessed(shelf: Command, given: str) -> None:
    shown = plain(shelf.on_terminal("delete", given, typed="n\n"))
    assert f"{FIRST}  Use WAL mode" in shown
    assert "Delete this note? [y/N]" in shown
    assert shelf("show", FIRST).code == 0
    refused = shelf("delete", given)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        f"anamnesis: {FIRST} (Use WAL mode) is a guess, and there is no terminal to confirm it on."
        " Give 8 characters of an id, or add --yes.\n"
    )
    assert shelf("show", FIRST).code == 0
    shelf.on_terminal("delete", given, typed="y\n")
    assert shelf("show", FIRST).code == 1


@pytest.mark.parametrize("given", [FIRST, FIRST.lower(), FIRST[:12], FIRST[-8:].lower()])
def test_an_id_or_as_much_of_it_as_a_list_shows_is_deleted_without_a_question(shelf: Command, given: str) -> None:
    assert shelf("delete", given, "--json").json[0]["id"] == FIRST
    shelf("restore", FIRST)
    assert "Deleted" in shelf.on_terminal("delete", given)
    assert shelf("show", FIRST).code == 1


@pytest.mark.parametrize("arguments", [["list"], ["search", "lamp", "--sort", "updated"]])
def test_a_number_is_a_row_of_the_last_result_on_a_terminal(shelf: Command, arguments: list[str]) -> None:
    shelf.on_terminal(*arguments)
    assert shelf("show", "@1", "--json").json["id"] == FIRST
    assert shelf("show", "@2", "--json").json["id"] == SECOND
    assert shelf("show", "@3").err.startswith("anamnesis: @3 names no note: the last result had 2 notes.")
    assert shelf("delete", "@1").code == 1
    file = shelf.home / "last-result.json"
    assert json.loads(file.read_text()) == [FIRST, SECOND]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_row_number_refers_to_the_last_shown_result(shelf: Command) -> None:
    shelf.on_terminal("list", "--offset", "1")
    assert shelf("show", "@1", "--json").json["id"] == SECOND
    shelf.on_terminal("search", "nothing-like-it")
    assert "the last result had 0 notes" in shelf("show", "@1").err


def test_without_a_result_a_row_is_refused_in_one_sentence(shelf: Command) -> None:
    assert shelf("list").code == 0
    done = shelf("show", "@1")
    assert done.err.startswith("anamnesis: @1 names no note: no result is remembered. `anamnesis list`")
    (shelf.home / "last-result.json").write_text("{")
    assert shelf("show", "@1").err == done.err


def test_a_result_in_a_pipe_and_in_no_home_writes_no_file(anamnesis: Command) -> None:
    anamnesis.on_terminal("list")
    assert not anamnesis.home.exists()
    anamnesis("write", "T", "b")
    anamnesis("list")
    assert not (anamnesis.home / "last-result.json").exists()


def test_on_a_read_only_home_no_result_is_remembered(shelf: Command) -> None:
    (shelf.home / "last-result.json").mkdir()
    shown = plain(shelf.on_terminal("list"))
    assert "2 notes" in shown
    assert "anamnesis:" not in shown
    assert not [path for path in shelf.home.iterdir() if path.name.endswith(".tmp")]
