"""`anamnesis status`: counts the notes, and shows the state of sync, hub and bridge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from anamnesis.bridge import FAILURES
from anamnesis.cli.context import settings
from anamnesis.cli.options import RECONCILE, as_json, open_memory, project_here
from anamnesis.cli.output import (
    bare_table,
    bars,
    console,
    on_terminal,
    print_json,
    print_lines,
    sparkline,
    unreadable_line,
)
from anamnesis.cli.spaces import draw_hub, hub_facts, hub_rows
from anamnesis.notes.merge import CONFLICT_TAG
from anamnesis.plural import counted
from anamnesis.review import waiting
from anamnesis.store import MemoryStore, StoreStats
from anamnesis.store.projects import names_of

if TYPE_CHECKING:
    from anamnesis.bridge.upkeep import State
    from anamnesis.sync import SyncState
    from anamnesis.vault import Vault

_WEEKS = 26


@click.command()
@as_json
def command(as_json: bool) -> None:
    """Count the notes by type, scope and project, and show the state of sync, hub and bridge.

    \b
    JSON: {"root", "db_path", "machine_id", "total", "by_type": {TYPE: COUNT},
           "by_project": {...}, "by_scope": {...}, "unreadable_files",
           "embedded": how many notes are found by meaning,
           "sync": {"initialized", "remote", "head", "dirty", "detail"},
           "hub": as in space, or null without a login,
           "bridge": {"database", "notes", "observations", "twins", "waiting": {...}} or null,
           "bridge_fault": why engram.db cannot be used, or null}
    """
    with open_memory(only_to_read=True) as vault:
        status = _read(vault)
        store = vault.notes
        facts = {"root": str(store.root), "db_path": str(store.db_path), "machine_id": settings().machine_id}
        if as_json:
            print_json({**facts, **status.as_dict()})
        elif on_terminal():
            _draw_notes(store, status.stats, status.unreadable)
            _draw_state(status)
        else:
            print_lines([*facts.items(), *status.rows()])


class _Status(NamedTuple):
    """The counts of notes, and the state of what works on them; `fault` is why engram.db cannot be used."""

    stats: StoreStats
    unreadable: int
    embedded: int
    sync: SyncState
    hub: dict[str, Any] | None
    bridge: State | None
    fault: str | None

    def as_dict(self) -> dict[str, Any]:
        return {
            **self.stats._asdict(),
            "unreadable_files": self.unreadable,
            "embedded": self.embedded,
            "sync": asdict(self.sync),
            "hub": self.hub,
            "bridge": asdict(self.bridge) if self.bridge else None,
            "bridge_fault": self.fault,
        }

    def rows(self) -> Iterator[tuple[object, ...]]:
        yield "total", self.stats.total
        counts = {"type": self.stats.by_type, "project": self.stats.by_project, "scope": self.stats.by_scope}
        yield from ((kind, name, count) for kind, by in counts.items() for name, _, count in bars(by))
        yield "unreadable_files", self.unreadable
        yield "embedded", self.embedded
        yield from (("sync", *each) for each in asdict(self.sync).items())
        yield from (("hub", *each) for each in hub_rows(self.hub))
        if self.bridge:
            yield from (("bridge", *each) for each in asdict(self.bridge).items() if each[0] != "waiting")
            yield from (("waiting", *each) for each in asdict(self.bridge.waiting).items())
            if self.bridge.waiting.total:
                yield "waiting", "until", RECONCILE
        if self.fault:
            yield "bridge", "fault", self.fault


def _read(vault: Vault) -> _Status:
    from anamnesis.sync import configured_backend

    store, stats = vault.notes, vault.notes.stats()
    sync = configured_backend(store, settings()).state()
    embedded = stats.total - store.ranking.pending()
    return _Status(stats, len(store.problems()), embedded, sync, hub_facts(), *_bridge(vault))


def _bridge(vault: Vault) -> tuple[State | None, str | None]:
    """The state of notes and observations, or why it cannot be read."""
    try:
        return vault.read_status(), None
    except FAILURES as error:
        return None, str(error)


def _draw_notes(store: MemoryStore, stats: StoreStats, unreadable: int) -> None:
    from rich.text import Text

    screen = console()
    here = project_here().key
    screen.draw("[bold]{}[/] in {} on {}", counted(stats.total, "note"), store.root, settings().machine_id)
    if not stats.total:
        screen.draw('Write the first one: [cyan]anamnesis write "Title" "What to remember"[/]')
        return
    screen.draw("[green]{}[/] new notes per week in the last half year", sparkline(_weekly(store)), style="dim")
    table = bare_table(show_header=False)
    for title, counts in (("type", stats.by_type), ("scope", stats.by_scope), ("project", stats.by_project)):
        ours = names_of(here, counts) if title == "project" else ()
        shown = bars(counts)
        for position, (name, bar, count) in enumerate(shown[:8]):
            style = "bold" if name in ours else ""
            label = "" if position else title
            table.add_row(Text(label, "dim"), Text(name, style), Text(bar, "cyan"), Text(f"{count:,}"))
        if len(shown) > 8:
            table.add_row("", Text(f"and {len(shown) - 8} more", "dim"), "", "")
    screen.print(table)
    if conflicts := len(store.tagged(CONFLICT_TAG)):
        both = counted(conflicts, "note has", "notes have")
        screen.draw("[yellow]{} two versions:[/] anamnesis conflicts", both)
    if foreign := len(waiting(store)):
        waits = counted(foreign, "note waits", "notes wait")
        screen.draw("[yellow]{} for a review:[/] anamnesis review", waits)
    if unreadable:
        screen.draw("[yellow]{}[/]", unreadable_line(unreadable))


def _draw_state(status: _Status) -> None:
    screen = console()
    if status.stats.total:
        screen.print(_embedding_line(status.embedded, status.stats.total), style="dim")
    screen.print(_sync_line(status.sync), style="dim")
    if status.hub:
        draw_hub(status.hub)
    if status.bridge:
        screen.print(_bridge_line(status.bridge), style="dim")
    if status.fault:
        screen.print(f"Engram's observations are left out: {status.fault}", style="yellow")


def _embedding_line(embedded: int, total: int) -> str:
    if embedded == total:
        return f"{counted(total, 'note is', 'notes are')} found by meaning"
    waiting = total - embedded
    return f"{counted(waiting, 'note is', 'notes are')} found by words, and by meaning after the next searches"


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
