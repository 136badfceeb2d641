"""The terminal application in a real terminal, as a person starts it."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.command import Command
from tests.cli.test_escapes import HOSTILE, commanding, fill
from tests.tui.terminal import Terminal

from anamnesis.notes import Memory

ENTER, ESCAPE = "\r", "\x1b"
# What Textual writes by itself: colours, the cursor, modes, the shape of the mouse's pointer.
TEXTUALS = re.compile(r"\x1b\[[0-9;]*[mH]|\x1b\[\?[0-9]+[hl]|\x1b\]22;[a-z]+\x07|[\r\n]")


@pytest.fixture
def anamnesis(tmp_path: Path) -> Command:
    command = Command(tmp_path)
    with command.store() as store:
        store.write(type="semantic", title="Use WAL mode", body="Set busy_timeout on every connection.")
        store.write(type="semantic", title="Deploy on Mondays", body="Never on a Friday.")
    return command


def test_a_note_is_searched_for_edited_and_saved(anamnesis: Command) -> None:
    """The terminal is restored. Keys that are typed before Textual has started are not lost."""
    editor = anamnesis.folder / "editor.py"
    editor.write_text("import sys\np = sys.argv[1]\nt = open(p).read()\nopen(p, 'w').write(t + 'Since 2019.\\n')\n")
    with Terminal(anamnesis, EDITOR=f"{sys.executable} {editor}") as terminal:
        terminal.wait_for("Settings")
        terminal.type("/busy_timeout")
        terminal.wait_for("Set ")
        terminal.type(ENTER + "e")
        terminal.wait_for("Saved.")
        terminal.type("q")
        code, _ = terminal.finish()
        assert code == 0
        assert b"\x1b[?1049l" in terminal.shown
    with anamnesis.store() as store:
        assert [note.title for note in store.list() if "Since 2019." in note.body] == ["Use WAL mode"]


def test_an_edit_of_a_line_that_changed_meanwhile_opens_the_editor_with_both_versions(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        (note,) = [each for each in store.list() if each.title == "Use WAL mode"]
    file = anamnesis.home / f"memory/semantic/{note.id}.md"
    editor = anamnesis.folder / "editor.py"
    editor.write_text(
        f"import pathlib, sys\nmine, theirs = pathlib.Path(sys.argv[1]), pathlib.Path({str(file)!r})\n"
        "text = mine.read_text()\n"
        "if '<<<<<<<' not in text: theirs.write_text(text.replace('every', 'each'))\n"
        "head, _, both = text.partition('<<<<<<< your text\\n')\n"
        "mine.write_text(head + both.partition('=======')[0] if both else text.replace('every', 'no'))\n"
    )
    with Terminal(anamnesis, EDITOR=f"{sys.executable} {editor}") as terminal:
        terminal.wait_for("Settings")
        terminal.type("/busy_timeout")
        terminal.wait_for("Set ")
        terminal.type(ENTER + "e")
        terminal.wait_for("Saved.")
        terminal.type("q")
        assert terminal.finish()[0] == 0
    with anamnesis.store() as store:
        assert store.get(note.id).body.strip() == "Set busy_timeout on no connection."
        assert "each connection" in "".join(each.note.body for each in store.kept.versions(note.id))


def test_pick_prints_the_id_of_the_chosen_note_or_its_text(anamnesis: Command) -> None:
    with anamnesis.store() as store:
        ids = {note.title: note.id for note in store.list()}
    with Terminal(anamnesis, "pick", "monday", piped=True) as terminal:
        terminal.wait_for("Never on a Friday.")
        terminal.type(ENTER)
        assert terminal.finish() == (0, f"{ids['Deploy on Mondays']}\n")
    with Terminal(anamnesis, "pick", "--body", piped=True) as terminal:
        terminal.wait_for("2 notes")
        terminal.type("timeout")
        terminal.wait_for("1 note ")
        terminal.type(ENTER)
        assert terminal.finish() == (0, "Set busy_timeout on every connection.\n")


def test_pick_prints_nothing_if_it_is_left(anamnesis: Command) -> None:
    with Terminal(anamnesis, "pick", piped=True) as terminal:
        terminal.wait_for("2 notes")
        terminal.type(ESCAPE)
        assert terminal.finish() == (1, "")


@pytest.mark.parametrize("arguments", [[], ["tui"], ["pick"], ["engram", "tui"]])
def test_a_terminal_that_cannot_show_it_gets_a_sentence(anamnesis: Command, arguments: list[str]) -> None:
    for size, term, sentence in (
        ("80x24", "dumb", "This terminal can only print lines"),
        ("40x10", "xterm", "The terminal has 40×10 characters"),
    ):
        with Terminal(anamnesis, *arguments, size=size, TERM=term) as terminal:
            code, _ = terminal.finish()
            assert (code, terminal.text.count("\n")) == (1, 1)
            assert sentence in terminal.text


def test_without_a_terminal_for_the_output_a_person_gets_the_help(anamnesis: Command) -> None:
    with Terminal(anamnesis, piped=True) as terminal:
        code, printed = terminal.finish()
        assert (code, printed.startswith("Usage: anamnesis")) == (0, True)


def test_in_a_pipe_it_is_refused(anamnesis: Command) -> None:
    for arguments in (["tui"], ["pick"]):
        done = anamnesis(*arguments)
        assert (done.code, done.out) == (1, "")
        assert "needs a terminal" in done.err


def test_no_text_of_a_note_commands_the_terminal(tmp_path: Path) -> None:
    """Titles, bodies, tags, projects, machines and times of notes, and the rows of an engram.db."""
    hostile = Command(tmp_path)
    with hostile.store() as store:
        texts = dict.fromkeys(("title", "body", "project", "machine_id", "prov_model", "prov_session"), HOSTILE)
        note = Memory("01J00000000000000000000000", "episodic", tags=[HOSTILE], **texts)  # type: ignore[arg-type]
        store.put(replace(note, created_at=HOSTILE, updated_at=HOSTILE))
    fill(tmp_path / "home" / ".engram" / "engram.db")
    with Terminal(hostile, ANAMNESIS_MACHINE_ID=HOSTILE, size="120x40") as terminal:
        terminal.wait_for("1 note ")
        drawn = b""
        for keys in ("f", "\r", "h", "s", ESCAPE, "2", "jj", "3", "4", "5", "6", "7", "8"):
            terminal.type(keys)
            terminal.wait_for(" ")
            terminal.pause()
            drawn += terminal.shown
        terminal.type("q")
        assert terminal.finish()[0] == 0
    shown = drawn.decode()
    assert "PWN" in shown
    assert commanding(TEXTUALS.sub("", shown)) == []
    assert "\x1b[35m" not in shown
    assert "\x1b[2J" not in shown
