"""`anamnesis dream`: runs a cycle that tidies the memory, shows what cycles did, and undoes them."""

from __future__ import annotations

import importlib
import os
import signal
import stat
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anamnesis.age import age
from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json, open_memory, open_store, project_here
from anamnesis.cli.output import bare_table, console, in_a_line, on_terminal, print_json, print_lines, progress_bar
from anamnesis.dream.dream_journal import decisions, entries, entry, status
from anamnesis.plural import counted
from anamnesis.process import lower_priority
from anamnesis.store import changeset

if TYPE_CHECKING:
    from anamnesis.dream.cycle import DreamResult, Options
    from anamnesis.store import MemoryStore
    from anamnesis.store.changeset import Changeset
    from anamnesis.working_copies import KnownCopies

_PHASES = ("scan", "classify", "place", "consolidate", "prune", "sync")
# The subcommands that have a module of their own, `anamnesis.cli.dream_NAME`.
_OTHERS = ("scan", "classify", "gate", "audit")
_STDIN = 0


class _DreamGroup(click.Group):
    """Imports the other commands only when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_OTHERS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _OTHERS:
            command: click.Command = importlib.import_module(f"anamnesis.cli.dream_{cmd_name}").command
            return command
        return super().get_command(ctx, cmd_name)


@click.group(cls=_DreamGroup, invoke_without_command=True)
@click.option("--phase", type=click.Choice(_PHASES), help="Only this phase.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--trigger", default="by hand", hidden=True)
@as_json
@click.pass_context
def command(ctx: click.Context, phase: str | None, dry_run: bool, trigger: str, as_json: bool) -> None:
    """Tidy the memory: merge duplicates, link outdated notes, mark notes about code that is gone.

    A dream examines the notes that changed since the last one. It deletes no note, and `anamnesis dream undo` reverts
    all of it. Uncertain changes, and changes to notes that you wrote, edited or pinned, are not applied but listed by
    `anamnesis review`. At most a twentieth of a project changes at once; the rest waits for the next dream. The daemon
    dreams by itself when it is idle.

    \b
    Statuses: apply (done now), wait (for the next dream), review (for you).
    In a pipe: status, kind, confidence, notes, reason, separated by tabs.
    JSON: {"proposals": [{"id", "kind", "notes", "reason", "confidence", "status", "evidence",
    "after"}], "looked_at", "seconds"}; also "id", that of the dream, if anything was changed.
    """
    if ctx.invoked_subcommand is not None:
        return
    from anamnesis.dream.cycle import BY_HAND, Stopped, dream, rehearse

    settings(needs_config=trigger != BY_HAND)  # a daemon's dream must not fall back to defaults
    try:
        with open_memory() as vault, progress_bar("Looking at changed notes") as progress:
            outcome = (rehearse if dry_run else dream)(vault.notes, _options(vault.notes, phase, trigger, progress))
            if not dry_run:
                vault.write_strengths(add=settings().engram_strength)
    except Stopped:
        return
    _show(outcome, decisions(outcome.decided), as_json, is_rehearsed=dry_run)


@command.command("status")
@as_json
def _status(as_json: bool) -> None:
    """Show the last dream and the number of open proposals.

    \b
    JSON: {"waiting", "review", "changed_notes", "last": a dream as in log, or null}
    """
    with open_store(only_to_read=True) as store:
        facts = status(store)
    if as_json:
        print_json(facts)
        return
    last = facts["last"]
    lines = [
        ("last dream", f"{last['id']} ({age(last['at'])}, {last['state']})" if last else "none yet"),
        ("notes changed since", facts["changed_notes"]),
        ("proposals that wait for the next", facts["waiting"]),
        ("proposals for you", facts["review"]),
    ]
    if on_terminal():
        table = bare_table("", "", show_header=False)
        for name, value in lines:
            table.add_row(name, str(value))
        console().print(table)
        if facts["review"]:
            console().print("`anamnesis review` lists them.", style="dim")
    else:
        print_lines(lines)


@command.command()
@click.option("-n", "--number", type=click.IntRange(1), default=20, show_default=True, help="At most this many.")
@as_json
def log(number: int, as_json: bool) -> None:
    """List the dreams and reflections, the newest first.

    \b
    In a pipe: id, time, state, changed notes, reason, separated by tabs.
    JSON: [{"id", "at", "kind", "state", "reason", "notes", "trigger", "looked_at", "seconds",
    "proposals", "waiting", "review"}]
    """
    with open_store(only_to_read=True) as store:
        found = entries(store, number)
    if as_json:
        print_json(found)
    elif on_terminal():
        table = bare_table("id", "when", "state", "notes", "what")
        for each in found:
            kinds = ", ".join(sorted({proposal["kind"] for proposal in each.get("proposals", ())}))
            table.add_row(each["id"], age(each["at"]), each["state"], str(len(each["notes"])), kinds or each["reason"])
        console().print(table)
    else:
        print_lines([(each["id"], each["at"], each["state"], len(each["notes"]), each["reason"]) for each in found])


@command.command()
@click.argument("change_id", metavar="ID")
@as_json
def show(change_id: str, as_json: bool) -> None:
    """Show what a dream did and why, with a diff of each note.

    ID is as in `anamnesis dream log`; its beginning or its end is enough.

    JSON: as in log, with "files": [{"note", "path", "before", "after"}].
    """
    from dataclasses import asdict

    from anamnesis.dream.dream_journal import report

    with open_store(only_to_read=True) as store:
        change = changeset.find(store, change_id)
        text = report(store, change)
    if as_json:
        print_json({**entry(change), "files": [asdict(file) for file in change.files]})
        return
    if on_terminal():
        from rich.markdown import Markdown

        console().print(Markdown(text, hyperlinks=False))
    else:
        click.echo(text, nl=False)
    _draw_files(change)


@command.command()
@click.argument("change_id", metavar="ID")
@as_json
def undo(change_id: str, as_json: bool) -> None:
    """Undo a dream or a reflection: every note gets its previous bytes back.

    A note that has changed since is left alone. The undone changes are not proposed again.

    JSON: {"id", "restored", "kept"}; the last two are lists of ids.
    """
    from anamnesis.dream.undoing import undo as undo_change

    with open_store() as store:
        change = changeset.find(store, change_id)
        outcome = undo_change(store, change)
    if as_json:
        print_json({"id": change.id, "restored": outcome.restored, "kept": outcome.kept})
        return
    click.echo(f"Undone: {change.id}. {counted(len(outcome.restored), 'note is', 'notes are')} as before.")
    for id in outcome.kept:
        click.echo(f"Kept: {id} has changed since and is left alone.")


@command.command()
@as_json
def place(as_json: bool) -> None:
    """List the notes that belong to another project. Changes nothing.

    `anamnesis dream --phase place` moves those that are certain.

    \b
    In a pipe and JSON: as in dream.
    """
    _rehearse("place", as_json)


@command.command()
@as_json
def prune(as_json: bool) -> None:
    """List the notes that are outdated by the code or by other notes. Changes nothing.

    No note is deleted: `anamnesis dream --phase prune` marks those that are certain.

    \b
    In a pipe and JSON: as in dream.
    """
    _rehearse("prune", as_json)


def _rehearse(phase: str, as_json: bool) -> None:
    """Show the new and the open proposals of one phase, and what a dream would do with them."""
    from anamnesis.dream.cycle import rehearse

    with open_store() as store, progress_bar("Looking at changed notes") as progress:
        outcome = rehearse(store, _options(store, phase, "by hand", progress))
    _show(outcome, decisions(outcome.decided), as_json, is_rehearsed=True)


def _show(outcome: DreamResult, found: list[dict[str, Any]], as_json: bool, *, is_rehearsed: bool) -> None:
    """Print the proposals of a cycle."""
    if as_json:
        change = {"id": outcome.change.id} if outcome.change else {}
        facts = {"looked_at": outcome.looked_at, "seconds": round(outcome.seconds, 3)}
        print_json({**change, "proposals": found, **facts})
    elif on_terminal():
        _draw(found, outcome, is_rehearsed=is_rehearsed)
    else:
        print_lines([_line(each) for each in found])


def _options(store: MemoryStore, phase: str | None, trigger: str, progress: Any) -> Options:
    from anamnesis.dream.cycle import BY_HAND, Options

    more: dict[str, Any] = {"phases": (phase,)} if phase else {}
    if progress:
        more["progress"] = progress
    if trigger != BY_HAND:
        more["stop"] = _stop_on_signal()
    copies = _copies(store, here=trigger == BY_HAND)
    share = settings().dream_share
    return Options(trigger=trigger, share=share, folders=copies.folders, renamed=copies.renamed, **more)


def _stop_on_signal() -> Callable[[], bool]:
    """Lower this process's priority; the returned function tells whether the daemon has asked it to stop."""
    stopped: list[int] = []
    lower_priority()
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    if stat.S_ISFIFO(os.fstat(_STDIN).st_mode):
        threading.Thread(target=_end_with_input, name="input", daemon=True).start()
    return lambda: bool(stopped)


def _end_with_input() -> None:
    """Exit when the pipe is closed: the daemon has exited. The next open of the notes undoes an incomplete change."""
    os.read(_STDIN, 1)
    os._exit(1)


def _copies(store: MemoryStore, *, here: bool) -> KnownCopies:
    """The working copies of the projects of notes on this machine; with `here`, also the one of this folder."""
    from anamnesis.store.projects import names_of
    from anamnesis.working_copies import known_copies, working_copy

    projects = store.projects()
    copies = known_copies(settings().home, settings().user_home, lambda key: bool(names_of(key, projects)))
    if here and (folder := working_copy(project := project_here(), Path.cwd())):
        copies.folders[project.key] = folder
    return copies


def _line(proposal: dict[str, Any]) -> Sequence[object]:
    confidence = f"{proposal['confidence']:.2f}"
    return proposal["status"], proposal["kind"], confidence, " ".join(proposal["notes"]), proposal["reason"]


def _draw(found: list[dict[str, Any]], outcome: DreamResult, *, is_rehearsed: bool) -> None:
    from rich.table import Column
    from rich.text import Text

    screen = console()
    styles = {"apply": "green", "wait": "dim", "review": "yellow"}
    done = {"apply": "would do" if is_rehearsed else "done", "wait": "next time", "review": "for you"}
    table = bare_table(Column("", no_wrap=True), Column("kind", no_wrap=True), "sure", Column("why", ratio=1))
    for each in found:
        status = Text(done[each["status"]], styles[each["status"]])
        table.add_row(status, each["kind"], f"{each['confidence']:.0%}", in_a_line(each["reason"]))
    if found:
        screen.print(table)
    examined = counted(outcome.looked_at, "changed note")
    screen.print(f"Examined {examined} in {outcome.seconds:.1f} s: {counted(len(found), 'proposal')}.", style="dim")
    if outcome.change and outcome.change.files:
        screen.print(f"`anamnesis dream undo {outcome.change.id}` reverts it.", style="dim")
    if outcome.decided.review:
        screen.print("`anamnesis review` lists what is for you.", style="dim")


def _draw_files(change: Changeset) -> None:
    from anamnesis.cli.output import draw_diff
    from anamnesis.history.diffs import diff

    for file in change.files:
        click.echo(f"\n{file.note} ({file.path or 'new'})")
        draw_diff(diff(file.before or "", file.after or ""))
