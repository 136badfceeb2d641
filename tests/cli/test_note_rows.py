"""Lists and searches on a terminal: a line per note at any width, a pager, filters, and the number of further notes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from rich.cells import cell_len
from tests.cli.command import Command
from tests.cli.test_terminal import plain

from anamnesis.notes import Memory

WIDTHS = [120, 80, 60, 40, 24]
TITLES = [
    "Short",
    "A title that is much longer than any terminal would show in a single line " * 3,
    "漢字の題名 " * 30,
    "a\nb\tc",
]


def ago(**parts: float) -> str:
    return (datetime.now(UTC) - timedelta(**parts)).isoformat(timespec="seconds")


@pytest.fixture
def shelf(anamnesis: Command) -> Command:
    with anamnesis.store() as store:
        store.put_all(
            Memory(
                f"01J9Z8YPM7Q3X2V4WT6B5N0K{number:02}",
                "semantic",
                title,
                "lamp",
                project="github.com/a-rather-long-owner/and-a-rather-long-name" if number else "global",
                updated_at=ago(days=number, hours=1),
                created_at=ago(days=9 - number),
            )
            for number, title in enumerate(TITLES)
        )
    return anamnesis


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("arguments", [["list"], ["search", "lamp", "--sort", "updated"]])
def test_each_note_is_one_line_at_any_width(shelf: Command, arguments: list[str], width: int) -> None:
    shown = plain(shelf.on_terminal(*arguments, COLUMNS=str(width)))
    rows = [line for line in shown.splitlines() if re.match(r"\d [0-9A-Z]{8} ", line)]
    assert [re.findall("N0K(..)", row)[0] for row in rows] == ["00", "01", "02", "03"]
    assert all(cell_len(row) <= width for row in rows)
    assert all(row.endswith("…") for row in rows[1:3])


def test_a_row_has_a_short_id_an_age_the_last_part_of_the_project_and_the_title(shelf: Command) -> None:
    rows = plain(shelf.on_terminal("list", COLUMNS="80")).splitlines()
    assert rows[0] == "1 6B5N0K00    1h global           Short"
    assert rows[3] == "4 6B5N0K03    3d and-a-rather-lo… a b c"
    assert rows[4] == "4 notes"


def test_a_list_that_is_cut_says_how_many_there_are_and_the_next_offset(shelf: Command) -> None:
    assert (
        plain(shelf.on_terminal("list", "--limit", "2")).splitlines()[-1] == "1 to 2 of 4 notes; the next: --offset 2"
    )
    rest = plain(shelf.on_terminal("list", "--limit", "2", "--offset", "2")).splitlines()
    assert rest[-1] == "3 to 4 of 4 notes"
    for arguments in (["--limit", "2"], ["--limit", "2", "--json"]):
        done = shelf("list", *arguments)
        assert done.err == "1 to 2 of 4 notes; the next: --offset 2\n"
        assert "offset" not in done.out
    assert shelf("list", "--limit", "2", "--offset", "2").err == ""
    assert plain(shelf.on_terminal("list", "--offset", "9")).strip() == "None of 4 notes"


PAGER = "sed s/^/paged:/"


@pytest.mark.parametrize("arguments", [["list"], ["list", "--long"], ["search", "lamp"], ["search", "lamp", "--long"]])
def test_a_result_longer_than_the_screen_goes_through_the_pager(shelf: Command, arguments: list[str]) -> None:
    shown = plain(shelf.on_terminal(*arguments, PAGER=PAGER, LINES="4"))
    assert all(line.startswith("paged:") for line in shown.splitlines())
    assert "Short" in shown


def test_no_pager_is_started_where_none_is_needed_or_wanted(shelf: Command) -> None:
    assert "paged:" not in shelf.on_terminal("list", PAGER=PAGER, LINES="40")
    for variables in ({"PAGER": PAGER, "NO_PAGER": "1"}, {"PAGER": "cat"}, {"PAGER": "/no/such/pager"}):
        shown = plain(shelf.on_terminal("list", LINES="3", **variables))
        assert "paged:" not in shown
        assert "4 notes" in shown
    assert "paged:" not in shelf("list", PAGER=PAGER, LINES="3").out


def titles(shelf: Command, *arguments: str) -> list[str]:
    return [note["title"] for note in shelf(*arguments, "--json").json]


@pytest.mark.parametrize("base", [["list"], ["search", "lamp"]])
def test_lists_and_searches_take_the_same_filters(anamnesis: Command, base: list[str]) -> None:
    notes = [
        Memory("n1", "semantic", "Old", "lamp", tags=["red"], prov_source="import", updated_at=ago(days=30)),
        Memory("n2", "semantic", "New", "lamp", tags=["red", "big"], updated_at=ago(minutes=5)),
    ]
    with anamnesis.store() as store:
        store.put_all(notes)
    for options, expected in (
        (["--tag", "red"], ["New", "Old"]),
        (["--tag", "red", "--tag", "BIG"], ["New"]),
        (["--source", "import"], ["Old"]),
        (["--since", "7d"], ["New"]),
        (["--until", "7d"], ["Old"]),
        (["--since", ago(days=31)[:10], "--until", ago(days=30)[:10]], ["Old"]),
        (["--until", "today"], ["New", "Old"]),
        (["--until", "yesterday"], ["Old"]),
        (["--since", "1h", "--tag", "none"], []),
    ):
        assert titles(anamnesis, *base, *options, "--sort", "updated") == expected, options


@pytest.mark.parametrize("text", ["soon", "7x", "2026-13-01", "999999y", "-1d", "٣d"])
def test_an_invalid_moment_is_a_usage_error(anamnesis: Command, text: str) -> None:
    done = anamnesis("list", f"--since={text}")
    assert (done.code, done.out) == (2, "")
    assert f"{text!r} is not a moment. Give a date (2026-11-16)" in " ".join(done.err.split())


@pytest.mark.parametrize("base", [["list"], ["search", "lamp"]])
def test_the_order_can_be_chosen(shelf: Command, base: list[str]) -> None:
    first = {order: titles(shelf, *base, "--sort", order)[0] for order in ("updated", "created", "title", "project")}
    assert first == {"updated": "Short", "created": TITLES[3], "title": TITLES[3], "project": TITLES[1]}
