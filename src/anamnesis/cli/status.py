"""`anamnesis status`: how many notes there are, of which kinds, and the state of sync and bridge."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import click

from anamnesis.bridge import FAILURES
from anamnesis.cli.context import settings
from anamnesis.cli.options import RECONCILE, as_json, open_memory, project_here
from anamnesis.cli.output import bare_table, bars, console, on_terminal, print_json, print_lines, sparkline
from anamnesis.cli.spaces import draw_hub, hub_facts, hub_rows
from anamnesis.notes.merge import CONFLICT_TAG
from anamnesis.plural import counted
from anamnesis.review import waiting
from anamnesis.store import MemoryStore, StoreStats

if TYPE_CHECKING:
    from anamnesis.bridge.upkeep import State
    from anamnesis.sync import SyncState
    from anamnesis.vault import Vault

_WEEKS = 26


@click.command()
@as_json
def command(as_json: bool) -> None:
    """Show how many notes there are, of which kind, and where.

    \b
    JSON: {"root", "db_path", "machine_id", "total", "by_type": {TYPE: COUNT},
           "by_project": {...}, "by_scope": {...}, "unreadable_files",
           "embedded": how many notes are found by meaning,
           "sync": {"initialized", "remote", "head", "dirty", "detail"},
           "hub": as of space, or null without a login,
           "bridge": {"database", "notes", "observations", "twins", "waiting": {...}} or null,
           "bridge_fault": why engram.db cannot be used, or null}
    """
    from anamnesis.sync import configured_backend

    with open_memory(only_to_read=True) as vault:
        store = vault.notes
        stats = store.stats()
        sync = configured_backend(store, settings()).state()
        unreadable = len(store.problems())
        embedded = stats.total - store.ranking.pending()
        hub = hub_facts()
        bridge, fault = _bridge(vault)
        state = asdict(bridge) if bridge else None
        facts = {"root": str(store.root), "db_path": str(store.db_path), "machine_id": settings().machine_id}
        if as_json:
            kept = {
                "unreadable_files": unreadable,
                "embedded": embedded,
                "sync": asdict(sync),
                "hub": hub,
                "bridge": state,
                "bridge_fault": fault,
            }
            print_json({**facts, **stats._asdict(), **kept})
        elif on_terminal():
            _draw(store, stats, unreadable)
            if stats.total:
                console().print(_embedding_line(embedded, stats.total), style="dim")
            console().print(_sync_line(sync), style="dim")
            if hub:
                draw_hub(hub)
            if bridge:
                console().print(_bridge_line(bridge), style="dim")
            if fault:
                console().print(f"Engram's observations are left out: {fault}", style="yellow")
        else:
            counts = {"type": stats.by_type, "project": stats.by_project, "scope": stats.by_scope}
            rows: list[tuple[object, ...]] = [*facts.items(), ("total", stats.total)]
            rows += [(kind, name, count) for kind, by in counts.items() for name, _, count in bars(by)]
            rows += [("unreadable_files", unreadable), ("embedded", embedded)]
            rows += [("sync", name, value) for name, value in asdict(sync).items()]
            rows += [("hub", *each) for each in hub_rows(hub)]
            rows += [("bridge", name, value) for name, value in (state or {}).items() if name != "waiting"]
            rows += [("waiting", *each) for each in (asdict(bridge.waiting).items() if bridge else ())]
            if bridge and bridge.waiting.total:
                rows.append(("waiting", "until", RECONCILE))
            rows += [("bridge", "fault", fault)] if fault else []
            print_lines(rows)


def _bridge(vault: Vault) -> tuple[State | None, str | None]:
    """The state of notes and observations, or why it cannot be read."""
    try:
        return vault.read_status(), None
    except FAILURES as error:
        return None, str(error)


def _draw(store: MemoryStore, stats: StoreStats, unreadable: int) -> None:
    from rich.text import Text

    screen = console()
    here = project_here().key
    screen.draw("[bold]{}[/] in {} on {}", counted(stats.total, "note"), store.root, settings().machine_id)
    if not stats.total:
        screen.draw('Write the first one: [cyan]anamnesis write "Title" "What to remember"[/]')
        return
    screen.draw("[green]{}[/] new notes a week, half a year", sparkline(_weekly(store)), style="dim")
    table = bare_table(show_header=False)
    for title, counts in (("type", stats.by_type), ("scope", stats.by_scope), ("project", stats.by_project)):
        shown = bars(counts)
        for position, (name, bar, count) in enumerate(shown[:8]):
            style = "bold" if title == "project" and name == here else ""
            label = "" if position else title
            table.add_row(Text(label, "dim"), Text(name, style), Text(bar, "cyan"), Text(f"{count:,}"))
        if len(shown) > 8:
            table.add_row("", Text(f"and {len(shown) - 8} more", "dim"), "", "")
    screen.print(table)
    if conflicts := len(store.tagged(CONFLICT_TAG)):
        both = counted(conflicts, "note has", "notes have")
        screen.draw("[yellow]{} two versions:[/] anamnesis conflicts", both)
    if foreign := len(waiting(store)):
        noted = counted(foreign, "note waits", "notes wait")
        screen.draw("[yellow]{} for a review:[/] anamnesis review", noted)
    if unreadable:
        files = counted(unreadable, "file could not be read as a note", "files could not be read as notes")
        screen.draw("[yellow]{}:[/] anamnesis doctor", files)


def _embedding_line(embedded: int, total: int) -> str:
    notes = f"{embedded:,} of {counted(total, 'note is', 'notes are')} embedded"
    return notes if embedded == total else f"{notes}: anamnesis reindex, or the daemon, embeds the rest"


def _sync_line(sync: SyncState) -> str:
    if not sync.initialized:
        return "not synced yet: anamnesis sync"
    pending = "with changes to sync" if sync.dirty else "nothing to sync"
    return f"synced with {sync.remote or 'no remote'}, at {sync.head or 'no commit yet'}, {pending}"


def _bridge_line(bridge: State) -> str:
    total = bridge.waiting.total
    pending = (
        f"{counted(total, 'change waits', 'changes wait')} to be reconciled: {RECONCILE}"
        if total
        else "nothing waiting"
    )
    return f"{counted(bridge.observations, 'observation')} in {bridge.database}, {pending}"


def _weekly(store: MemoryStore) -> list[int]:
    first = datetime.now(UTC).date() - timedelta(weeks=_WEEKS) + timedelta(days=1)
    weeks = [0] * _WEEKS
    for day, count in store.activity(first.isoformat()).items():
        week = (date.fromisoformat(day) - first).days // 7 if len(day) == 10 and day[4] == "-" else -1
        if 0 <= week < _WEEKS:
            weeks[week] += count
    return weeks
