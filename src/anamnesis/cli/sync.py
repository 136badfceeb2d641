"""`anamnesis sync`: syncs the notes with the other machines once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from anamnesis.cli.context import settings
from anamnesis.cli.options import adopt_option, as_json, open_memory, store_option
from anamnesis.cli.output import activity, console, in_a_line, on_terminal, print_json, print_lines
from anamnesis.config import HOME_VARIABLE
from anamnesis.errors import AnamnesisError
from anamnesis.log import log
from anamnesis.plural import counted
from anamnesis.process import exit_on_signals
from anamnesis.store import MemoryStore

if TYPE_CHECKING:
    from anamnesis.exchange import HubResult
    from anamnesis.exchange.syncing import Synced
    from anamnesis.sync.names import Travelled

# The sign and the word for each kind of change.
_KINDS = {
    "back": ("↺", "came back"),
    "new": ("+", "new"),
    "changed": ("~", "changed"),
    "deleted": ("-", "deleted"),
    "conflict": ("≠", "in conflict"),
}


@click.command()
@click.option("--background", is_flag=True, help="Return at once; the result is in the log under ANAMNESIS_HOME.")
@adopt_option
@store_option
@as_json
def command(background: bool, adopt: bool, home: str | None, as_json: bool) -> None:
    """Sync the notes with your other machines by git, and with your team by a hub.

    Commits the changes of this machine, merges those of others note by note, and pushes. If two machines changed the
    same lines or the title, both versions are kept: see `anamnesis conflicts`. Of other fields, such as the type, the
    newer machine's value is kept, and `decided` names the other. Without a remote it only commits; set one with
    `anamnesis config set remote ADDRESS`. Claude Code's own memory files are imported first.

    A remote that holds anything but notes and a README or a licence is refused, as it may be another project's
    repository; --adopt joins it.

    After `anamnesis login`, the notes are also exchanged with the hub; `anamnesis space` shows those that wait, and
    invitations and projects of spaces, which a sync names once. It also says once, in `news`, what other members did to
    notes that you have. A failure of git does not stop the hub's exchange, nor the reverse.

    Exits with 1 if the remote or the hub refused or could not be reached; the next sync sends what was not sent.

    \b
    JSON: {"pushed", "pulled", "conflicted", "decided", "head", "indexed", "detail",
           "hub": {"url", "user", "received", "sent", "sent_to": {SPACE: notes that others read}, "conflicted",
                   "decided", "waiting", "unsent": changed notes that a failed exchange did not send,
                   "invitations", "news", "detail"}
                  if this machine is logged in to one}
    """
    if home:
        os.environ[HOME_VARIABLE] = home  # the background process inherits it
    settings(needs_config=True)
    if background:
        from anamnesis.process import run_in_background

        run_in_background("sync", *(["--adopt"] if adopt else []))
        return
    from anamnesis.sync import configured_backend
    from anamnesis.sync.names import received, sent

    exit_on_signals()
    with open_memory() as vault, activity() as announce:
        vault.notes.usage.take_in()
        _import(vault.notes)
        backend = configured_backend(vault.notes, settings(), adopt=adopt, announce=announce)
        done = vault.sync(backend, settings(), announce=announce, retries=True)
        facts = done.report(vault.notes)
        is_drawn = on_terminal() and not as_json
        changes = (received(vault.notes, done.git), sent(vault.notes, done.git)) if is_drawn else None
    if as_json:
        print_json(facts)
    elif changes:
        _draw(facts, *changes, is_reached=done.git.reached)
        _draw_hub(done.hub)
        for sentence in done.decided:
            console().print(f"≠ {in_a_line(sentence)}", style="yellow")
    else:
        _print(facts, done)
    if done.hub and done.hub.has_news and not _is_discarded():
        from anamnesis.exchange.login import mark_told

        mark_told(settings().home, done.hub.news)
    for fault in done.faults:
        click.echo(f"anamnesis: {fault}", err=True)
    if done.faults:
        sys.exit(1)


def _is_discarded() -> bool:
    """Whether nobody reads the output, as of a sync that a hook starts."""
    return os.path.samestat(os.fstat(1), os.stat(os.devnull))


def _print(facts: dict[str, Any], done: Synced) -> None:
    """Print the result in lines, without details that are faults: these are printed on stderr."""
    hub = facts.pop("hub", {})
    is_reached = bool(done.hub and done.hub.reached)
    print_lines([*_rows(facts, done.git.reached), *(("hub", *each) for each in _rows(hub, is_reached))])


def _rows(facts: dict[str, Any], is_reached: bool) -> Iterator[tuple[str, object]]:
    for name, value in facts.items():
        if isinstance(value, list):
            yield from ((name, each) for each in value)
        elif isinstance(value, dict):
            yield from ((name, f"{each} {count}") for each, count in value.items())
        elif is_reached or name != "detail":
            yield name, value


def _import(store: MemoryStore) -> None:
    """Import Claude Code's own memory; if that fails, the notes are synced anyway."""
    claude_home = settings().claude_home
    if not any((claude_home / "projects").glob("*/memory")):
        return
    from anamnesis.importers.claude_memory import import_claude

    try:
        import_claude(store, claude_home, settings().machine_id, settings().user_home)
    except (AnamnesisError, OSError) as error:
        log(store.root, "import failed", reason=str(error))


def _draw(facts: dict[str, Any], received: Travelled, sent: Travelled, *, is_reached: bool) -> None:
    screen = console()
    _draw_direction("↓", "received", "cyan", received)
    _draw_direction("↑", "sent", "green", sent)
    if is_reached and facts["detail"] != "synced":
        screen.print(f"≠ {facts['detail']}", style="yellow")
    screen.print(f"{counted(facts['indexed'], 'note')}, at {facts['head'] or 'no commit yet'}")


def _draw_hub(hub: HubResult | None) -> None:
    if hub and hub.reached:
        screen = console()
        screen.draw("[bold]{}[/] as {}", hub.url, hub.user)
        _draw_direction("↓", "received", "cyan", hub.received)
        _draw_direction("↑", "sent", "green", hub.sent)
        for space, count in hub.sent_to.items():
            them = "it" if count == 1 else "them"
            screen.draw("  [bold]{}[/] to {}, whose members read {}", counted(count, "note"), space, them)
        if hub.detail != "synced":
            screen.print(f"≠ {hub.detail}", style="yellow")
        for sentence in hub.news:
            screen.print(f"! {in_a_line(sentence)}", style="yellow")


def _draw_direction(arrow: str, verb: str, style: str, changes: Travelled) -> None:
    """Print a line with the numbers of notes by kind, and a line for each of the first notes."""
    screen = console()
    if not changes.total:
        screen.print(f"{arrow} nothing {verb}", style="dim")
        return
    kinds = ", ".join(f"{count} {_KINDS[kind][1]}" for kind in _KINDS if (count := changes.counts.get(kind)))
    what = counted(changes.total, "note" if changes.only_notes else "file")
    screen.print(f"{arrow} {what} {verb}: {kinds}", style=style)
    for kind, title in changes.named:
        screen.print(f"  {_KINDS[kind][0]} {in_a_line(title)}", no_wrap=True, overflow="ellipsis")
    if left := changes.total - len(changes.named):
        screen.print(f"  … and {left:,} more", style="dim")
