"""Formats results: drawn on a terminal, plain lines in a pipe, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from anamnesis.plain import escaped
from anamnesis.plural import counted
from anamnesis.store.refresh import Progress

if TYPE_CHECKING:
    from rich.table import Column, Table

    from anamnesis.cli.screen import Screen
    from anamnesis.notes import Memory
    from anamnesis.store import MemoryStore

_BLOCKS = "▁▂▃▄▅▆▇█"
# How much of an id lists show: its end, which is random. Two of 100,000 notes have the same with a chance of 1 in 200.
SHORT_ID = 8


def on_terminal() -> bool:
    return sys.stdout.isatty()


def console(*, stderr: bool = False) -> Screen:
    """The terminal; imported only if needed, as the import takes as long as everything else."""
    from anamnesis.cli.screen import Screen

    return Screen(stderr=stderr)


def print_redacted(fields: Mapping[str, object], note: Memory) -> None:
    """Print on stderr which kinds of secrets were redacted in the user's `fields`."""
    from anamnesis.notes.cleaning import redacted_kinds, warning  # takes 10 ms, which reads do not need

    if sentence := warning(redacted_kinds(fields, note)):
        click.echo(sentence, err=True)


def resemblance(store: MemoryStore, note: Memory, named: Collection[str] = ()) -> Iterator[str]:
    """A line with the notes that say nearly the same as a new one, without those `named`; nothing if there are none."""
    from anamnesis.store.related import resembling

    if alike := [each for each in resembling(store, note) if each.id not in named]:
        yield f"This resembles: {'; '.join(f'{each.id} {in_a_line(each.title)}' for each in alike)}"


def print_json(value: Any) -> None:
    click.echo(escaped(json.dumps(value, ensure_ascii=False, indent=2 if on_terminal() else None)))


def print_lines(rows: Sequence[Sequence[object]]) -> None:
    """Print rows for other programs: columns separated by tabs, one row per line."""
    for row in rows:
        click.echo("\t".join(in_a_line(cell) for cell in row))


def unreadable_line(count: int) -> str:
    """How many files are not among the notes, and what says why."""
    files = counted(count, "file could not be read as a note", "files could not be read as notes")
    return f"{files}: anamnesis doctor"


def report_unreadable(store: MemoryStore) -> None:
    """Print a line to stderr if notes are missing because their files cannot be read."""
    if count := len(store.problems()):
        click.echo(f"anamnesis: {unreadable_line(count)}", err=True)


def in_a_line(value: object) -> str:
    """A value on one line, with line ends and tabs replaced by spaces."""
    return " ".join(str(value).split())


def bare_table(*columns: Column | str, show_header: bool = True) -> Table:
    """A table without lines, with a dim header."""
    from rich.table import Table

    return Table(*columns, box=None, header_style="dim", show_header=show_header, padding=(0, 1))


def draw_diff(diff: str) -> None:
    """Print a unified diff, coloured on a terminal."""
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for number, line in enumerate(diff.splitlines()):
        if on_terminal():
            is_head = number < 2 and line.startswith(("--- ", "+++ ")[number])
            console().print(line, style="bold" if is_head else styles.get(line[:1], ""), soft_wrap=True)
        else:
            click.echo(line)


def bars(counts: Mapping[str, int], width: int = 24) -> list[tuple[str, str, int]]:
    """Each name with a bar and its count, the largest first."""
    most = max(counts.values(), default=0)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(name, "█" * max(1, round(width * count / most)), count) for name, count in ordered]


def sparkline(counts: Sequence[int]) -> str:
    most = max(counts, default=0)
    return "".join(_BLOCKS[(count * 7 + most - 1) // most] if most else _BLOCKS[0] for count in counts)


@contextmanager
def progress_bar(title: str) -> Iterator[Progress | None]:
    """A progress bar on stderr, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def counting_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar that is advanced by counts."""
    done = 0
    with progress_bar(title) as progress:

        def advance(count: int) -> None:
            nonlocal done
            done += count
            if progress:
                progress(min(done, total), total)

        yield advance


@contextmanager
def activity() -> Iterator[Callable[[str], None] | None]:
    """A line on stderr with the current step and its duration, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda description: bar.update(task, description=description)
