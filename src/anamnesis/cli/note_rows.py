"""Notes on a terminal, one per line at any width, with a pager if they do not fit on the screen."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from anamnesis.age import brief_age
from anamnesis.cli.output import SHORT_ID, console, in_a_line
from anamnesis.notes import PINNED

if TYPE_CHECKING:
    from anamnesis.cli.screen import Screen
    from anamnesis.notes import Memory
    from anamnesis.notes.foreign import Origin
    from anamnesis.store.highlights import Span

_LONGEST_AGE = 5
_WIDEST_PROJECT = 16


def draw_rows(
    screen: Screen,
    notes: Sequence[Memory],
    marks: Sequence[Sequence[Span]] = (),
    weak: Container[str] = (),
    remarks: Mapping[str, str] | None = None,
    origins: Mapping[str, Origin] = MappingProxyType({}),
) -> None:
    """Print a line per note: its number, short id, age, the last part of its project, and its title.

    `marks` are the parts of each title that a search matched, `weak` the ids of weak hits. `remarks`, or the `origins`
    of foreign notes, are printed before the titles of some notes.
    """
    from rich.cells import cell_len
    from rich.text import Text

    remarks = remarks or {id: each.brief for id, each in origins.items()}

    def fitted(text: str, width: int, style: str) -> Text:
        cell = Text(text, style)
        cell.truncate(width, overflow="ellipsis", pad=True)
        return cell

    projects = [in_a_line(note.project.rpartition("/")[2]) for note in notes]
    widest = min(max(map(cell_len, projects), default=0), _WIDEST_PROJECT, screen.width // 5)
    digits = len(str(len(notes)))
    for number, (note, project) in enumerate(zip(notes, projects, strict=True), start=1):
        title = Text(in_a_line(note.title), "dim" if note.id in weak else "bold")
        for start, end in marks[number - 1] if marks else ():
            title.stylize("yellow", start, end)
        pin = ("★ ", "yellow") if PINNED in note.tags else ""
        row = Text.assemble(
            (f"{number:>{digits}} ", "dim"),
            (f"{note.id[-SHORT_ID:]:<{SHORT_ID}} ", "cyan"),
            (f"{brief_age(note.updated_at):>{_LONGEST_AGE}} ", "dim"),
            fitted(project, widest, "green"),
            " ",
            pin,
            (f"{remark} ", "yellow") if (remark := remarks.get(note.id)) else "",
            title,
        )
        row.truncate(screen.width, overflow="ellipsis")
        screen.print(row, no_wrap=True)


@contextmanager
def paged() -> Iterator[Screen]:
    """A screen whose output goes through a pager if it is longer than the terminal."""
    screen = console()
    with screen.capture() as captured:
        yield screen
    text = captured.get()
    if text.count("\n") < screen.height or not _is_pager_on():
        screen.file.write(text)
        screen.file.flush()
    else:
        click.echo_via_pager(text.removesuffix("\n"))


def _is_pager_on() -> bool:
    """Whether pagers are on. NO_PAGER, or a PAGER that is empty or `cat`, turns them off."""
    return not os.environ.get("NO_PAGER") and os.environ.get("PAGER", "less").strip() not in ("", "cat")
