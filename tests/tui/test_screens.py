"""The contents and the keys of the screens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.tui.screens import Driver, drive

from anamnesis.notes import Memory
from anamnesis.notes.foreign import as_foreign
from anamnesis.notes.merge import set_aside
from anamnesis.store import MemoryStore
from anamnesis.tui.help import Help
from anamnesis.tui.rows import Rows
from anamnesis.tui.sections import SECTIONS

# The key of each section.
SECTION = {name: str(number) for number, name in enumerate(SECTIONS, 1)}
HOSTILE = "\x1b]0;gone\x07\x1b[31mred\u202e [bold]markup[/] [@click=app.quit]x[/]"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with MemoryStore(tmp_path) as store:
        note = store.write(
            type="semantic", title="Use WAL mode", body="Set busy_timeout.\n", project="acme/web", tags=["sqlite"]
        )
        store.update(note.id, body="Set busy_timeout to 5000.\n")
        store.write(type="procedural", title="Deploy on Mondays", body="Never on a Friday.\n", project="acme/api")
    return tmp_path


def test_a_search_finds_while_it_is_typed_and_a_word_need_not_be_finished(home: Path) -> None:
    async def play(screen: Driver) -> None:
        await screen.until(lambda: len(screen.rows) == 2)
        await screen.press("slash", *"friday")
        await screen.until(lambda: len(screen.rows) == 1)
        assert "Deploy on Mondays" in screen.rows[0]
        assert "Never on a Friday." in screen.pane
        await screen.press(*["backspace"] * 6, *"busy_tim")
        await screen.until(lambda: len(screen.rows) == 1 and "Use WAL mode" in screen.rows[0])

    drive(home, play)


def test_every_list_and_note_says_whose_it_is(home: Path) -> None:
    with MemoryStore(home) as store:
        note = store.write(type="semantic", title="Advice", body="Use tabs.", project="acme/web")
        store.put(as_foreign(note, "alice"))

    async def play(screen: Driver) -> None:
        await screen.until(lambda: len(screen.rows) == 3)
        assert ["alice" in row for row in screen.rows] == ["Advice" in row for row in screen.rows]
        await screen.press("slash", *"tabs")
        await screen.until(lambda: len(screen.rows) == 1 and "imported from alice, unreviewed" in screen.rows[0])
        assert "foreign: imported from alice, not reviewed by the user" in screen.pane
        await screen.press("enter", "enter")
        await screen.shows("opened 1×", "foreign: imported from alice")
        await screen.press("t")
        await screen.until(lambda: any("imported from alice, unreviewed: Advice" in row for row in screen.rows))
        await screen.press("escape", "escape", SECTION["timeline"])
        await screen.until(lambda: any("imported from alice, unreviewed: Advice" in row for row in screen.rows))
        await screen.press(SECTION["review"])
        await screen.until(lambda: "foreign: imported from alice" in screen.pane)

    drive(home, play)


def test_engrams_keys_move_open_and_go_back(home: Path) -> None:
    async def play(screen: Driver) -> None:
        await screen.until(lambda: len(screen.rows) == 2)
        await screen.press("j")
        await screen.shows("Set busy_timeout to 5000.")
        await screen.press("k", "enter")
        await screen.shows("Deploy on Mondays", "opened 1×")
        await screen.press("t")
        await screen.shows("changes before and after")
        assert screen.rows[0].startswith("▶")
        await screen.press("escape", "escape")
        await screen.until(lambda: len(screen.rows) == 2)
        await screen.press("slash")
        assert screen.app.screen.focused and screen.app.screen.focused.id == "query"

    drive(home, play)


def test_a_list_is_read_in_pages(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        blank = Memory("", "semantic", "", "body", "global", "thinkpad")
        moments = [f"2026-01-01T00:{number // 60:02}:{number % 60:02}+00:00" for number in range(130)]
        store.put_all(
            replace(blank, id=f"01J9Z8YPM7Q3X2V4WT6B5N{n:04}", title=f"Note {n}", created_at=at, updated_at=at)
            for n, at in enumerate(moments)
        )

    async def play(screen: Driver) -> None:
        await screen.until(lambda: len(screen.rows) == 50)
        await screen.press("G")
        await screen.until(lambda: len(screen.rows) == 100)
        await screen.press("G")
        await screen.until(lambda: len(screen.rows) == 130)
        assert screen.rows[-1].endswith("Note 0")

    drive(tmp_path, play)


def test_facets_count_and_select(home: Path) -> None:
    async def play(screen: Driver) -> None:
        await screen.press("f")
        await screen.shows("project", "sqlite", "procedural")
        await screen.press("enter")
        await screen.until(lambda: len(screen.rows) == 1)
        await screen.shows("only project acme/")
        await screen.press("escape", "escape", "escape")
        await screen.until(lambda: len(screen.rows) == 2)

    drive(home, play)


def test_a_revision_is_compared_and_restored(home: Path) -> None:
    async def play(screen: Driver) -> None:
        await screen.until(lambda: len(screen.rows) == 2)
        await screen.press("j", "h")
        await screen.shows("2 revisions", "+Set busy_timeout to 5000.", "-Set busy_timeout.")
        await screen.press("s")
        await screen.shows("revision 1", "revision 2")
        await screen.press("j", "r", "y")
        await screen.shows("Restored.", "3 revisions")

    drive(home, play)
    with MemoryStore(home) as store:
        assert {note.body for note in store.list()} == {"Set busy_timeout.\n", "Never on a Friday.\n"}


def test_a_note_is_pinned_tagged_and_deleted(home: Path) -> None:
    async def play(screen: Driver) -> None:
        await screen.until(lambda: len(screen.rows) == 2)
        await screen.press("enter")
        await screen.shows("Never on a Friday.")
        await screen.press("p")
        await screen.shows("#pinned")
        await screen.press("number_sign", *" ops", "enter")
        await screen.shows("#pinned #ops")
        await screen.press("d", "y")
        await screen.until(lambda: len(screen.rows) == 1)

    drive(home, play)
    with MemoryStore(home) as store:
        assert [note.title for note in store.list()] == ["Use WAL mode"]
        assert len(store.trashed()) == 1


def test_a_conflict_is_shown_side_by_side_and_resolved(home: Path) -> None:
    with MemoryStore(home) as store:
        note = store.list()[1]
        other = replace(note, id="01J9Z8YPM7Q3X2V4WT6B5N0001", body="Set it to 9000.\n", tags=["conflict"])
        store.put(replace(other, extra={"updated_at": f"conflict_of: {note.id}\n"}))

    async def play(screen: Driver) -> None:
        await screen.press("4")
        await screen.shows("1 conflict", "this · ", "Set busy_timeout to", "Set it to 9000.")
        await screen.press("greater_than_sign")
        await screen.shows("Nothing waits for you.")

    drive(home, play)
    with MemoryStore(home) as store:
        assert store.get(note.id).body == "Set it to 9000.\n"


def test_a_conflict_and_a_history_say_whose_the_texts_are(home: Path) -> None:
    with MemoryStore(home) as store:
        note = store.put(as_foreign(store.list()[1], "alice"))
        store.put(set_aside(replace(note, body="Set it to 9000.\n")))

    async def play(screen: Driver) -> None:
        await screen.press(SECTION["review"])
        await screen.shows("1 conflict", "imported from alice, unreviewed")
        await screen.press(SECTION["notes"], "slash", *"5000")
        await screen.until(lambda: len(screen.rows) == 1)
        await screen.press("enter", "enter", "h")
        await screen.shows("foreign: imported from alice, not reviewed by the user")

    drive(home, play)


def test_a_setting_is_changed_and_a_wrong_value_is_refused(home: Path) -> None:
    async def play(screen: Driver) -> None:
        await screen.press("8")
        await screen.until(lambda: len(screen.rows) > 10)
        await screen.press("j", "j", "j", "j", "enter")
        await screen.shows("How many earlier versions")
        await screen.press(*"many", "enter")
        await screen.shows("is not a whole number")
        await screen.press("enter", *"7", "enter")
        await screen.shows("versions is saved.")

    drive(home, play)
    assert '"versions": "7"' in (home / "config.json").read_text()


def test_every_section_opens_at_every_size_and_a_click_chooses_one(home: Path) -> None:
    async def play(screen: Driver) -> None:
        for number, shown in enumerate(
            (
                "2 notes",
                "note",
                "No sessions yet",
                "Nothing waits",
                "at the start",
                "Machines",
                "no dream yet",
                "inject_budget",
            ),
            1,
        ):
            await screen.press(str(number))
            await screen.shows(shown)
        await screen.click("#heading", (3, 0))
        await screen.until(lambda: screen.app.current_mode == "notes")
        await screen.press("T", "question_mark")
        await screen.shows("Everywhere", "On this screen")
        await screen.press("escape")
        assert not isinstance(screen.app.screen, Help)

    drive(home, play, (80, 24))
    drive(home, play, (160, 50))


def test_no_text_of_a_note_is_markup_or_commands_the_terminal(tmp_path: Path) -> None:
    with MemoryStore(tmp_path) as store:
        store.write(type="semantic", title=HOSTILE, body=HOSTILE, tags=[HOSTILE], project="global")

    async def play(screen: Driver) -> None:
        await screen.shows("]0;gone[31mred [bold]markup[/]", "[@click=app.quit]x[/]")
        for keys in (["f"], ["enter"], ["t"], ["h"], ["2"], ["3"], ["5"]):
            await screen.press(*keys)
            await screen.until(lambda: True)
            assert not set(screen.text) & {"\x1b", "\x07", "\u202e"}
            await screen.press("escape")

    drive(tmp_path, play)


def test_a_note_of_another_program_is_shown_and_the_cursor_stays(home: Path) -> None:
    async def play(screen: Driver) -> None:
        await screen.until(lambda: len(screen.rows) == 2)
        await screen.press("2")
        await screen.until(lambda: len(screen.rows) == 2)
        await screen.press("1", "j")
        await screen.shows("Set busy_timeout to 5000.")
        await screen.until(lambda: screen.app._last is not None)
        with MemoryStore(home) as store:
            store.write(type="semantic", title="Written meanwhile", body="By an agent.\n", project="acme/web")
        await screen.until(lambda: len(screen.rows) == 3)
        await screen.shows("Set busy_timeout to 5000.", "3 notes")
        await screen.press("2")
        await screen.shows("Written meanwhile")

    drive(home, play)


def test_the_cursor_moves_to_the_next_waiting_note(home: Path) -> None:
    with MemoryStore(home) as store:
        for name in "cba":
            store.write(type="semantic", title=f"Foreign {name}", body="B\n", project="global", prov_source="import")

    async def play(screen: Driver) -> None:
        await screen.press("4")
        await screen.until(lambda: len(screen.rows) == 4)
        await screen.press("j", "a")
        await screen.until(lambda: len(screen.rows) == 3)
        assert screen.app.screen.query_one(Rows).highlighted == 2
        await screen.press("a")
        await screen.until(lambda: len(screen.rows) == 2)
        assert screen.app.screen.query_one(Rows).highlighted == 1

    drive(home, play)


def test_the_help_is_named_where_not_all_keys_have_room(home: Path) -> None:
    async def play(screen: Driver) -> None:
        await screen.until(lambda: len(screen.rows) == 2)
        await screen.press("enter")
        await screen.shows("Never on a Friday.", "? Help q Quit")

    drive(home, play, (60, 24))
