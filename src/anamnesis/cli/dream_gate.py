"""`anamnesis dream gate`: tries a text on the gate, shows the gate's log, and accepts refused notes."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import click

from anamnesis.age import age
from anamnesis.cli.context import settings
from anamnesis.cli.options import as_json, open_store, project_option
from anamnesis.cli.output import bare_table, console, in_a_line, on_terminal, print_json, print_lines
from anamnesis.cli.text_input import STDIN, decoded_argument, given_text
from anamnesis.dream.admitting import accept, drafted, forget, judged
from anamnesis.dream.gate import Verdict
from anamnesis.notes import SCOPES, TYPES, Memory, as_dict
from anamnesis.notes.project_names import is_among
from anamnesis.plural import counted
from anamnesis.store.gate_log import GateDecision

_STYLES = {"allow": "green", "upsert": "cyan", "redirect": "yellow", "reject": "red"}


@click.command()
@click.argument("title", default="")
@click.argument("body", default="")
@click.option("-t", "--type", type=click.Choice(TYPES), default="semantic", show_default=True, help="Its type.")
@project_option("The project of the text to try, or of the log.")
@click.option("--scope", type=click.Choice(SCOPES), default="portable", show_default=True, help="Its scope.")
@click.option("--log", "is_log", is_flag=True, help="List the gate's decisions, the newest first.")
@click.option("--all", "is_all", is_flag=True, help="With --log: also notes that were written unchanged.")
@click.option("--accept", "accepted", type=int, metavar="NUMBER", help="Write a refused note of the log.")
@click.option("--forget", "forgotten", type=int, metavar="NUMBER", help="Remove an entry of the log permanently.")
@click.option("-n", "--number", type=click.IntRange(1), default=20, show_default=True, help="With --log: how many.")
@as_json
def command(
    title: str,
    body: str,
    accepted: int | None,
    forgotten: int | None,
    is_log: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Show what the gate would do with a text of an agent, or what it did.

    Without BODY, or with `-`, the body is read from standard input.

    Notes that agents write with `memory_write` pass a gate; your own notes do not. It rejects a text that repeats
    another note, or that only says what code or git can tell; it replaces a note by a text that says the same and
    more, unless the note is yours; and it leaves a project's orders beyond the twentieth to `anamnesis review`.
    Rejected notes are in the log with their text, on this machine only. `anamnesis config set gate off` turns the gate
    off.

    \b
    Decisions: allow (written), upsert (changed another note), redirect (written, waits for
    `anamnesis review`), reject (not written).
    In a pipe: decision, rule, the id of the note, reason; of the log, number and time before them.
    JSON: {"decision", "rule", "reason", "note"}; of the log a list of these with "id", "at",
    "project", "accepted" and "draft", the refused note as in show; with --accept, the note.
    """
    if sum((bool(title), is_log, accepted is not None, forgotten is not None)) != 1:
        raise click.UsageError("Give a TITLE and a BODY to try, or --log, --accept or --forget.")
    if is_log:
        _show_log(given, as_json)
    elif accepted is not None:
        with open_store() as store:
            note = accept(store, accepted)
        print_json(as_dict(note)) if as_json else click.echo(f"Written: {note.id} ({in_a_line(note.title)})")
    elif forgotten is not None:
        with open_store() as store:
            forget(store, forgotten)
        print_json({"forgotten": forgotten}) if as_json else click.echo(f"Forgotten: {forgotten}")
    else:
        text = given_text(body if body or sys.stdin.isatty() else STDIN)[0]
        _try(decoded_argument(title)[0], text, given, as_json)


def _try(title: str, body: str, given: dict[str, Any], as_json: bool) -> None:
    draft = drafted(
        title=title,
        body=body,
        type=given["type"],
        project=given["project"] or "global",
        scope=given["scope"],
        machine_id=settings().machine_id,
    )
    with open_store(only_to_read=True) as store:
        verdict = judged(store, draft)
    note_id = verdict.note.id if verdict.note else ""
    if as_json:
        print_json({"decision": verdict.decision, "rule": verdict.rule, "reason": verdict.reason, "note": note_id})
    elif on_terminal():
        _draw(verdict)
    else:
        print_lines([(verdict.decision, verdict.rule, note_id, verdict.reason)])


def _draw(verdict: Verdict) -> None:
    from rich.text import Text

    console().print(Text(verdict.decision, f"bold {_STYLES[verdict.decision]}"), Text(in_a_line(verdict.reason)))


def _show_log(given: dict[str, Any], as_json: bool) -> None:
    wanted = given["project"]
    with open_store(only_to_read=True) as store:
        found = [
            each
            for each in store.decisions.listed()
            if (given["is_all"] or each.decision != "allow") and (not wanted or is_among(wanted, [each.project]))
        ][: given["number"]]
    if as_json:
        print_json([_as_dict(each) for each in found])
    elif on_terminal():
        _draw_log(found)
    else:
        rows = [(each.id, _time(each), each.decision, each.rule, each.note_id, each.reason) for each in found]
        print_lines(rows)


def _as_dict(each: GateDecision) -> dict[str, Any]:
    decided = {"decision": each.decision, "rule": each.rule, "reason": each.reason, "note": each.note_id}
    about = {"id": each.id, "at": _time(each), "project": each.project, "accepted": each.accepted}
    return {**about, **decided, "draft": as_dict(each.draft) if each.draft else None}


def _draw_log(found: list[GateDecision]) -> None:
    from rich.table import Column
    from rich.text import Text

    table = bare_table("", "when", "", Column("text", ratio=2), Column("why", ratio=3))
    for each in found:
        decision = Text("accepted" if each.accepted else each.decision, _STYLES[each.decision])
        table.add_row(str(each.id), age(_time(each)), decision, Text(_title(each.draft)), Text(in_a_line(each.reason)))
    if found:
        console().print(table)
    refused = sum(each.decision == "reject" and not each.accepted for each in found)
    hint = "; `anamnesis dream gate --accept NUMBER` writes one" if refused else ""
    console().print(f"{counted(refused, 'note was', 'notes were')} refused{hint}.", style="dim")


def _title(draft: Memory | None) -> str:
    return in_a_line(draft.title) if draft else ""


def _time(each: GateDecision) -> str:
    return datetime.fromtimestamp(each.at, UTC).isoformat()
