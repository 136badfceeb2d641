"""`anamnesis space`: the spaces of the hub, and the notes that were not exchanged."""

from __future__ import annotations

from typing import Any

import click

from anamnesis.age import age
from anamnesis.cli.options import as_json, open_store
from anamnesis.cli.output import bare_table, console, in_a_line, on_terminal, print_json, print_lines
from anamnesis.cli.spaces import hub_facts
from anamnesis.errors import InvalidArgument
from anamnesis.plural import counted


@click.command()
@as_json
def command(as_json: bool) -> None:
    """List the spaces of the hub with your role in each, and the notes that were not exchanged, with the reason.

    The list is as of the last sync, without a request to the hub. A space without a role is one that you were removed
    from: its notes stay on this machine.

    \b
    In a pipe: the word space, name, role, notes here, projects; then waiting, note, space, reason.
    JSON: {"url", "user", "reached_at", "failure": {"at", "reason", "hint"} or null,
           "spaces": [{"name", "role", "notes", "projects"}],
           "waiting": [{"note", "title", "space", "reason"}]}
    """
    facts = hub_facts()
    if facts is None:
        raise InvalidArgument("This machine is not logged in to a hub.", "anamnesis login ADDRESS")
    with open_store(only_to_read=True) as store:
        for each in facts["waiting"]:
            note = store.find(each["note"])
            each["title"] = note.title if note else ""
    if as_json:
        print_json(facts)
    elif on_terminal():
        _draw(facts)
    else:
        rows = [[each["name"], each["role"], each["notes"], " ".join(each["projects"])] for each in facts["spaces"]]
        print_lines([("space", *row) for row in rows])
        print_lines([("waiting", each["note"], each["space"], each["reason"]) for each in facts["waiting"]])


def _draw(facts: dict[str, Any]) -> None:
    from rich.text import Text

    screen = console()
    reached = f"last reached {age(facts['reached_at'])}" if facts["reached_at"] else "not reached yet: anamnesis sync"
    screen.draw("[bold]{}[/] as {}, {}", facts["url"], facts["user"], reached)
    if facts["failure"]:
        screen.print(f"{facts['failure']['reason']} {facts['failure']['hint']}".rstrip(), style="yellow")
    table = bare_table("space", "role", "notes here", "projects")
    for each in facts["spaces"]:
        role = Text(each["role"]) if each["role"] else Text("removed", "yellow")
        table.add_row(Text(each["name"], "bold"), role, f"{each['notes']:,}", Text(", ".join(each["projects"])))
    if facts["spaces"]:
        screen.print(table)
    if facts["waiting"]:
        count = counted(len(facts["waiting"]), "note was not exchanged", "notes were not exchanged")
        screen.print(f"{count}:", style="yellow")
    for each in facts["waiting"]:
        screen.draw("  [cyan]{}[/] {}: {}", each["note"], in_a_line(each["title"]), each["reason"])
