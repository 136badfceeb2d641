"""`anamnesis dream audit`: what dreams, reviews and the gate did to a note or a project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta

import click

from anamnesis.age import age
from anamnesis.cli.naming import resolve_note
from anamnesis.cli.options import as_json, note_id, open_store, period_options, project_option
from anamnesis.cli.output import (
    bare_table,
    bars,
    console,
    in_a_line,
    on_terminal,
    print_json,
    print_lines,
    sparkline,
)
from anamnesis.dream.audit import AuditEvent, AuditFilter, events, use
from anamnesis.errors import NoteNotFound
from anamnesis.plural import counted

_DAYS = 30
_SHORT = 8


@click.command()
@note_id("given", metavar="[ID]", required=False)
@project_option("Only events of notes of this project.")
@period_options("Only events")
@click.option("-n", "--number", type=click.IntRange(1), default=50, show_default=True, help="At most this many.")
@as_json
def command(
    given: str | None, project: str | None, since: str | None, until: str | None, number: int, as_json: bool
) -> None:
    """Show what dreams, reviews and the gate did to notes, why, and how to undo it.

    ID is a note as in `anamnesis show`. `anamnesis dream undo ID` undoes a dream, and
    `anamnesis dream gate --accept NUMBER` writes a note that the gate refused.

    \b
    In a pipe: time, by whom, what, id of the change or number in the gate's log, notes, reason.
    JSON: {"events": [{"at", "by", "action", "notes", "reason", "id", "state"}], "counts":
    {ACTION: count}, "use": {KIND: how often the notes were used for it}}
    """
    with open_store(only_to_read=True) as store:
        if project:
            store.check_project(project)
        named = resolve_note(store, given) if given else None
        wanted = AuditFilter(named.id if named else "", project or "", since or "", until or "")
        found = events(store, wanted)
        used = use(store, wanted)
    if named and not (named.is_known or found or used):
        raise NoteNotFound(f"No note is named {given!r}.", "`anamnesis search` finds notes by words.")
    counts = Counter(event.action for event in found)
    if as_json:
        print_json({"events": [event._asdict() for event in found[:number]], "counts": counts, "use": used})
    elif on_terminal():
        _draw(found[:number], counts, used, [event.at[:10] for event in found])
    else:
        rows = [(event.at, event.by, event.action, event.id, " ".join(event.notes), event.reason) for event in found]
        print_lines(rows[:number])


def _draw(found: Sequence[AuditEvent], counts: Counter[str], used: dict[str, int], days: Sequence[str]) -> None:
    from rich.table import Column
    from rich.text import Text

    screen = console()
    fixed = (Column(name, no_wrap=True) for name in ("when", "by", "what", "notes"))
    table = bare_table(*fixed, Column("why", ratio=1))
    for event in found:
        what = f"{event.action} ({event.state})" if event.state not in ("", "done") else event.action
        notes = " ".join(id[-_SHORT:] for id in event.notes[:2]) + (" …" if len(event.notes) > 2 else "")
        table.add_row(age(event.at), event.by, what, Text(notes, "cyan"), Text(in_a_line(event.reason)))
    if found:
        screen.print(table)
    chart = bare_table("", "", "", show_header=False)
    for name, bar, count in bars(counts):
        chart.add_row(name, Text(bar, "cyan"), f"{count:,}")
    if counts:
        screen.print(chart)
        screen.draw("[green]{}[/] the last {} days", sparkline(_daily(days)), _DAYS, style="dim")
    times = ", ".join(f"{kind} {counted(count, 'time')}" for kind, count in used.items())
    nothing = "Nothing was done to these notes." if not found else counted(sum(counts.values()), "event") + "."
    screen.print(f"{nothing} Used: {times or 'never'}.", style="dim")


def _daily(days: Sequence[str]) -> list[int]:
    """How many events each of the last days has, today last."""
    counts = Counter(days)
    return [counts[(date.today() - timedelta(days=ago)).isoformat()] for ago in reversed(range(_DAYS))]
