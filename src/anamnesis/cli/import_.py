"""`anamnesis import`: finds the memories of other programs on this machine, and imports them as notes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json, open_store, project_option, yes_option
from anamnesis.cli.output import bare_table, console, in_a_line, on_terminal, print_json, print_lines, progress_bar
from anamnesis.errors import InvalidArgument
from anamnesis.importers import NAMES, importer_named
from anamnesis.notes import as_dict
from anamnesis.plural import counted
from anamnesis.store import MemoryStore

# The importers are imported when needed, to keep the help fast.
if TYPE_CHECKING:
    from anamnesis.importers.machine import Machine
    from anamnesis.importers.pipeline import Importer, ImportResult, Survey

_MOST_SHOWN = 20
# The formats of our own exports that keep every field.
_OWN_FORMATS = ("jsonl", "portable-ai-memory")


@click.command()
@click.argument("source", required=False, type=click.Choice(NAMES), metavar="[SOURCE]")
@click.argument("path", required=False, type=click.Path(exists=True, path_type=Path), metavar="[PATH]")
@click.option("--from", "folder", type=click.Path(exists=True, path_type=Path), help="The same as PATH.")
@project_option("Put all notes into this project.", is_new=True)
@click.option(
    "--own", is_flag=True, help="Trust the notes of your own export; they need no review (jsonl, portable-ai-memory)."
)
@click.option("--dry-run", is_flag=True, help="Show what would be imported, and import nothing.")
@yes_option
@as_json
def command(
    source: str | None,
    path: Path | None,
    folder: Path | None,
    project: str | None,
    own: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Import the memories of other programs, or list those on this machine. Their files are only read.

    \b
    claude              Claude Code's own memory files
    claude-mem          its observations and summaries of sessions
    basic-memory        its notes, of all of its projects
    markdown            Obsidian's vaults, or any folder of markdown
    mcp-memory          the entities of the MCP reference memory server
    rules               AGENTS.md and CLAUDE.md of this folder and of your home, by section
    codex, gemini       the memories of Codex and of Gemini CLI
    cursor, cline       Cursor's rules and Cline's memory bank in this folder
    mem0, openmemory    mem0's history, and a backup of OpenMemory
    portable-ai-memory  its interchange format
    jsonl               what `anamnesis export jsonl` wrote
    chatgpt, claude-ai  the conversations of an export, after a preview

    Without PATH, SOURCE is read from its usual places. The command can be repeated: nothing is imported twice, notes
    whose source changed are updated, and notes that were deleted or edited here are left alone. Imported notes wait
    for `anamnesis review`; those of Claude Code do not.

    \b
    In a pipe, without SOURCE: source, place, how many, how many are imported, separated by tabs.
    JSON without SOURCE: [{"source", "place", "found", "here", "broken"}]
    JSON: {"new", "updated", "unchanged", "left", "skipped", "broken", "problems"};
          with --dry-run also "coming": notes as in list, with "change"
    """
    if path and folder:
        raise click.UsageError("Give either PATH or --from.")
    place, importer = path or folder, _importer(source, own)
    with open_store() as store:
        machine = _machine(store)
        if importer is None:
            _list(store, machine, as_json=as_json)
            return
        places = _places(importer, place, machine)
        if importer.conversations and not dry_run and not yes and not _is_confirmed(store, importer, places, machine):
            sys.exit(1)
        done = _import(store, importer, places, machine, project=project, dry_run=dry_run)
    _report(done, dry_run=dry_run, as_json=as_json, is_own=importer.is_own)
    if not any((*done.counts.values(), done.skipped)) and place:
        raise InvalidArgument(f"No memory of {source} was found at {place}.")


def _importer(source: str | None, own: bool) -> Importer | None:
    if own and source not in _OWN_FORMATS:
        raise click.UsageError(f"--own is for {' and '.join(_OWN_FORMATS)}: other programs' notes have to be reviewed.")
    importer = importer_named(source) if source else None
    return importer and importer._replace(is_own=importer.is_own or own)


def _machine(store: MemoryStore) -> Machine:
    from anamnesis.importers.machine import this_machine

    given = settings()
    return this_machine(
        store, given.machine_id, given.user_home, given.claude_home, folder=Path.cwd(), environ=os.environ
    )


def _places(importer: Importer, given: Path | None, machine: Machine) -> list[Path]:
    places = list(dict.fromkeys(place.resolve() for place in ([given] if given else importer.find(machine))))
    if not places and not importer.is_own:
        raise InvalidArgument(
            f"No memory of {importer.name} is in its usual places on this machine.",
            f"Name the place: anamnesis import {importer.name} PATH",
        )
    return places


def _import(
    store: MemoryStore,
    importer: Importer,
    places: Sequence[Path],
    machine: Machine,
    *,
    project: str | None = None,
    dry_run: bool = False,
) -> ImportResult:
    from anamnesis.importers.pipeline import run_import, survey, total_of

    done = []
    try:
        for place in places:
            with progress_bar(importer.name) as progress:
                total = survey(store, importer, place, machine) if progress else None
                most = total.found + total.broken if total else 0

                def report(count: int, most: int = most, progress: Any = progress) -> None:
                    if progress:
                        progress(count, max(count, most))

                done.append(
                    run_import(store, importer, place, machine, project=project, dry_run=dry_run, progress=report)
                )
    except KeyboardInterrupt:
        click.echo("Interrupted. The imported notes stay; the next import continues.", err=True)
        sys.exit(130)
    return total_of(done)


def _is_confirmed(store: MemoryStore, importer: Importer, places: Sequence[Path], machine: Machine) -> bool:
    """Show how much would be imported and ask; without a terminal, return False."""
    found = _import(store, importer, places, machine, dry_run=True)
    coming = [note for _, note in found.coming]
    days = sorted(note.created_at[:10] for note in coming)
    period = f", from {days[0]} to {days[-1]}" if days else ""
    size = sum(len(note.body) for note in coming)
    click.echo(
        f"{counted(len(coming), 'note')} would be imported{period}, {size / 1000:,.0f} KB;"
        f" {found.unchanged:,} are unchanged, {found.left:,} were deleted or edited here,"
        f" {found.skipped:,} are not worth a note, {found.broken:,} cannot be read.",
        err=True,
    )
    if not coming:
        return True
    if sys.stdin.isatty():
        return click.confirm("Import them?", err=True)
    click.echo("Nothing was imported; --yes imports them.", err=True)
    return False


def _list(store: MemoryStore, machine: Machine, *, as_json: bool) -> None:
    """Print the memories on this machine, and how many of their entries are imported already."""
    from anamnesis.importers.pipeline import survey

    rows = [
        (importer.name, str(place), survey(store, importer, place, machine))
        for importer in map(importer_named, NAMES)
        for place in dict.fromkeys(importer.find(machine))
    ]
    if as_json:
        keys = ("source", "place", "found", "here", "broken")
        print_json([dict(zip(keys, (name, place, *counts), strict=True)) for name, place, counts in rows])
    elif on_terminal():
        _draw(rows)
    else:
        print_lines([(name, place, counts.found, counts.here) for name, place, counts in rows])


def _draw(rows: Sequence[tuple[str, str, Survey]]) -> None:
    from rich.table import Column
    from rich.text import Text

    table = bare_table(
        Column("source", no_wrap=True),
        Column("place", overflow="fold", ratio=1),
        Column("found", justify="right", no_wrap=True),
        Column("here", justify="right", no_wrap=True),
    )
    for name, place, counts in rows:
        table.add_row(Text(name, "bold"), Text(place), f"{counts.found:,}", f"{counts.here:,}")
    screen = console()
    if rows:
        screen.print(table)
        screen.print("`anamnesis import SOURCE` imports one; --dry-run shows what would be imported.", style="dim")
    else:
        screen.print("No memory of another program was found in the usual places.", style="dim")


def _report(done: ImportResult, *, dry_run: bool, as_json: bool, is_own: bool) -> None:
    if as_json:
        coming = [{**as_dict(note, body=False), "change": change} for change, note in done.coming]
        others = {"skipped": done.skipped, "broken": done.broken, "problems": done.problems}
        print_json({**done.counts, **others, **({"coming": coming} if dry_run else {})})
        return
    for change, note in done.coming[:_MOST_SHOWN]:
        click.echo(f"{change}\t{note.project}\t{in_a_line(note.title)}")
    if len(done.coming) > _MOST_SHOWN:
        click.echo(f"and {len(done.coming) - _MOST_SHOWN:,} more")
    click.echo(
        f"{'Would be: ' if dry_run else ''}{done.new} new, {done.updated} updated, {done.unchanged} unchanged,"
        f" {done.left} left alone (deleted or edited here)."
    )
    if done.skipped:
        click.echo(f"{counted(done.skipped, 'conversation is', 'conversations are')} not worth a note.")
    for problem in done.problems:
        click.echo(f"anamnesis: {in_a_line(problem)}", err=True)
    if done.broken > len(done.problems):
        click.echo(f"anamnesis: {done.broken - len(done.problems):,} more cannot be read", err=True)
    if done.new and on_terminal() and not dry_run and not is_own:
        click.echo("`anamnesis review` lists the notes that wait for you.", err=True)
